"""Plays episodes one at a time on a world."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from piase_gym.agents.base import Agent, Percept
from piase_gym.benchmarks.jobs import Table, describe, seat_seed
from piase_gym.benchmarks.protocol import EpisodeRecord, episode_value
from piase_gym.core.world import StepResult, World
from piase_gym.envs.partners import to_act
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import PolicyError


def play_one(table: Table, seed: int, watch: Callable[[], None] | None = None) -> EpisodeRecord:
    """Play one episode; a policy that fails gives a record with a `fault`.

    Args:
        table: The world and the policies.
        seed: Of the episode.
        watch: Called at the start and after every step.
    """
    blank = table.job.blank(seed)
    start = time.perf_counter()
    meter = CurriculumMetrics(table.world, blank.focal)
    try:
        agents = table.agents(table.job.setting.seats(seed))
        runner = EpisodeRunner(table.world, table.spec)
        runner.reset(seed)
        for seat, agent in enumerate(agents):
            agent.reset(seat_seed(seed, seat))
        meter.begin()
        while meter.playing:
            if watch is not None:
                watch()
            acts = _ask(runner, agents)
            meter.take(runner.step(acts))
        if watch is not None:
            watch()
    except Exception as error:  # a policy may fail in any way, and the other episodes go on
        return replace(blank, fault=f"step {meter.steps}: {describe(error)}")
    return meter.finish(blank, table.job.setting.measure, time.perf_counter() - start)


def _ask(runner: EpisodeRunner, agents: Sequence[Agent]) -> list[Any]:
    """Ask every agent in play for its act."""
    world = runner.world
    acts: list[Any] = [None] * len(agents)
    for seat, alive in enumerate(world.alive):
        if alive:
            agents[seat].perceive(Percept(world, seat, runner.steps))
            answer = agents[seat].act()
            try:
                acts[seat] = to_act(world, seat, answer)
            except TypeError:
                raise PolicyError(f"the action {answer!r:.60} is no action") from None
    return acts


class CurriculumMetrics:
    """Measures an episode that is played on a single world."""

    def __init__(self, world: World[Any, Any], focal: Sequence[str]) -> None:
        """Count nothing yet."""
        self.world = world
        self.focal = {world.agents.index(name): name for name in focal}
        self.steps = 0
        self.returns = [0.0] * len(world.agents)
        self.results: dict[int, str] = {}
        self.milestones: dict[str, int] = {}
        self.outcomes: dict[str, int] = {}
        self.hints = 0
        self._alive: Sequence[bool] = ()
        self._hints: list[str | None] = []

    def begin(self) -> None:
        """Take note of who is in play."""
        self._alive = list(self.world.alive)
        self._hints = [None] * len(self.world.agents)
        self._count_hints()

    @property
    def playing(self) -> bool:
        """Whether a focal agent has not ended, and anybody is in play."""
        return len(self.results) < len(self.focal) and any(self._alive)

    def take(self, tick: StepResult) -> None:
        """Take in a step."""
        self.steps += 1
        for seat, reward in enumerate(tick.rewards):
            self.returns[seat] += reward
        for seat in self.focal:
            if self._alive[seat]:
                outcome = str(tick.outcomes[seat])
                self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
            for name in tick.notes.get(seat, {}).get("milestones", ()):
                self.milestones[name] = self.milestones.get(name, 0) + 1
            if tick.terminated[seat] or tick.truncated[seat]:
                self.results[seat] = str(self.world.result(seat))
        self._alive = list(self.world.alive)
        self._count_hints()

    def _count_hints(self) -> None:
        """Count the hints that focal agents have got since the last step."""
        hints = self.world.hints
        if hints != self._hints:
            self.hints += sum(bool(hints[s]) and hints[s] != self._hints[s] for s in self.focal)
            self._hints = list(hints)

    def finish(self, blank: EpisodeRecord, measure: str, seconds: float) -> EpisodeRecord:
        """Return the record; a focal agent that never entered has ``ended``."""
        names = self.world.agents
        returns = {names[seat]: self.returns[seat] for seat in range(len(names))}
        results = {name: self.results.get(seat, "ended") for seat, name in self.focal.items()}
        letters = self.world.mailboxes.history if self.world.mailboxes is not None else ()
        own = {name: returns[name] for name in blank.focal}
        return replace(
            blank,
            value=episode_value(measure, own, results),
            returns=returns,
            results=results,
            steps=self.steps,
            milestones=dict(sorted(self.milestones.items())),
            outcomes=dict(sorted(self.outcomes.items())),
            messages=sum(letter.sender in blank.focal for letter in letters),
            hints=self.hints,
            digest=self.world.digest(),
            seconds=seconds,
        )
