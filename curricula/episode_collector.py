"""Collectors: what happens in an environment, gathered into whole episodes for the metrics.

Between decisions a collector costs next to nothing: of a step only those values are kept that
somebody will read, as flat numbers, and often nothing at all. The rest is asked for at an end.
"""

from __future__ import annotations

import functools
import operator
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import OUTCOMES as ALL_OUTCOMES
from piase_gym.core.world import StepResult
from piase_gym.curricula.metrics import EpisodeRecord, MetricInputs
from piase_gym.runs.history import Episode
from piase_gym.runs.recent_events import Step
from piase_gym.runs.schema import ATTEMPT
from piase_gym.runs.targets import Targets

if TYPE_CHECKING:
    from piase_gym.envs.batch import BatchEnv
    from piase_gym.envs.runner import EpisodeRunner


Keep = tuple[int, Callable[[Any], object]]
"""Which entry of a `StepResult` is kept of each step, and what keeps it."""
REWARDS, OUTCOMES, ENDED = 0, 3, 4


class EpisodeCollector:
    """Follows the caller's agents in one environment.

    Args:
        runner: What steps the environment.
        agents: The agents to follow.
        reads: What is read of single steps.

    Attributes:
        keeps: What the owner of the environment hands on after every step.
        ran: Steps of all episodes before this one.
    """

    def __init__(self, runner: EpisodeRunner, agents: Sequence[str], reads: MetricInputs) -> None:
        """Follow `agents`; the first episode starts with `begin`."""
        self.runner, self.agents, self.reads = runner, tuple(agents), reads
        self.targets = Targets()
        self.keeps: tuple[Keep, ...] = ()
        self.ran = 0
        self._number = 0
        """How many episodes there were before this one, broken off or not."""
        self._targets: dict[str, Any] = {}
        self._letters: list[tuple[int, str]] = []
        self._rewards, self._outcomes = array("d"), list[str]()
        self._clear()
        if reads.steps and runner.world.mailboxes is not None:
            runner.events.subscribe(self._hear_letter, ("message",))

    def _clear(self) -> None:
        """Forget the episode."""
        self._start = self._skip = 0
        self._entered: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._rows: dict[str, Episode] = {}
        self._milestones: dict[str, dict[str, int]] = {}
        self._arrived: dict[str, int] = {}
        self._letters.clear()
        self._outcomes.clear()
        del self._rewards[:]

    # -- an episode -----------------------------------------------------------------------

    @property
    def taken(self) -> int:
        """Steps of the present episode, as far as it was followed."""
        return self.runner.steps - self._start

    @property
    def step(self) -> int:
        """Steps of the run so far."""
        return self.ran + self.taken

    def aim(self, agent: str, data: Mapping[str, Any]) -> None:
        """Take note of where an agent is to go; `data` is that of its attempt's line."""
        self.targets.hear(ATTEMPT, agent, data)
        self._targets[agent] = data.get("target_coords")

    def begin(self) -> None:
        """An episode begins, or goes on from a restored state."""
        self._clear()
        self._start = self.runner.steps
        self.targets.again()
        self._look_around()
        world = self.runner.world
        keeps: list[Keep] = []
        if self.reads.rewards or self.reads.steps:
            keeps.append((REWARDS, self._rewards.extend))
        if self.reads.steps:
            keeps.append((OUTCOMES, self._outcomes.extend))
        targets = [t for t in self._targets.values() if t is not None and not world.ends_at(t)]
        if targets:
            keeps.append((ENDED, self._look_at_places))
        if world.awaiting_agents:
            keeps.append((ENDED, self._look_around))
        self.keeps = tuple(keeps)

    def settle(self) -> None:
        """From now on every step is handed on; those before were taken while nobody entered."""
        self._skip = self.taken
        self._look_around()

    def _look_around(self, _ended: object = None) -> None:
        """Take note of who has entered."""
        world = self.runner.world
        for agent in self.agents:
            if agent not in self._entered and world.alive[world.agents.index(agent)]:
                self._entered[agent] = self.taken

    def _look_at_places(self, _ended: object = None) -> None:
        """Take note of who stands on its target."""
        names = self.runner.world.agents
        playing = [names.index(a) for a in self._entered if self._is_in_step(a)]
        for name in self.targets.reached(self.runner.world, playing):
            self._arrived.setdefault(name, self.taken)

    def _is_in_step(self, agent: str) -> bool:
        """Tell whether an agent took part in the step that was just taken."""
        return self._ends.get(agent, self.taken) == self.taken > self._entered[agent]

    def _hear_letter(self, event: Any) -> None:
        """Take note of a message."""
        self._letters.append((self.taken, event.agent))

    def note(self, tick: StepResult) -> bool:
        """Take in a step in which something ended or was reached.

        Returns:
            Whether the episode is over for all of the caller's agents.
        """
        world, taken = self.runner.world, self.taken
        for number, notes in tick.notes.items():
            found = self._milestones.setdefault(world.agents[number], {})
            for name in notes.get("milestones", ()):
                found.setdefault(name, taken)
        if not tick.ended:
            return False
        for agent in self.agents:
            number = world.agents.index(agent)
            ended = tick.terminated[number] or tick.truncated[number]
            if ended and agent in self._entered and agent not in self._ends:
                self._ends[agent] = taken
                row = self._rows[agent] = self._row(agent)
                row.result = str(world.result(number))
                row.measures = dict(world.measure(number))
        if self.targets:
            self._look_at_places()
        return not self.runner.played

    def _row(self, agent: str) -> Episode:
        """Return the episode of an agent, with what is known before its end."""
        start = self.ran + self._entered[agent]
        return Episode(agent, self._number, 0, 0, self.runner.seed, start)

    # -- its end --------------------------------------------------------------------------

    def fold(self, attempts: Mapping[str, int]) -> dict[str, EpisodeRecord]:
        """Return what the episode leaves behind; who has not ended was broken off.

        Agents that did no step leave nothing.

        Args:
            attempts: For each agent, the number of the attempt for which the episode counts.
        """
        taken, found = self.taken, {}
        for agent in self.agents:
            start, end = self._entered.get(agent, taken), self._ends.get(agent, taken)
            if end > start:
                row = self._rows.get(agent) or self._row(agent)
                row.attempt = attempts.get(agent, 0)
                row.result = row.result or "abandoned"
                row.end, row.length = self.ran + end, end - start
                row.milestones = {
                    name: self.ran + at for name, at in self._milestones.get(agent, {}).items()
                }
                arrived = self._arrived.get(agent)
                row.arrived = 0 if arrived is None else self.ran + arrived
                found[agent] = EpisodeRecord(row, self._fold_steps(agent, row, start, end))
        self.ran += taken
        self._number += 1
        self._clear()
        self._start = self.runner.steps
        return found

    def _fold_steps(self, agent: str, row: Episode, start: int, end: int) -> list[Step]:
        """Add up rewards, and return the steps, as far as they are read."""
        world = self.runner.world
        count, number = len(world.agents), world.agents.index(agent)
        place = slice((start - self._skip) * count + number, (end - self._skip) * count, count)
        rewards = self._rewards[place] if self.reads.rewards or self.reads.steps else ()
        row.total = functools.reduce(operator.add, rewards, 0.0)
        if not self.reads.steps:
            return []
        sent = Counter(at for at, sender in self._letters if sender == agent)
        outcomes = [str(outcome) for outcome in self._outcomes[place]]
        row.outcomes = Counter(outcomes)
        row.messages = sum(sent[at] for at in range(start + 1, end + 1))
        base = self.ran + start + 1
        return [
            Step(base + k, row.episode, 0, row.attempt, outcome, reward, sent[start + 1 + k])
            for k, (outcome, reward) in enumerate(zip(outcomes, rewards, strict=True))
        ]


