"""Plays episodes: one at a time on a world, or many at once on its batched kernel.

Both ways give the same records (a test compares them). The batch is used only where this is
certain: the world is an array world without letters, and every agent has promised, by having
`act_batch`, that it chooses in a batch what it would choose alone.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from piase_gym.agents.base import Agent, BatchPercept, Percept, ask
from piase_gym.benchmarks.evaluation.policies import Policy, check_fit, read_policy
from piase_gym.benchmarks.evaluation.protocol import PROTOCOL, EpisodeRecord, episode_value
from piase_gym.benchmarks.evaluation.suites import Setting
from piase_gym.core.commands import OUTCOMES, Result
from piase_gym.core.config import WorldConfig
from piase_gym.core.digest import digest_json
from piase_gym.core.rng import partner_seed
from piase_gym.core.world import Act, StepResult, World
from piase_gym.envs.actions import decode_answer, no_acts
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.partners import post_asides
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import PiaseError, PolicyError
from piase_gym.registry import load, make_config, task_spec, world_spec
from piase_gym.worlds.array_world import ArrayWorld, steps_in_batches


@dataclass(frozen=True)
class Job:
    """Episodes of one policy in one setting."""

    setting: Setting
    policy: Policy
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        """Name the setting, the policy and the seeds."""
        first, last = self.seeds[0], self.seeds[-1]
        seeds = f"seed {first}" if first == last else f"seeds {first} to {last}"
        return f"{self.setting.label}, {self.policy.name}, {seeds}"

    def blank(self, seed: int) -> EpisodeRecord:
        """Return the record of an episode before it is played."""
        setting, policy = self.setting, self.policy
        seats = dict(zip(setting.agents, setting.seats(seed), strict=True))
        focal = tuple(agent for agent, own in seats.items() if own)
        prints = {True: policy.fingerprint, False: self._partner_print}
        names = {True: policy.name, False: setting.partner}
        identity = {
            "task": setting.task,
            "version": setting.version,
            "config": setting.config_hash,
            "seed": seed,
            "seats": [(agent, prints[own]) for agent, own in seats.items()],
            "measure": (setting.measure, *focal),
        }
        return EpisodeRecord(
            key=digest_json([PROTOCOL, identity]),
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


def world_of(setting: Setting) -> tuple[type[World[Any, Any]], WorldConfig]:
    """Return the class and the config of the world of a setting."""
    spec = world_spec(task_spec(setting.task).world)
    return load(spec.world, spec), make_config(spec, setting.config)


def make_world(setting: Setting) -> World[Any, Any]:
    """Make the world of a setting."""
    kind, config = world_of(setting)
    return kind(config)


def describe(error: BaseException) -> str:
    """Return one line that says what went wrong."""
    lines = str(error).splitlines() or [""]
    if isinstance(error, PiaseError):
        return f"{type(error).__name__}: {lines[0]}"
    return f"the policy or world raised {type(error).__name__}: {lines[0]:.300}"


def plays_in_batches(world: World[Any, Any], agents: Iterable[Agent]) -> bool:
    """Return whether the batched kernel is certain to give what these agents play one by one."""
    return (
        steps_in_batches(world)
        and world.mailboxes is None
        and all(agent.acts_in_batches for agent in agents)
    )


class SeatedWorld:
    """A world with its agents: one agent per seat and role, made afresh for every episode.

    Fresh agents cannot carry anything from one episode to the next, so an episode does not depend
    on which episodes were played before it, nor in which process.

    Attributes:
        job: What is played.
        world: The world.
        roles: The policies of focal seats (``True``) and of the other seats (``False``).
        batchable: Whether the batched kernel is certain to give the same records.
        playing: The agents of the newest episode, by name.
    """

    def __init__(self, job: Job) -> None:
        """Make the world, and one agent of each role to check that it fits.

        Raises:
            Exception: Of any kind, if the world or a policy cannot be made or they do not fit.
        """
        self.job = job
        self.world = make_world(job.setting)
        self.spec = world_spec(self.world.name)
        self.roles: dict[bool, Policy] = {True: job.policy}
        if job.setting.partner:
            self.roles[False] = read_policy(job.setting.partner).at(job.setting)
        samples = [policy.make() for policy in self.roles.values()]
        for agent in samples:
            check_fit(agent, self.world)
        self.batchable = plays_in_batches(self.world, samples)
        self.playing: dict[str, Agent] = {}

    def close(self) -> None:
        """Close the world."""
        self.world.close()

    def agents(self, seats: Sequence[bool]) -> list[Agent]:
        """Return a fresh agent for every seat."""
        self.playing = {}
        for name, own in zip(self.world.agents, seats, strict=True):
            self.playing[name] = self.roles[own].make()
            self.playing[name].set_id(name)
        return list(self.playing.values())


def play_one(
    seated: SeatedWorld, seed: int, watch: Callable[[EpisodeMetrics], None] = lambda _: None
) -> EpisodeRecord:
    """Play one episode; a policy that fails gives a record with a `fault`.

    Args:
        seated: The world and the policies.
        seed: The seed of the episode.
        watch: Called at the start and after every step, with what was measured so far.
    """
    blank, world = seated.job.blank(seed), seated.world
    start = time.perf_counter()
    metrics = EpisodeMetrics(world, blank.focal)
    try:
        agents = seated.agents(seated.job.setting.seats(seed))
        runner = EpisodeRunner(world, seated.spec)
        runner.reset(seed)
        for seat, agent in enumerate(agents):
            agent.reset(partner_seed(seed, seat))
        metrics.look()
        watch(metrics)
        while metrics.playing:
            metrics.add(runner.step(ask_all(agents, runner)))
            watch(metrics)
    except Exception as error:  # a policy may fail in any way, and the other episodes go on
        return replace(blank, fault=f"step {metrics.steps}: {describe(error)}")
    return metrics.finish(seated.job, blank, time.perf_counter() - start)


def ask_all(agents: Sequence[Agent], runner: EpisodeRunner) -> list[Act]:
    """Ask the agents in play for their acts; agents with a command under way continue it."""
    world, acts = runner.world, no_acts(runner.world)
    for seat, on in enumerate(world.alive):
        acts[seat] = world.under_way(seat) if on else None
    playing = [seat for seat, on in enumerate(world.alive) if on and acts[seat] is None]
    for seat in playing:
        agents[seat].perceive(Percept(world, seat, runner.steps))
    for seat, answer in zip(playing, ask([agents[seat] for seat in playing]), strict=True):
        acts[seat] = _act(world, seat, answer)
        post_asides(agents[seat], seat, world, runner.events)
    return acts


def ask_one(agent: Agent, runner: EpisodeRunner, seat: int) -> Act:
    """Ask an agent for its act in one of possibly several seats."""
    agent.perceive(Percept(runner.world, seat, runner.steps))
    return _act(runner.world, seat, agent.act())


def _act(world: World[Any, Any], seat: int, answer: Any) -> Act:
    """Return the act that an answer stands for in a world.

    Raises:
        PolicyError: If it is not an action.
    """
    try:
        return decode_answer(world, seat, answer)
    except TypeError:
        raise PolicyError(f"the action {answer!r:.60} is no action") from None


class EpisodeMetrics:
    """Measures an episode that is played on a single world."""

    def __init__(self, world: World[Any, Any], focal: Sequence[str]) -> None:
        """Count nothing yet."""
        self.world = world
        self.focal = [world.agents.index(name) for name in focal]
        self.steps = self.hints = 0
        self.returns = [0.0] * len(world.agents)
        self.results: dict[int, str] = {}
        self.milestones: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self._alive: Sequence[bool] = ()
        self._hints: list[str | None] = [None] * len(world.agents)

    def look(self) -> None:
        """Note which agents are in play, and count the hints that focal agents have received."""
        self._alive, hints = list(self.world.alive), list(self.world.hints)
        self.hints += sum(bool(hints[s]) and hints[s] != self._hints[s] for s in self.focal)
        self._hints = hints

    @property
    def playing(self) -> bool:
        """Whether a focal agent has not ended yet, and any agent is in play."""
        return len(self.results) < len(self.focal) and any(self._alive)

    def add(self, result: StepResult) -> None:
        """Add a step."""
        self.steps += 1
        for seat, reward in enumerate(result.rewards):
            self.returns[seat] += reward
        for seat in self.focal:
            if self._alive[seat]:
                self.outcomes[str(result.outcomes[seat])] += 1
            self.milestones.update(result.notes.get(seat, {}).get("milestones", ()))
            if result.terminated[seat] or result.truncated[seat]:
                self.results[seat] = str(self.world.result(seat))
        self.look()

    def finish(self, job: Job, blank: EpisodeRecord, seconds: float) -> EpisodeRecord:
        """Return the record; a focal agent that never entered has ``ended``."""
        letters = self.world.mailboxes.history if self.world.mailboxes is not None else ()
        return finished(
            job,
            blank,
            self.returns,
            [self.results.get(seat, "ended") for seat in self.focal],
            steps=self.steps,
            milestones=self.milestones,
            outcomes=self.outcomes,
            messages=sum(letter["sender"] in blank.focal for letter in letters),
            hints=self.hints,
            digest=self.world.digest(),
            seconds=seconds,
        )


def finished(
    job: Job,
    blank: EpisodeRecord,
    returns: Sequence[float],
    ends: Sequence[str],
    milestones: Mapping[str, int],
    outcomes: Mapping[str, int],
    **more: Any,
) -> EpisodeRecord:
    """Return the record of an episode that is over.

    Args:
        job: What was played.
        blank: The record before the episode was played.
        returns: Returns of all agents.
        ends: Results of the focal agents.
        milestones: How many focal agents reached each milestone.
        outcomes: How many commands of focal agents had each outcome.
        more: Other fields of the record.
    """
    by_agent = dict(zip(job.setting.agents, returns, strict=True))
    results = dict(zip(blank.focal, ends, strict=True))
    own = {name: by_agent[name] for name in blank.focal}
    return replace(
        blank,
        value=episode_value(job.setting.measure, own, results),
        returns=by_agent,
        results=results,
        milestones={name: count for name, count in sorted(milestones.items()) if count},
        outcomes={name: count for name, count in sorted(outcomes.items()) if count},
        **more,
    )


def play_batch(seated: SeatedWorld) -> Iterator[EpisodeRecord]:
    """Play a job's episodes on the batched kernel, those with the same seats at once."""
    groups: dict[tuple[bool, ...], list[int]] = {}
    for seed in seated.job.seeds:
        groups.setdefault(seated.job.setting.seats(seed), []).append(seed)
    found: dict[int, EpisodeRecord] = {}
    for seats, seeds in groups.items():
        try:
            for record in _Batch(seated, seats, seeds).run():
                found[record.seed] = record
        except Exception:  # find out which episode it is, and let the others finish
            found.update({seed: play_one(seated, seed) for seed in seeds if seed not in found})
    for seed in seated.job.seeds:
        yield found[seed]


