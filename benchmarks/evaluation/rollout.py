"""Plays episodes: one at a time on a world, or many at once on its batched kernel.

Both ways give the same records (a test compares them). The batch is taken only where that is
certain: the world is an array world without letters and every agent has promised, by having
`act_batch`, that it chooses in a batch what it would choose alone.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from piase_gym.agents.base import Agent, BatchPercept, Percept
from piase_gym.benchmarks.evaluation.policies import Policy, check_fit, read_policy
from piase_gym.benchmarks.evaluation.protocol import EpisodeKey, EpisodeRecord, episode_value
from piase_gym.benchmarks.evaluation.settings import Setting
from piase_gym.core.commands import OUTCOMES
from piase_gym.core.rng import StreamId, stream_key
from piase_gym.core.world import StepResult, World
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.partners import decode_answer
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import PiaseError, PolicyError
from piase_gym.registry import load, make_config, task_spec, world_spec
from piase_gym.worlds.array_world import ArrayWorld


@dataclass(frozen=True)
class Job:
    """Episodes of one policy in one setting."""

    setting: Setting
    policy: Policy
    seeds: tuple[int, ...]

    def blank(self, seed: int) -> EpisodeRecord:
        """Return the record of an episode before it is played."""
        setting, policy = self.setting, self.policy
        seats = dict(zip(setting.agents, setting.seats(seed), strict=True))
        focal = tuple(agent for agent, own in seats.items() if own)
        prints = {True: policy.fingerprint, False: self._partner_print}
        names = {True: policy.name, False: setting.partner}
        key = EpisodeKey(
            task=setting.task,
            version=setting.version,
            config=setting.config_hash,
            seed=seed,
            seats=tuple((agent, prints[own]) for agent, own in seats.items()),
            measure=(setting.measure, *focal),
        )
        return EpisodeRecord(
            key=key.digest,
            setting=setting.label,
            policy=policy.name,
            run=policy.run,
            seed=seed,
            seats={agent: names[own] for agent, own in seats.items()},
            focal=focal,
        )

    @functools.cached_property
    def _partner_print(self) -> str:
        """The fingerprint of the partner, if there is one."""
        partner = self.setting.partner
        return read_policy(partner).at(self.setting).fingerprint if partner else ""


def make_world(setting: Setting) -> World[Any, Any]:
    """Make the world of a setting."""
    spec = world_spec(task_spec(setting.task).world)
    world: World[Any, Any] = load(spec.world, spec)(make_config(spec, setting.config))
    return world


def describe(error: BaseException) -> str:
    """Return one line that says what went wrong."""
    lines = str(error).splitlines() or [""]
    if isinstance(error, PiaseError):
        return f"{type(error).__name__}: {lines[0]}"
    return f"the policy or world raised {type(error).__name__}: {lines[0]:.300}"


class Table:
    """A world with its agents: one agent a seat and role, made afresh for every episode.

    Fresh agents cannot carry anything from one episode to the next, so an episode does not depend
    on which ones were played before it, nor in which process.
    """

    def __init__(self, job: Job, world: World[Any, Any]) -> None:
        """Take the world; agents are made when they are needed."""
        self.job = job
        self.world = world
        self.spec = world_spec(world.name)
        self.roles: dict[bool, Policy] = {True: job.policy}
        if job.setting.partner:
            self.roles[False] = read_policy(job.setting.partner).at(job.setting)

    def check(self) -> None:
        """Make one agent of each role and see that it fits, before anything is played."""
        self._samples = {own: policy.make() for own, policy in self.roles.items()}
        for agent in self._samples.values():
            check_fit(agent, self.world)

    @property
    def batchable(self) -> bool:
        """Whether the batched kernel is certain to give the same."""
        return (
            isinstance(self.world, ArrayWorld)
            and self.world.mailboxes is None
            and all(agent.acts_in_batches for agent in self._samples.values())
        )

    def agents(self, seats: Sequence[bool]) -> list[Agent]:
        """Return a fresh agent for every seat."""
        found = []
        for name, own in zip(self.world.agents, seats, strict=True):
            agent = self.roles[own].make()
            agent.set_id(name)
            found.append(agent)
        return found


def seat_seed(seed: int, seat: int) -> int:
    """Return the seed of a seat in an episode, as partners of any environment get it."""
    return stream_key(seed, StreamId.PARTNER + seat)


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
                acts[seat] = decode_answer(world, seat, answer)
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


def play_batch(table: Table) -> Iterator[EpisodeRecord]:
    """Play a job's episodes on the batched kernel, those with the same seats at once."""
    groups: dict[tuple[bool, ...], list[int]] = {}
    for seed in table.job.seeds:
        groups.setdefault(table.job.setting.seats(seed), []).append(seed)
    found: dict[int, EpisodeRecord] = {}
    for seats, seeds in groups.items():
        try:
            for record in _Batch(table, seats, seeds).run():
                found[record.seed] = record
        except Exception:  # find out which episode it is, and let the others finish
            found.update({seed: play_one(table, seed) for seed in seeds if seed not in found})
    for seed in table.job.seeds:
        yield found[seed]