NAMES = [str(outcome) for outcome in ALL_OUTCOMES]


class BatchEpisodeCollector:
    """Follows the caller's agents in all environments of a batch.

    Args:
        batch: The batch.
        agents: The agents to follow.
        reads: What is read of single steps.

    Attributes:
        step: Steps of the whole batch so far.
    """

    def __init__(self, batch: BatchEnv, agents: Sequence[str], reads: MetricInputs) -> None:
        """Follow `agents`."""
        self.batch, self.agents, self.reads = batch, tuple(agents), reads
        self.numbers = {agent: batch.world.agents.index(agent) for agent in agents}
        self.targets = Targets()
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
        self.targets.hear(ATTEMPT, agent, data)

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
        self.targets.again(slot)

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
        if self.targets:
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
            if not self.targets.wanted(playing, self.batch.world.agents, slot):
                continue
            world: Any = self.batch.at(slot) if places is None else _Places(self, places[slot])
            for agent in self.targets.reached(world, playing, slot):
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

    def fold(self, slot: int, attempts: Mapping[str, int]) -> dict[str, EpisodeRecord]:
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
            found[agent] = EpisodeRecord(row, self._steps(row, number))
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

    def __init__(self, collector: BatchEpisodeCollector, places: NDArray[Any]) -> None:
        self.agents = collector.batch.world.agents
        self._places = places

    def position(self, agent: int) -> list[int]:
        """Return where an agent is."""
        found: list[int] = self._places[agent].tolist()
        return found
