"""What learners and directors exchange: advantages, and which steps to learn from.

A learner that has played some steps reports the advantages of these steps; each episode that is
over gets those of its own steps. The learner may also ask which of these steps it should learn
from: some directors try levels before learners should learn from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.curricula.directors import StepChoice
from piase_gym.errors import ConfigError
from piase_gym.runs.history import Episode

MOST_WAITING = 10_000
"""How many episodes of a slot may wait for their advantages."""
Score = Callable[[StepChoice, Episode, NDArray[Any]], None]


@dataclass
class _Slot:
    """What is remembered of one agent in one slot.

    Attributes:
        began: The step at which the last episode began; ``None`` before the first.
        learning: At which step it changed whether to learn, and to what, since the last mask.
        waiting: Episodes that are over and not yet scored.
    """

    began: int | None = None
    learning: list[tuple[int, bool]] = field(default_factory=list)
    waiting: list[tuple[StepChoice, Episode]] = field(default_factory=list)


class LearnerFeedback:
    """Passes advantages and masks between one agent's learner and its director.

    Args:
        slots: How many environments there are.
        scores: Whether the director scores episodes by advantages.
    """

    def __init__(self, slots: int, scores: bool) -> None:
        """Begin before anything was played."""
        self.scores = scores
        self._slots = [_Slot() for _ in range(slots)]
        self._advantages: list[NDArray[Any]] = []
        """Advantages that are still needed, each of shape (steps, slots)."""
        self._last_step = 0
        """The step up to which they were reported."""

    def begin(self, slot: int, step: int, learn: bool) -> None:
        """Note that an episode begins after `step` steps of the run."""
        known = self._slots[slot]
        known.began = step
        if not known.learning or known.learning[-1][1] != learn:
            known.learning.append((step, learn))

    def ended(self, choice: StepChoice, episode: Episode) -> None:
        """Note that an episode is over and counts.

        Raises:
            ConfigError: If nobody tells advantages.
        """
        if not self.scores:
            return
        waiting = self._slots[episode.slot].waiting
        waiting.append((choice, episode))
        if len(waiting) > MOST_WAITING:
            raise ConfigError(
                f"the director scores episodes by the advantages of their steps, and nobody has "
                f"told any in {MOST_WAITING:,} episodes: call controller.report_advantages(agent, "
                "advantages) after each rollout, or give the director score='return'"
            )

    def report(self, advantages: Any, step: int, score: Score) -> None:
        """Receive the advantages of the last steps, and score the episodes that have all of theirs.

        Args:
            advantages: Shape (steps, slots), those of the last steps.
            step: Steps of the run so far.
            score: Receives the advantages of an episode.

        Raises:
            ConfigError: If they are not numbers of such a shape.
        """
        given = np.asarray(advantages)
        shape = given.shape
        right = given.ndim == 2 and shape[1] == len(self._slots) and 0 < len(given) <= step
        if not right or given.dtype.kind not in "fiu" or not np.isfinite(given).all():
            raise ConfigError(
                f"advantages are finite numbers of shape (steps, {len(self._slots)}), at most of "
                f"the {step} steps so far, not {given.dtype} of shape {shape}"
            )
        if self._advantages and step - len(given) != self._last_step:
            self._advantages = []  # steps are missing, so earlier advantages cannot be used
        self._advantages.append(given.astype(np.float64))
        self._last_step = step
        self._score(score)

    def _score(self, score: Score) -> None:
        """Score the episodes that have all of their advantages; forget what no other needs."""
        advantages = np.concatenate(self._advantages)
        first = self._last_step - len(advantages)
        due: list[tuple[StepChoice, Episode]] = []
        for slot in self._slots:
            due += [entry for entry in slot.waiting if entry[1].end <= self._last_step]
            slot.waiting = [entry for entry in slot.waiting if entry[1].end > self._last_step]
        for choice, episode in sorted(due, key=lambda entry: (entry[1].end, entry[1].slot)):
            begin = episode.end - episode.length
            if begin >= first:  # else some were not reported
                score(
                    choice, episode, advantages[begin - first : episode.end - first, episode.slot]
                )
        needed = [slot.began for slot in self._slots if slot.began is not None]
        needed += [e.end - e.length for slot in self._slots for _, e in slot.waiting]
        oldest = max(min([*needed, self._last_step]), first)
        self._advantages = [advantages[oldest - first :]] if oldest < self._last_step else []

    def mask(self, steps: int, step: int) -> NDArray[np.bool_]:
        """Return which of the last steps to learn from, shape (steps, slots).

        Args:
            steps: How many.
            step: Steps of the run so far.
        """
        found = np.ones((steps, len(self._slots)), np.bool_)
        first = step - steps
        for number, slot in enumerate(self._slots):
            for at, learn in slot.learning:
                found[max(at - first, 0) :, number] = learn
            del slot.learning[:-1]
        return found