class _Batch:
    """Episodes that are played at once."""

    def __init__(self, table: Table, seats: Sequence[bool], seeds: Sequence[int]) -> None:
        """Make the batch and one agent for every seat."""
        assert isinstance(table.world, ArrayWorld)
        count, slots = len(seeds), len(table.world.agents)
        self.table, self.seats, self.seeds = table, seats, seeds
        self.env = BatchEnv(table.world, count, autoreset="disabled")
        self.agents = table.agents(seats)
        self.focal = [seat for seat, own in enumerate(seats) if own]
        shape = (slots, count)
        drawn = [[seat_seed(seed, seat) for seed in seeds] for seat in range(slots)]
        self.seat_seeds = np.array(drawn, np.uint64).reshape(shape)
        self.returns = np.zeros((count, slots), np.float64)
        self.outcomes = np.zeros((count, len(OUTCOMES)), np.int64)
        self.ended = np.zeros((count, slots), np.bool_)
        self.done: dict[int, EpisodeRecord] = {}

    def run(self) -> Iterator[EpisodeRecord]:
        """Play all episodes to their ends."""
        start, steps = time.perf_counter(), 0
        seen, infos = self.env.reset(seed=list(self.seeds))
        while len(self.done) < len(self.seeds):
            alive = infos["alive"].copy()
            acts = self._ask(seen, infos, steps)
            seen, rewards, terminated, truncated, infos = self.env.step(acts)
            steps += 1
            self._take(alive, rewards, terminated | truncated, infos["outcome"], steps)
        share = (time.perf_counter() - start) / len(self.seeds)
        for slot in range(len(self.seeds)):
            yield replace(self.done[slot], seconds=share)

    def _ask(self, seen: Any, infos: Mapping[str, Any], steps: int) -> Any:
        """Ask every seat for its acts in all environments."""
        masks, count = infos["action_mask"], len(self.seeds)
        at = np.full(count, steps, np.int64)
        acts = np.empty((count, len(self.agents)), np.int64)
        for seat, agent in enumerate(self.agents):
            percept = BatchPercept(seen[:, seat], masks[:, seat], self.seat_seeds[seat], at)
            acts[:, seat] = agent.act_batch(percept)
        return acts

    def _take(self, alive: Any, rewards: Any, ended: Any, outcomes: Any, steps: int) -> None:
        """Take in a step of the episodes that are not done."""
        open_slots = np.array([slot not in self.done for slot in range(len(self.seeds))])
        self.returns[open_slots] += rewards[open_slots]
        for seat in self.focal:
            counted = np.flatnonzero(open_slots & alive[:, seat])
            np.add.at(self.outcomes, (counted, outcomes[counted, seat]), 1)
        self.ended |= ended
        for slot in np.flatnonzero(open_slots & self.ended[:, self.focal].all(axis=1)).tolist():
            self.done[slot] = self._record(slot, steps)

    def _record(self, slot: int, steps: int) -> EpisodeRecord:
        """Return the record of an episode whose last focal agent has ended."""
        world, job = self.env.world, self.table.job
        blank = job.blank(self.seeds[slot])
        single = self.env.single(slot)
        digest = single.digest()
        returns = dict(zip(world.agents, self.returns[slot].tolist(), strict=True))
        results = {world.agents[seat]: str(single.result(seat)) for seat in self.focal}
        marks = self.env.batch.states["marks"][slot].tolist()
        milestones = {
            name: sum(marks[seat] >> bit & 1 for seat in self.focal)
            for bit, name in enumerate(world.milestones)
        }
        counts = self.outcomes[slot].tolist()
        own = {name: returns[name] for name in blank.focal}
        return replace(
            blank,
            value=episode_value(job.setting.measure, own, results),
            returns=returns,
            results=results,
            steps=steps,
            milestones={name: n for name, n in sorted(milestones.items()) if n},
            outcomes={str(o): n for o, n in sorted(zip(OUTCOMES, counts, strict=True)) if n},
            digest=digest,
        )


def play(job: Job) -> Iterator[EpisodeRecord]:
    """Play a job's episodes; what cannot be played yields a record with a `fault`.

    Yields:
        A record an episode, in the order of the seeds.
    """
    try:
        world = make_world(job.setting)
        table = Table(job, world)
        table.check()
    except Exception as error:  # a policy may fail in any way, and the other jobs go on
        for seed in job.seeds:
            yield replace(job.blank(seed), fault=describe(error))
        return
    try:
        if table.batchable:
            yield from play_batch(table)
        else:
            for seed in job.seeds:
                yield play_one(table, seed)
    finally:
        world.close()


__all__ = ["Job", "Table", "describe", "make_world", "play", "play_batch", "play_one", "seat_seed"]