class _Batch:
    """Episodes that are played at once."""

    def __init__(self, seated: SeatedWorld, seats: Sequence[bool], seeds: Sequence[int]) -> None:
        """Make the batch and one agent for every seat."""
        assert isinstance(seated.world, ArrayWorld)
        count, slots = len(seeds), len(seated.world.agents)
        self.job, self.seeds = seated.job, seeds
        self.env = BatchEnv(seated.world, count, autoreset="disabled")
        self.agents = seated.agents(seats)
        self.focal = [seat for seat, own in enumerate(seats) if own]
        self.draws = [[partner_seed(seed, seat) for seed in seeds] for seat in range(slots)]
        self.returns = np.zeros((count, slots), np.float64)
        self.outcomes = np.zeros((count, len(OUTCOMES)), np.int64)
        self.ended = np.zeros((count, slots), np.bool_)
        self.done: dict[int, EpisodeRecord] = {}

    def run(self) -> Iterator[EpisodeRecord]:
        """Play all episodes to their ends."""
        start, steps = time.perf_counter(), 0
        shown, infos = self.env.reset(seed=list(self.seeds))
        while len(self.done) < len(self.seeds):
            alive = infos["alive"].copy()
            acts = batch_acts(self.agents, shown, infos["action_mask"], self.draws, steps)
            shown, rewards, terminated, truncated, infos = self.env.step(acts)
            steps += 1
            self._add(alive, rewards, terminated | truncated, infos, steps)
        share = (time.perf_counter() - start) / len(self.seeds)
        for slot in range(len(self.seeds)):
            yield replace(self.done[slot], seconds=share)

    def _add(self, alive: Any, rewards: Any, ended: Any, infos: Any, steps: int) -> None:
        """Add a step of the episodes that are not done; some focal agents may never enter."""
        open_slots = np.array([slot not in self.done for slot in range(len(self.seeds))])
        self.returns[open_slots] += rewards[open_slots]
        for seat in self.focal:
            counted = np.flatnonzero(open_slots & alive[:, seat])
            np.add.at(self.outcomes, (counted, infos["outcome"][counted, seat]), 1)
        self.ended |= ended
        over = self.ended[:, self.focal].all(axis=1) | ~infos["alive"].any(axis=1)
        for slot in np.flatnonzero(open_slots & over).tolist():
            self.done[slot] = self._record(slot, steps)

    def _record(self, slot: int, steps: int) -> EpisodeRecord:
        """Return the record of an episode in which no focal agent is left."""
        world, single = self.env.world, self.env.single(slot)
        digest = single.digest()
        marks = self.env.batch.states["marks"][slot].tolist()
        counts = self.outcomes[slot].tolist()
        return finished(
            self.job,
            self.job.blank(self.seeds[slot]),
            self.returns[slot].tolist(),
            [
                str(single.result(seat) if self.ended[slot, seat] else Result.ENDED)
                for seat in self.focal
            ],
            steps=steps,
            milestones={
                name: sum(marks[seat] >> bit & 1 for seat in self.focal)
                for bit, name in enumerate(world.milestones)
            },
            outcomes={str(outcome): n for outcome, n in zip(OUTCOMES, counts, strict=True)},
            digest=digest,
        )


