"""Gauges: what happens in an environment, gathered into whole episodes for the meter.

Between decisions a gauge costs next to nothing: of a step only those values are kept that somebody
will read, as flat numbers, and often nothing at all. The rest is asked for when an agent ends.
"""

from __future__ import annotations

import functools
import operator
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from piase_gym.core.world import StepResult
from piase_gym.curricula.metering import Passage, Reads
from piase_gym.runs.aims import Aims
from piase_gym.runs.history import Episode
from piase_gym.runs.recent import Step
from piase_gym.runs.schema import ATTEMPT

if TYPE_CHECKING:
    from piase_gym.envs.runner import EpisodeRunner

Keep = tuple[int, Callable[[Any], object]]
"""Which entry of a `StepResult` is kept of each step, and what keeps it."""
REWARDS, OUTCOMES, ENDED = 0, 3, 4


class DriverGauge:
    """Follows the caller's agents in one environment.

    Args:
        driver: What drives the environment.
        agents: The agents to follow.
        reads: What is read of single steps.

    Attributes:
        keeps: What the owner of the environment hands on after every step.
        ran: Steps of all episodes before this one.
    """

    def __init__(self, runner: EpisodeRunner, agents: Sequence[str], reads: Reads) -> None:
        """Follow `agents`; the first episode starts with `begin`."""
        self.runner, self.agents, self.reads = runner, tuple(agents), reads
        self.aims = Aims()
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
        self.aims.hear(ATTEMPT, agent, data)
        self._targets[agent] = data.get("target_coords")

    def begin(self) -> None:
        """An episode begins, or goes on from a restored state."""
        self._clear()
        self._start = self.runner.steps
        self.aims.again()
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
        for name in self.aims.reached(self.runner.world, playing):
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
        if self.aims:
            self._look_at_places()
        return not self.runner.played

    def _row(self, agent: str) -> Episode:
        """Return the episode of an agent, with what is known before its end."""
        start = self.ran + self._entered[agent]
        return Episode(agent, self._number, 0, 0, self.runner.seed, start)

    # -- its end --------------------------------------------------------------------------

    def fold(self, attempts: Mapping[str, int]) -> dict[str, Passage]:
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
                found[agent] = Passage(row, self._fold_steps(agent, row, start, end))
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
