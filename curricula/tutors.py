"""Tutors watch an agent learn, choose among the decisions of a step, and give hints.

A tutor can do no more than the curriculum allows: after an attempt that is not complete it may
choose any decision that a rule of the step names, unless it is a branch to a step whose stage the
agent has not reached, to repeat, or the curriculum's `on_no_rule`; and it may word hints, also in
the middle of an episode. Every choice and every word is an event, so a tutored run replays without
the tutor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from piase_gym.agents.base import Percept
from piase_gym.curricula import actions
from piase_gym.curricula.decisions import Decision, leads_somewhere_open, replace_action
from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum
from piase_gym.errors import ConfigError, require_count, suggest


@dataclass(frozen=True)
class DecisionContext:
    """What a tutor decides about: an attempt that is over and not complete.

    Attributes:
        agent: The agent.
        step: The step.
        decision: What the curriculum's own rules decide.
        allowed: The decisions that may be chosen, as rules write them.
    """

    agent: str
    step: CurriculumStep
    decision: Decision
    allowed: tuple[str, ...]


@dataclass(frozen=True)
class TutorObservation:
    """What a tutor sees about an agent after a step of an episode.

    Attributes:
        agent: The agent.
        step: The curriculum step.
        attempt: Number of the attempt.
        steps: Steps of the episode so far.
        percept: What the agent perceives now.
        hint: The words that it is shown now, if any.
    """

    agent: str
    step: CurriculumStep
    attempt: int
    steps: int
    percept: Percept
    hint: str | None


@runtime_checkable
class Tutor(Protocol):
    """What a tutor must be able to do."""

    def choose(self, situation: DecisionContext) -> str | None:
        """Return one of `DecisionContext.allowed`, or ``None`` for what the rules decide."""
        ...

    def word(self, agent: str, key: str, message: str) -> str:
        """Return the words of a hint that was decided on; `message` is what the curriculum says."""
        ...

    def watch(self, glimpse: TutorObservation) -> str | None:
        """Return words to show the agent now, or ``None`` to say nothing."""
        ...


@dataclass(frozen=True)
class TimedHint:
    """Words that a scripted tutor says in the middle of an episode.

    Attributes:
        after: The number of steps of the episode after which they are said.
        words: The words.
        order: The curriculum step in which they are said, by its order; by default all.
        attempt: The first attempt in which they are said.

    Raises:
        ConfigError: If they would never be said: before the first step, or without words.
    """

    after: int
    words: str
    order: int | None = None
    attempt: int = 1

    def __post_init__(self) -> None:
        """Check the moment and the words."""
        require_count("after is a number of steps from 1 on", self.after)
        require_text(self.words)


class ScriptedTutor:
    """A tutor by rule: fixed choices, fixed words, and nudges.

    Args:
        choices: (order of a step, number of the attempt) -> decision.
        words: Key of a hint -> its words, instead of the curriculum's.
        nudges: What is said in the middle of episodes.

    Raises:
        ConfigError: If a choice is for something else than a pair of numbers.
    """

    def __init__(
        self,
        choices: Mapping[tuple[int, int], str] | None = None,
        words: Mapping[str, str] | None = None,
        nudges: Sequence[TimedHint] = (),
    ) -> None:
        """Keep the script."""
        for key in choices or ():
            if not (isinstance(key, tuple) and [type(part) for part in key] == [int, int]):
                message = "a choice is for the order of a step and the number of an attempt"
                raise ConfigError(f"{message}, such as (1, 2), not for {key!r:.60}")
        self.choices, self.words = dict(choices or {}), dict(words or {})
        self.nudges = tuple(nudges)

    def choose(self, situation: DecisionContext) -> str | None:
        """Return what the script has for this step and attempt."""
        return self.choices.get((situation.step.order, situation.decision.attempt))

    def word(self, agent: str, key: str, message: str) -> str:
        """Return what the script has for this hint."""
        return self.words.get(key, message)

    def watch(self, glimpse: TutorObservation) -> str | None:
        """Return the words of a nudge that is due."""
        for nudge in self.nudges:
            here = nudge.order in (None, glimpse.step.order)
            if here and glimpse.attempt >= nudge.attempt and glimpse.steps == nudge.after:
                return nudge.words
        return None


def ask_tutor(
    tutor: Tutor | None,
    decision: Decision,
    step: CurriculumStep,
    curriculum: DevelopmentalCurriculum,
    stages: Collection[str],
) -> tuple[Decision, str]:
    """Let a tutor choose another decision, where there is a choice.

    Args:
        tutor: The tutor, if there is one.
        decision: What the rules decide.
        step: The step of the attempt.
        curriculum: The curriculum of the agent.
        stages: The developmental stages that the agent has reached.

    Returns:
        The decision that holds, and who made it: ``"tutor"`` or ``"curriculum"``.

    Raises:
        ConfigError: If the tutor may not choose that.
    """
    if tutor is None or decision.completed:
        return decision, "curriculum"
    open_to = [r.action for r in step.rules if leads_somewhere_open(r.action, curriculum, stages)]
    named = [str(action) for action in open_to]
    allowed = tuple(dict.fromkeys([*named, "REPEAT_STEP", curriculum.on_no_rule]))
    choice = tutor.choose(DecisionContext(decision.agent, step, decision, allowed))
    if choice is not None and choice not in allowed:
        message = f"a tutor chose {choice!r:.80} for {decision.agent} after {step.label}"
        raise ConfigError(f"{message}; {suggest(choice, allowed)}")
    if choice in (None, decision.decision):
        return decision, "curriculum"
    names = {other.order: other.name for other in curriculum.steps}
    action = actions.read(choice, names, list(step.hints))
    reason = f"the tutor chose {choice}; the rules say {decision.decision}: {decision.reason}"
    return replace_action(decision, curriculum, action, stages, reason), "tutor"


def require_text(words: object) -> str:
    """Return a tutor's words.

    Raises:
        ConfigError: If they are no words.
    """
    if not isinstance(words, str) or not words.strip():
        raise ConfigError(f"a tutor's hint is a string that is not blank, not {words!r:.80}")
    return words
