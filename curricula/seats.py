"""Who takes part in an episode, and for which attempt it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.metering import Passage
from piase_gym.curricula.schema import CurriculumStep


@dataclass
class Try:
    """An attempt that is under way.

    Attributes:
        step: The step.
        attempt: Number of the attempt at it.
        number: Number of the attempt in the run.
        wanted: How many episodes it has.
        begun: How many of them have begun.
        ended: How many have come to their end.
        env_steps: Steps of those.
    """

    step: CurriculumStep
    attempt: int
    number: int
    wanted: int
    begun: int = 0
    ended: int = 0
    env_steps: int = 0


@dataclass(frozen=True)
class Seat:
    """One agent's part in an episode that goes on.

    Attributes:
        agent: The agent.
        number: Number of the attempt in the run for which it counts, or `SPARE`, or 0.
        sequence: Which episode of the course it is.
        hint: Key of the hint that is given, if any.
        step: The step.
        attempt: Number of the attempt at it.
    """

    agent: str
    number: int
    sequence: int
    step: CurriculumStep
    attempt: int
    hint: str | None = None


@dataclass(frozen=True)
class Ended:
    """An episode that has ended, and waits to be counted."""

    step: int
    slot: int
    seats: Mapping[str, Seat]
    passages: Mapping[str, Passage]


def consequences(decision: Decision) -> list[tuple[str, dict[str, Any]]]:
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
