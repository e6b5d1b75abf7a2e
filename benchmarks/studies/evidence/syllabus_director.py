"""Syllabus's learning progress as a director, to hold ours against another implementation.

Its weights are those of `OnlineLearningProgress` of https://github.com/RyanNavillus/Syllabus, which
is told every episode; only the draw by them is ours, so that it follows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from piase_gym.curricula.directors import SamplingDirector
from piase_gym.errors import MissingExtraError
from piase_gym.runs.history import Episode

EVERY = 256
"""After so many episodes it takes in how they went; it has no default."""


class SyllabusLearningProgress(SamplingDirector):
    """Draws steps by the learning progress of Syllabus.

    Syllabus takes what its first episodes come to for what chance does. Those that end first are
    short, so they are won more often than others: it is told of the first episode of every slot,
    when all have ended, before it is told of the rest.

    Args:
        slots: How many environments there are.

    Raises:
        MissingExtraError: If Syllabus is not installed.
    """

    def __init__(self, slots: int = EVERY) -> None:
        """Find the package."""
        errors = np.geterr()  # on import it lets NumPy raise at every underflow, whoever's it is
        try:
            from syllabus.curricula.online_learning_progress import OnlineLearningProgress
            from syllabus.task_space import DiscreteTaskSpace
        except ImportError as error:
            raise MissingExtraError("the arm syllabus", "syllabus-rl") from error
        finally:
            np.seterr(**errors)
        curriculum: Any = OnlineLearningProgress
        self._make: Callable[[int], Any] = lambda count: curriculum(
            DiscreteTaskSpace(count), update_interval=EVERY
        )
        self._theirs: dict[str, Any] = {}
        self._slots = slots
        self._first: dict[str, dict[int, tuple[int, Episode]]] = {}
        self._later: dict[str, list[tuple[int, Episode]]] = {}

    def _of(self, agent: str) -> Any:
        """Return what is theirs for an agent."""
        if agent not in self._theirs:
            self._theirs[agent] = self._make(len(self.curriculum(agent).steps))
        return self._theirs[agent]

    def observe(self, agent: str, order: int, episode: Episode) -> None:
        """Tell it of an episode, once the first of every slot has ended."""
        first = self._first.setdefault(agent, {})
        later = self._later.setdefault(agent, [])
        if len(first) < self._slots and episode.slot not in first:
            first[episode.slot] = order, episode
            if len(first) == self._slots:
                for told in (*first.values(), *later):
                    self._tell(agent, *told)
        elif len(first) < self._slots:
            later.append((order, episode))
        else:
            self._tell(agent, order, episode)

    def _tell(self, agent: str, order: int, episode: Episode) -> None:
        """Tell it of an episode."""
        place = [step.order for step in self.curriculum(agent).steps].index(order)
        theirs, won = self._of(agent), float(episode.result == "won")
        theirs.update_task_progress(place, won)
        theirs.update_on_episode(episode.total, episode.length, place, won)

    def weights(self, agent: str) -> Sequence[float]:
        """Return their distribution over the steps; evenly until it was told enough."""
        theirs = self._of(agent)
        if theirs.task_rates is None:
            return [1.0] * len(self.curriculum(agent).steps)
        found: list[float] = theirs._sample_distribution().tolist()
        return found
