"""What came of an episode: the summary report of a simulation, and what counts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from piase_gym.core.commands import Result


@dataclass(frozen=True)
class Summary:
    """What came of an episode.

    Attributes:
        scenario: Title of the scenario, or the name of the world.
        world: Name of the world.
        seed: The effective seed; a simulation with this seed and these agents repeats the episode.
        steps: Steps taken.
        won: Whether somebody has won.
        finished: Whether the episode is over.
        stopped: Why the simulation stopped: ``episode`` (it is over), ``steps``, ``wall_clock``,
            ``interrupted``, ``asked``, ``left`` (nobody takes part any more) or ``running``.
        results: How it ended for each agent; ``None`` for who is still in play.
        terminated: Who ended by the rules.
        truncated: Who ended by a limit, or left.
        returns: Sum of rewards of each agent.
        outcomes: How often each outcome came up, by agent.
        milestones: Milestones in the order in which they were reached, each once.
        milestones_of: Milestones of each agent.
        metrics: The scenario's own metrics, such as harm done.
        late: How often each agent's answer came too late (`real_time_ms`).
        seconds: Wall-clock time of the episode.
    """

    scenario: str
    world: str
    seed: int
    steps: int = 0
    won: bool = False
    finished: bool = False
    stopped: str = "running"
    results: Mapping[str, str | None] = field(default_factory=dict)
    terminated: Mapping[str, bool] = field(default_factory=dict)
    truncated: Mapping[str, bool] = field(default_factory=dict)
    returns: Mapping[str, float] = field(default_factory=dict)
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    milestones: tuple[str, ...] = ()
    milestones_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    late: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return the report as a few lines."""
        how = "won" if self.won else "not won" if self.finished else "unfinished"
        lines = [f"{self.scenario}: {how} after {self.steps} steps ({self.stopped})"]
        for name, total in self.returns.items():
            result = self.results.get(name) or "in play"
            reached = ", ".join(self.milestones_of.get(name, ())) or "none"
            lines.append(f"  {name}: {result}, return {total:g}, milestones: {reached}")
        lines += [f"  {name}: {value:g}" for name, value in self.metrics.items()]
        return "\n".join(lines)


class Tally:
    """Counts what happens in an episode, by agent."""

    def __init__(self, names: tuple[str, ...]) -> None:
        """Start with nothing."""
        self.steps = 0
        self.results: dict[str, str | None] = dict.fromkeys(names)
        self.terminated = dict.fromkeys(names, False)
        self.truncated = dict.fromkeys(names, False)
        self.returns = dict.fromkeys(names, 0.0)
        self.outcomes: dict[str, dict[str, int]] = {name: {} for name in names}
        self.milestones: dict[str, list[str]] = {name: [] for name in names}
        self.order: dict[str, None] = {}
        self.metrics: dict[str, float] = {}
        self.late = dict.fromkeys(names, 0)

    def reach(self, name: str, milestone: str) -> bool:
        """Note a milestone; tells whether it is new."""
        self.order[milestone] = None
        new = milestone not in self.milestones[name]
        if new:
            self.milestones[name].append(milestone)
        return new

    def add(self, name: str, reward: float, info: Mapping[str, Any]) -> None:
        """Note one agent's part in a step."""
        self.returns[name] += reward
        if "outcome" in info:
            counts = self.outcomes[name]
            counts[str(info["outcome"])] = counts.get(str(info["outcome"]), 0) + 1
        for milestone in info.get("milestones", ()):
            self.reach(name, milestone)
        if "result" in info:
            self.results[name] = str(info["result"])
        self.metrics.update(info.get("metrics", {}))

    def report(
        self,
        *,
        scenario: str,
        world: str,
        seed: int,
        finished: bool,
        stopped: str,
        seconds: float,
        metrics: Mapping[str, float],
    ) -> Summary:
        """Return the summary of what was counted; `metrics` are the world's own."""
        return Summary(
            scenario=scenario,
            world=world,
            seed=seed,
            steps=self.steps,
            won=Result.WON in self.results.values(),
            finished=finished,
            stopped=stopped,
            results=dict(self.results),
            terminated=dict(self.terminated),
            truncated=dict(self.truncated),
            returns=dict(self.returns),
            outcomes={name: dict(counts) for name, counts in self.outcomes.items()},
            milestones=tuple(self.order),
            milestones_of={name: tuple(reached) for name, reached in self.milestones.items()},
            metrics={**self.metrics, **metrics},
            late=dict(self.late),
            seconds=seconds,
        )