def batch_acts(
    agents: Sequence[Agent], shown: Any, masks: Any, seeds: ArrayLike, steps: ArrayLike
) -> NDArray[np.int64]:
    """Ask agents for their acts in all environments, shape (envs, agents).

    Args:
        agents: The agents that act.
        shown: Their observations, shape (envs, agents, ...).
        masks: Their action masks, shape (envs, agents, actions).
        seeds: Their seeds, shape (agents, envs).
        steps: How far the episodes are: one number, or one for each environment.
    """
    at = np.full(len(shown), steps, np.int64)
    rows = enumerate(zip(agents, np.asarray(seeds, np.uint64), strict=True))
    acts = [a.act_batch(BatchPercept(shown[:, n], masks[:, n], own, at)) for n, (a, own) in rows]
    return np.stack(acts, axis=1).astype(np.int64, copy=False)


def play(job: Job) -> Iterator[EpisodeRecord]:
    """Play a job's episodes; what cannot be played yields a record with a `fault`.

    Yields:
        One record per episode, in the order of the seeds.
    """
    try:
        seated = SeatedWorld(job)
    except Exception as error:  # a policy may fail in any way, and the other jobs go on
        for seed in job.seeds:
            yield replace(job.blank(seed), fault=describe(error))
        return
    with closing(seated):
        if seated.batchable:
            yield from play_batch(seated)
        else:
            for seed in job.seeds:
                yield play_one(seated, seed)
