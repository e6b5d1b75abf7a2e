"""The gauge of a batch: what happens in many environments, gathered into whole episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import OUTCOMES
from piase_gym.curricula.metering import Passage, Reads
from piase_gym.runs.aims import Aims
from piase_gym.runs.history import Episode
from piase_gym.runs.recent import Step
from piase_gym.runs.schema import ATTEMPT

if TYPE_CHECKING:
    from piase_gym.envs.batch import BatchEnv

NAMES = [str(outcome) for outcome in OUTCOMES]


class BatchGauge:
    """Follows the caller's agents in all environments of a batch.

    Args:
        batch: The batch.
        agents: The agents to follow.
        reads: What is read of single steps.

    Attributes:
        step: Steps of the whole batch so far.
    """

    def __init__(self, batch: BatchEnv, agents: Sequence[str], reads: Reads) -> None:
        """Follow `agents`."""
        self.batch, self.agents, self.reads = batch, tuple(agents), reads
        self.numbers = {agent: batch.world.agents.index(agent) for agent in agents}
        self.aims = Aims()
        self.step = 0
        shape = (batch.num_envs, len(batch.world.agents))
        self._totals = np.zeros(shape)
        self._lengths = np.zeros(shape, np.int64)
        self._start = np.zeros(batch.num_envs, np.int64)
        self._number = [0] * batch.num_envs
        """How many episodes of a slot there were before the present one."""
        self._rows: list[dict[str, Episode]] = [{} for _ in range(batch.num_envs)]
        self._marks = np.zeros(shape, np.uint8)
        self._codes: list[tuple[int, NDArray[Any], NDArray[Any]]] = []
        self._found: list[dict[str, dict[str, int]]] = [{} for _ in range(batch.num_envs)]
        self._arrived: list[dict[str, int]] = [{} for _ in range(batch.num_envs)]

    # -- what is told ---------------------------------------------------------------------

    def aim(self, agent: str, data: Mapping[str, Any]) -> None:
        """Take note of where an agent is to go; `data` is that of its attempt's line."""
        self.aims.hear(ATTEMPT, agent, data)

    def begin(self, slot: int) -> None:
        """An episode of a slot begins."""
        self._totals[slot] = 0.0
        self._lengths[slot] = 0
        self._start[slot] = self.step
        self._number[slot] += 1
        self._rows[slot], self._found[slot], self._arrived[slot] = {}, {}, {}
        self._marks[slot] = 0
        if self.batch.world.milestones:
            marks = self.batch.batch.states["marks"]
            self._marks[slot] = marks[slot, : self._marks.shape[1]]
        self.aims.again(slot)

    def take(self, alive: NDArray[np.bool_], over: NDArray[np.bool_]) -> None:
        """Take in a step of all slots.

        Args:
            alive: Who was in play, shape (envs, agents).
            over: Which slots began anew instead, or did nothing.
        """
        batch = self.batch.batch
        self.step += 1
        acting = alive & ~over[:, None]
        self._lengths += acting
        self._totals += np.where(acting, batch.rewards, 0.0)
        if self.reads.steps:
            codes = self.batch.outcome_codes.copy()
            self._codes.append((self.step, codes, batch.rewards.copy()))
        if self.batch.world.milestones:
            self._take_milestones(~over)
        if self.aims:
            self._take_arrivals(acting)
        ended = acting & (batch.terminated | batch.truncated)
        for slot in np.flatnonzero(ended.any(axis=1)).tolist():
            self._take_ends(slot, ended[slot])

    def _take_milestones(self, stepping: NDArray[np.bool_]) -> None:
        """Take note of milestones that were reached for the first time."""
        marks = self.batch.batch.states["marks"][:, : self._marks.shape[1]]
        new = marks & ~self._marks
        new[~stepping] = 0
        self._marks[stepping] = marks[stepping]
        names = self.batch.world.milestones
        for slot, number in zip(*(axis.tolist() for axis in new.nonzero()), strict=True):
            agent, bits = self.batch.world.agents[number], int(new[slot, number])
            found = self._found[slot].setdefault(agent, {})
            for bit, name in enumerate(names):
                if bits >> bit & 1:
                    found.setdefault(name, self.step)

    def _take_arrivals(self, acting: NDArray[np.bool_]) -> None:
        """Take note of who stands on its target for the first time in its episode."""
        places = self.batch.world.positions(self.batch.batch.states)
        for slot in np.flatnonzero(acting.any(axis=1)).tolist():
            playing = np.flatnonzero(acting[slot]).tolist()
            if not self.aims.wanted(playing, self.batch.world.agents, slot):
                continue
            world: Any = self.batch.at(slot) if places is None else _Places(self, places[slot])
            for agent in self.aims.reached(world, playing, slot):
                self._arrived[slot].setdefault(agent, self.step)

    def _take_ends(self, slot: int, ended: NDArray[np.bool_]) -> None:
        """Take note of how agents of a slot ended."""
        world = self.batch.at(slot)
        for agent, number in self.numbers.items():
            if ended[number]:
                row = self._row(slot, agent)
                row.result = str(world.result(number))
                row.measures = dict(world.measure(number))
                row.end = self.step
                self._rows[slot][agent] = row

    def _row(self, slot: int, agent: str) -> Episode:
        """Return the episode of an agent, with what is known before its end."""
        seed = int(self.batch.batch.states["seed"][slot])
        start = self.step - int(self._lengths[slot, self.numbers[agent]])  # when it entered
        return Episode(agent, self._number[slot], slot, 0, seed, start)

    # -- the end of an episode ------------------------------------------------------------

    def fold(self, slot: int, attempts: Mapping[str, int]) -> dict[str, Passage]:
        """Return what a slot's episode leaves behind; who has not ended was broken off.

        Agents that did no step leave nothing.

        Args:
            slot: The slot.
            attempts: For each agent, the number of the attempt for which the episode counts.
        """
        found = {}
        for agent, number in self.numbers.items():
            length = int(self._lengths[slot, number])
            if not length:
                continue
            row = self._rows[slot].get(agent) or self._row(slot, agent)
            row.attempt = attempts.get(agent, 0)
            row.result = row.result or "abandoned"
            row.length, row.end = length, row.end or row.start + length
            row.total = float(self._totals[slot, number])
            row.milestones = self._found[slot].get(agent, {})
            row.arrived = self._arrived[slot].get(agent, 0)
            found[agent] = Passage(row, self._steps(row, number))
        if self.reads.steps:
            self._forget_steps(slot)
        self._lengths[slot] = 0
        return found

    def _steps(self, row: Episode, number: int) -> list[Step]:
        """Return the steps of an episode, if somebody reads them."""
        if not self.reads.steps:
            return []
        slot, attempt, steps = row.slot, row.attempt, []
        for at, codes, rewards in self._codes:
            if row.start < at <= row.end:
                outcome = NAMES[codes[slot, number]]
                reward = float(rewards[slot, number])
                steps.append(Step(at, row.episode, slot, attempt, outcome, reward, 0))
        row.outcomes = Counter(step.outcome for step in steps)
        return steps

    def _forget_steps(self, slot: int) -> None:
        """Forget steps that no episode of another slot still needs."""
        going_on = np.flatnonzero(self._lengths.any(axis=1))
        others = going_on[going_on != slot]
        oldest = int(self._start[others].min()) if others.size else self.step
        self._codes = [entry for entry in self._codes if entry[0] > oldest]


class _Places:
    """Where the agents of one slot are, in the words of a world."""

    def __init__(self, gauge: BatchGauge, places: NDArray[Any]) -> None:
        self.agents = gauge.batch.world.agents
        self._places = places

    def position(self, agent: int) -> list[int]:
        """Return where an agent is."""
        found: list[int] = self._places[agent].tolist()
        return found
