"""Syllabus's learning progress as a director, to compare ours with another implementation.

Its weights are those of `OnlineLearningProgress` of https://github.com/RyanNavillus/Syllabus, which
hears of every episode; only the draw by these weights is ours, so that it follows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from piase_gym.curricula.directors import SamplingDirector
from piase_gym.errors import MissingExtraError
from piase_gym.runs.history import Episode

EVERY = 256
"""Syllabus updates after this many episodes; it has no default."""


class SyllabusLearningProgress(SamplingDirector):
    """Draws steps by the learning progress of Syllabus.

    Syllabus takes the results of its first episodes for those of chance. Episodes that end first
    are short, so they are won more often than others: Syllabus hears of the first episode of every
    slot, when all of these have ended, before it hears of the rest.

    Args:
        slots: Number of environments.

    Raises:
        MissingExtraError: If Syllabus is not installed.
    """

    def __init__(self, slots: int = EVERY) -> None:
        """Find the package."""
        errors = np.geterr()  # its import makes NumPy raise at every underflow, even in other code
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

    def _curriculum_of(self, agent: str) -> Any:
        """Return Syllabus's curriculum for an agent."""
        if agent not in self._theirs:
            self._theirs[agent] = self._make(len(self.curriculum(agent).steps))
        return self._theirs[agent]

    def observe(self, agent: str, order: int, episode: Episode) -> None:
        """Tell Syllabus of an episode, once the first of every slot has ended."""
        first = self._first.setdefault(agent, {})
        later = self._later.setdefault(agent, [])
        if len(first) < self._slots and episode.slot not in first:
            first[episode.slot] = order, episode
            if len(first) == self._slots:
                for attempt in (*first.values(), *later):
                    self._report_episode(agent, *attempt)
        elif len(first) < self._slots:
            later.append((order, episode))
        else:
            self._report_episode(agent, order, episode)

    def _report_episode(self, agent: str, order: int, episode: Episode) -> None:
        """Tell Syllabus of an episode."""
        place = [step.order for step in self.curriculum(agent).steps].index(order)
        theirs, won = self._curriculum_of(agent), float(episode.result == "won")
        theirs.update_task_progress(place, won)
        theirs.update_on_episode(episode.total, episode.length, place, won)

    def weights(self, agent: str) -> Sequence[float]:
        """Return Syllabus's distribution over the steps; even until it has heard enough."""
        theirs = self._curriculum_of(agent)
        if theirs.task_rates is None:
            return [1.0] * len(self.curriculum(agent).steps)
        found: list[float] = theirs._sample_distribution().tolist()
        return found
