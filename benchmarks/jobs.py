"""Episodes to be played: which ones, on what world, and who sits where."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from piase_gym.agents.base import Agent
from piase_gym.benchmarks.policies import Policy, check_fit, read_policy
from piase_gym.benchmarks.protocol import EpisodeKey, EpisodeRecord
from piase_gym.benchmarks.settings import Setting
from piase_gym.core.rng import StreamId, stream_key
from piase_gym.core.world import World
from piase_gym.errors import PiaseError
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
        batch = type(self)._acts_in_batch
        return (
            isinstance(self.world, ArrayWorld)
            and self.world.mailboxes is None
            and all(batch(agent) for agent in self._samples.values())
        )

    @staticmethod
    def _acts_in_batch(agent: Agent) -> bool:
        """Tell whether an agent has `act_batch`."""
        return type(agent).act_batch is not Agent.act_batch

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
