"""Plays many episodes at once on the batched kernel of an array world."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from piase_gym.agents.base import BatchPercept
from piase_gym.benchmarks.jobs import Table, seat_seed
from piase_gym.benchmarks.protocol import EpisodeRecord, episode_value
from piase_gym.benchmarks.single_play import play_one
from piase_gym.core.commands import OUTCOMES
from piase_gym.envs.batch import BatchEnv
from piase_gym.worlds.array_world import ArrayWorld


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
