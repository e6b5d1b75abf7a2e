"""Attempts at steps: who takes part in an episode, and for which attempt it counts."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.directors import StepChoice
from piase_gym.curricula.metrics import EpisodeRecord
from piase_gym.curricula.schema import CurriculumStep


@dataclass
class AttemptState:
    """An attempt that is under way.

    Attributes:
        step: The step.
        attempt: Number of the attempt at it.
        number: Number of the attempt in the run.
        wanted: How many episodes it has.
        choice: What the director chose.
        begun: How many of them have begun.
        ended: How many of them have ended.
        env_steps: Steps of those that have ended.
    """

    step: CurriculumStep
    attempt: int
    number: int
    wanted: int
    choice: StepChoice
    begun: int = 0
    ended: int = 0
    env_steps: int = 0

    def as_json(self) -> dict[str, int]:
        """Return which attempt it is and how far it has come, as `path.jsonl` records it."""
        entry = {"step": self.step.order, "attempt": self.attempt, "ended": self.ended}
        return {**entry, "wanted": self.wanted, "begun": self.begun}


@dataclass(frozen=True)
class Participation:
    """One agent's part in an episode that is in play.

    Attributes:
        agent: The agent.
        number: Number of the attempt in the run for which it counts, or `SPARE`, or 0.
        sequence: Which episode of the controller it is.
        hint: Key of the hint that is given, if any.
        step: The step.
        attempt: Number of the attempt at it.
        choice: What the director chose for it.
    """

    agent: str
    number: int
    sequence: int
    step: CurriculumStep
    attempt: int
    hint: str | None = None
    choice: StepChoice | None = None


@dataclass
class EpisodeCounts:
    """How many of an agent's episodes have ended in a run, counted where decisions count them.

    Attributes:
        counted: Order of a step -> episodes that counted for an attempt at it.
        won: Order of a step -> how many of those were won.
        uncounted: Episodes that counted for no attempt, because their attempt already had all of
            its episodes or was over.
        steps: Order of a step -> steps of all of these episodes, counted or not.
    """

    counted: Counter[int] = field(default_factory=Counter)
    won: Counter[int] = field(default_factory=Counter)
    uncounted: int = 0
    steps: Counter[int] = field(default_factory=Counter)

    def add(self, order: int, won: bool) -> None:
        """Count an episode for an attempt at a step."""
        self.counted[order] += 1
        self.won[order] += won

    def since(self, before: EpisodeCounts) -> EpisodeCounts:
        """Return what was counted since `before`."""
        counted, won = self.counted - before.counted, self.won - before.won
        steps = self.steps - before.steps
        return EpisodeCounts(counted, won, self.uncounted - before.uncounted, steps)

    def copy(self) -> EpisodeCounts:
        """Return the counts as they are now."""
        return copy.deepcopy(self)


@dataclass(frozen=True)
class EndedEpisode:
    """An episode that has ended, and waits to be counted."""

    step: int
    slot: int
    participants: Mapping[str, Participation]
    records: Mapping[str, EpisodeRecord]


def decision_events(decision: Decision) -> list[tuple[str, dict[str, Any]]]:
    """Return the events that follow from a decision."""
    about = {"order": decision.step, "name": decision.name, "attempt": decision.attempt}
    found: list[tuple[str, dict[str, Any]]] = []
    if decision.completed:
        found.append(("DSE_STEP_COMPLETED", about))
    if decision.outcome == "failed":
        found.append(("DSE_CURRICULUM_FAILED", {**about, "reason": decision.reason}))
    elif decision.outcome == "finished":
        found.append(("DSE_AGENT_CURRICULUM_FINISHED", about))
    elif decision.decision.startswith("BRANCH_TO_"):
        found.append(("DSE_BRANCH", {**about, "next_step": decision.next_step}))
    elif decision.next_step == decision.step and decision.hint is None:
        found.append(("DSE_REPEAT_STEP", about))
    return found
