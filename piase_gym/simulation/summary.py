"""What happened in an episode: the summary report of a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from piase_gym.core.commands import Outcome, Result
from piase_gym.worlds.texts.wording import counted

UNHEARD = (Outcome.UNPARSABLE, Outcome.TOO_LONG, Outcome.TIMEOUT, Outcome.REFUSED)
"""The outcomes of answers that held no command; a report counts them."""


@dataclass
class Summary:
    """What happened in an episode; a simulation updates one of these, and hands out copies.

    Attributes:
        scenario: Title of the scenario, or the name of the world.
        world: Name of the world.
        seed: The effective seed; a simulation with this seed and these agents repeats the episode.
        steps: Steps taken.
        won: Whether somebody has won.
        finished: Whether the episode is over.
        stopped: Why the simulation stopped: ``episode`` (it is over), ``steps``, ``wall_clock``,
            ``interrupted``, ``asked``, ``left`` (nobody takes part any more) or ``running``.
        results: How it ended for each agent; ``None`` for those still in play.
        terminated: Whether the rules ended it, by agent.
        truncated: Whether a limit ended it, or the agent left, by agent.
        returns: Sum of rewards of each agent.
        outcomes: How often each outcome came up, by agent.
        milestones: Milestones in the order in which they were reached, each once.
        milestones_of: Milestones of each agent.
        metrics: The scenario's own metrics, such as harm done.
        late: How often each agent's answer came too late (`real_time_ms`).
        faults: Why the episode was lost, for agents whose environment failed (one of your own).
        seconds: Wall-clock time of the episode.
    """

    scenario: str
    world: str
    seed: int
    steps: int = 0
    won: bool = False
    finished: bool = False
    stopped: str = "running"
    results: dict[str, str | None] = field(default_factory=dict)
    terminated: dict[str, bool] = field(default_factory=dict)
    truncated: dict[str, bool] = field(default_factory=dict)
    returns: dict[str, float] = field(default_factory=dict)
    outcomes: dict[str, dict[str, int]] = field(default_factory=dict)
    milestones: tuple[str, ...] = ()
    milestones_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return the report as a few lines."""
        how = "won" if self.won else "not won" if self.finished else "unfinished"
        lines = [f"{self.scenario}: {how} after {counted(self.steps, 'step')} ({self.stopped})"]
        for name, total in self.returns.items():
            result = self.results.get(name) or "in play"
            reached = ", ".join(self.milestones_of.get(name, ())) or "none"
            counts = self.outcomes.get(name, {})
            bad = ", ".join(f"{counts[kind]} {kind}" for kind in UNHEARD if kind in counts)
            lost = f"; answers without a command: {bad}" if bad else ""
            lines.append(f"  {name}: {result}, return {total:g}, milestones: {reached}{lost}")
        lines += [f"  {name}: {value:g}" for name, value in self.metrics.items()]
        lines += [f"  the environment failed: {why}" for why in dict.fromkeys(self.faults.values())]
        return "\n".join(lines)

    @classmethod
    def begin(cls, agents: Iterable[str], scenario: str, world: str, seed: int) -> Summary:
        """Return the summary of an episode in which nothing has happened yet."""
        found = cls(scenario, world, seed)
        for name in agents:
            found.results[name], found.returns[name], found.late[name] = None, 0.0, 0
            found.terminated[name] = found.truncated[name] = False
            found.outcomes[name], found.milestones_of[name] = {}, ()
        return found

    def reach(self, name: str, milestone: str) -> bool:
        """Note a milestone, and return whether it is new for the agent."""
        if milestone not in self.milestones:
            self.milestones += (milestone,)
        new = milestone not in self.milestones_of[name]
        if new:
            self.milestones_of[name] += (milestone,)
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
            self.end(name, info["result"])
        self.metrics.update(info.get("metrics", {}))
        if "fault" in info:
            self.faults[name] = f"{info['fault']['reason']}: {info['fault']['message']}"

    def end(self, name: str, result: str, truncated: bool = False) -> None:
        """Note how the episode ended for an agent."""
        self.results[name] = str(result)
        self.truncated[name] |= truncated
        self.won = Result.WON in self.results.values()
