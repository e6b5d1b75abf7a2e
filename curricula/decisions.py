"""Decisions: is a step complete, and if not, what does its first rule that holds say?

A decision is a pure function of the step, the number of the attempt, and the values that the
metrics have; it names every value that it read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Any

from pydantic import ConfigDict

from piase_gym.core.digest import canonical_json
from piase_gym.curricula import actions
from piase_gym.curricula.actions import Action
from piase_gym.curricula.condition_syntax import plain_value, type_of
from piase_gym.curricula.conditions import ATTEMPTS
from piase_gym.curricula.schema import (
    Criterion,
    CurriculumStep,
    DevelopmentalCurriculum,
    RequiredMetric,
)
from piase_gym.runs.metrics import PiaAVTInterface
from piase_gym.runs.windows import Value

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = dict(
    zip(
        ("==", "!=", "<", "<=", ">", ">="),
        (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
        strict=True,
    )
)


@dataclass(frozen=True)
class Decision:
    """What was decided after an attempt, and why.

    Attributes:
        agent: The agent.
        curriculum: Name of the curriculum.
        step: Order of the step.
        name: Name of the step.
        attempt: Number of the attempt, from 1.
        decision: The decision, as the rule writes it, such as ``APPLY_HINT_01``.
        rule: The condition that held; ``None`` if the step is complete, or no rule held.
        reason: Why, in words.
        values: Every value that was read, by name.
        next_step: Order of the step of the next attempt; ``None`` at the end.
        hint: Key of the hint for the next attempt, if any.
        completed: Whether the step is complete.
        status: Status of the step from now on.
        outcome: ``running``, ``finished`` or ``failed``, from now on.
        env_steps: Environment steps of the attempt.
        episodes: Episodes of the attempt.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    agent: str
    curriculum: str
    step: int
    name: str
    attempt: int
    decision: str
    rule: str | None
    reason: str
    values: Mapping[str, Value] = field(default_factory=dict)
    next_step: int | None = None
    hint: str | None = None
    completed: bool = False
    status: str = "in_progress"
    outcome: str = "running"
    env_steps: int = 0
    episodes: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the decision as a JSON-able value."""
        return asdict(self)

    def to_bytes(self) -> bytes:
        """Return the decision as canonical JSON: equal decisions give equal bytes."""
        return canonical_json(self.as_json())


class _Reader:
    """Asks an interface for each value once, and keeps the values."""

    def __init__(
        self,
        avt: PiaAVTInterface,
        agent: str,
        step: CurriculumStep,
        attempt: int,
        before: Iterable[Decision] | None = None,
    ) -> None:
        self.avt, self.agent, self.step = avt, agent, step
        self.attempt, self.before = attempt, before
        self.values: dict[str, Value] = {}
        self._asked: dict[RequiredMetric, Value] = {}

    def read(self, name: str, window: Mapping[str, int] | None = None) -> Value:
        """Return the value of a name, or ``None`` if it has none yet."""
        if name == ATTEMPTS:
            value: Value = self.attempt
        else:
            need = self.step.need(name, window)
            if need not in self._asked:
                # Interfaces without windows are asked only for attempts.
                over = () if need.as_window is None else (need.as_window,)
                found = self.avt.get_performance_metric(self.agent, need.metric, *over)
                self._asked[need] = plain_value(found)
            value = self._asked[need]
        self.values[_label(name, window)] = value
        return value

    def stalled(self) -> bool:
        """Return whether the last `patience` attempts at the step were no better than those before.

        If earlier decisions are not known, no attempt counts as better.
        """
        if self.before is None or self.step.patience is None:  # without it, nobody cares
            return True
        earlier = [made.values for made in self.before if made.step == self.step.order]
        return stalled(self.step, [*earlier, self.values])


def _label(name: str, window: Mapping[str, int] | None) -> str:
    """Return the name of a value, with its window."""
    if window is None:
        return name
    ((kind, count),) = window.items()
    return f"{name} over {count} {kind}"


def format_value(value: Value) -> str:
    """Return a value as conditions write it; fractions have six digits."""
    if value is None:
        return "no value yet"
    if isinstance(value, bool):
        return str(value).lower()
    exact = isinstance(value, int | str) or abs(value) >= 1e6
    return repr(value) if exact else f"{value:.6g}"


def meets(criterion: Criterion, value: Value) -> bool:
    """Return whether a value meets a criterion; ``None`` and a value of another kind do not."""
    if value is None or type_of(value) != type_of(criterion.value):
        return False
    if isinstance(value, bool) and criterion.operator not in ("==", "!="):
        return False
    return bool(_COMPARE[criterion.operator](value, criterion.value))


class AdaptationDecisionModule:
    """Decides after each attempt what an agent does next.

    Args:
        avt_interface: Where the values of metrics come from.
    """

    def __init__(self, avt_interface: PiaAVTInterface) -> None:
        """Keep the interface."""
        self.avt_interface = avt_interface

    def evaluate_step_completion(self, agent_id: str, current_step: CurriculumStep) -> bool:
        """Return whether all criteria of a step hold; a step without any is never complete."""
        return self._completion(_Reader(self.avt_interface, agent_id, current_step, 0))[0]

    def evaluate_adaptation_rules(
        self, agent_id: str, current_step: CurriculumStep, attempt_count: int
    ) -> str:
        """Return the decision of the first rule that holds, or else the default.

        Args:
            agent_id: The agent.
            current_step: The step, which is not complete.
            attempt_count: Number of the attempt, from 1.
        """
        reader = _Reader(self.avt_interface, agent_id, current_step, attempt_count)
        return str(self._rules(reader, lambda _action: True)[0])

    def decide(
        self,
        agent_id: str,
        curriculum: DevelopmentalCurriculum,
        step: CurriculumStep,
        attempts: int,
        *,
        stages: Collection[str] = (),
        env_steps: int = 0,
        episodes: int = 0,
        before: Iterable[Decision] | None = None,
    ) -> Decision:
        """Decide after an attempt.

        Args:
            agent_id: The agent.
            curriculum: Its curriculum.
            step: The step that it tried.
            attempts: Number of the attempt, from 1.
            stages: The developmental stages that it has reached.
            env_steps: Environment steps of the attempt, for the records.
            episodes: Episodes of the attempt, for the records.
            before: The agent's decisions so far; without them the step's `patience` counts all
                attempts.

        Returns:
            The decision; the same values always give the same decision.
        """
        reader = _Reader(self.avt_interface, agent_id, step, attempts, before)
        complete, found = self._completion(reader)
        rule: str | None = None
        if complete:
            action, reason = actions.plain("PROCEED"), f"complete: {found}"
            stages = stages_with(step, stages)
        else:
            may = partial(leads_somewhere_open, curriculum=curriculum, stages=stages)
            action, rule, why = self._rules(reader, may)
            reason = f"not complete ({found}); {why}"
        return Decision(
            agent=agent_id,
            attempt=attempts,
            rule=rule,
            reason=reason,
            values=dict(reader.values),
            env_steps=env_steps,
            episodes=episodes,
            **consequences(curriculum, step, action, stages, complete),
        )

    def _completion(self, reader: _Reader) -> tuple[bool, str]:
        """Return whether the step is complete, and why or why not."""
        criteria = reader.step.completion_criteria
        if not criteria:
            return False, "it has no criteria"
        rows = [(c, reader.read(c.metric, c.window)) for c in criteria]
        failed = [row for row in rows if not meets(*row)]
        comparisons = [
            f"{c.metric} is {format_value(value)}, wanted {c.operator} {format_value(c.value)}"
            for c, value in (failed or rows)
        ]
        return not failed, ", ".join(comparisons)

    def _rules(
        self, reader: _Reader, may: Callable[[Action], bool]
    ) -> tuple[Action, str | None, str]:
        """Return what the rules decide, the condition that held, and why."""
        notes: list[str] = []
        for number, rule in enumerate(reader.step.rules, start=1):
            values = {name: reader.read(name) for name in rule.condition.names}
            verdict = rule.condition.evaluate(values)
            if verdict.holds and may(rule.action):
                reasons = [f"rule {number} holds: {rule.condition.text}", *notes]
                return rule.action, rule.condition.text, "; ".join(reasons)
            if verdict.missing:
                notes.append(f"rule {number} reads {' and '.join(verdict.missing)} without a value")
            elif verdict.problem:
                notes.append(f"rule {number} cannot be evaluated: {verdict.problem}")
            elif verdict.holds:
                notes.append(f"rule {number} leads to a step whose stage is not reached")
        action, why = default_action(reader.step, reader.attempt, reader.stalled())
        return action, None, "; ".join([why, *notes])


def default_action(
    step: CurriculumStep, attempt: int, is_stalled: bool = True
) -> tuple[Action, str]:
    """Return what is decided if a step is not complete and no rule holds, and why.

    Args:
        step: The step.
        attempt: Number of the attempt, from 1.
        is_stalled: Whether the attempts of its `patience` were no better than those before.
    """
    why = None
    if step.max_attempts is not None and attempt >= step.max_attempts:
        why = f"all {step.max_attempts} attempts are used up"
    elif step.patience is not None and attempt >= step.patience and is_stalled:
        why = f"the last {step.patience} attempts were no better than those before"
    if step.on_no_rule == "REPEAT_STEP" and why is not None:
        return actions.plain("FAIL_CURRICULUM"), f"no rule holds and {why}"
    return actions.plain(step.on_no_rule), "no rule holds"


def stalled(step: CurriculumStep, attempts: Sequence[Mapping[str, Value]]) -> bool:
    """Return whether a step was tried as often as its `patience` says without getting better.

    A single attempt is a matter of luck, so stretches of a quarter of the patience are compared, by
    the mean of how near they came to each criterion. The step is stalled when the best stretch
    began `patience` attempts ago or earlier; while it is a later one for any criterion, the agent
    is learning.

    Args:
        step: The step.
        attempts: The values that were read after each attempt at it, the present one last.
    """
    if step.patience is None or len(attempts) < step.patience:
        return False
    width = max(1, step.patience // 4)
    for criterion in step.completion_criteria:
        label = _label(criterion.metric, criterion.window)
        near = _nearness(criterion, [values.get(label) for values in attempts])
        means = [fmean(near[at : at + width]) for at in range(len(near) - width + 1)]
        if len(near) - means.index(max(means)) < step.patience:
            return False
    return True


def _nearness(criterion: Criterion, values: Sequence[Value]) -> list[float]:
    """Return how near values are to meeting a criterion: more is nearer; no value is farthest."""
    sign = {">": 1.0, ">=": 1.0, "<": -1.0, "<=": -1.0}.get(criterion.operator)
    if sign is None:
        return [float(meets(criterion, value)) for value in values]
    known = [sign * value if isinstance(value, int | float) else None for value in values]
    farthest = min((value for value in known if value is not None), default=0.0)
    return [farthest if value is None else value for value in known]


def stages_with(step: CurriculumStep, stages: Collection[str]) -> list[str]:
    """Return the stages that an agent has reached once it has completed a step."""
    return [*stages, step.developmental_stage_reached or ""]


def leads_somewhere_open(
    action: Action, curriculum: DevelopmentalCurriculum, stages: Collection[str]
) -> bool:
    """Return whether an action is no branch, or one to a step that is open to an agent."""
    branches = action.kind == "BRANCH_TO" and action.target is not None
    return not branches or curriculum.step(action.target or 0).is_open(stages)


def follow(
    curriculum: DevelopmentalCurriculum,
    step: CurriculumStep,
    action: Action,
    stages: Collection[str],
) -> int | None:
    """Return the order of the step that a decision leads to, or ``None`` at the end."""
    if action.kind in ("REPEAT_STEP", "APPLY_HINT"):
        return step.order
    if action.kind == "BRANCH_TO" and action.target is not None:
        return curriculum.step(action.target).order
    if action.kind == "FAIL_CURRICULUM":
        return None
    after = curriculum.step_after(step.order, stages)
    return None if after is None else after.order


def replace_action(
    decision: Decision,
    curriculum: DevelopmentalCurriculum,
    action: Action,
    stages: Collection[str],
    reason: str,
) -> Decision:
    """Return a decision with another action: one that a tutor or another director has chosen.

    Args:
        decision: The decision about a step that is not complete.
        curriculum: The curriculum.
        action: The action to take instead.
        stages: The developmental stages that the agent has reached.
        reason: Why, in words.
    """
    step = curriculum.step(decision.step)
    changes = consequences(curriculum, step, action, stages, decision.completed)
    return replace(decision, rule=None, reason=reason, **changes)


def consequences(
    curriculum: DevelopmentalCurriculum,
    step: CurriculumStep,
    action: Action,
    stages: Collection[str],
    completed: bool,
) -> dict[str, Any]:
    """Return the fields of a decision that follow from a step, its completion and an action."""
    after = follow(curriculum, step, action, stages)
    tried_again = "in_progress" if after == step.order else "completed_failure"
    ended = "failed" if action.kind == "FAIL_CURRICULUM" else "finished"
    return {
        "curriculum": curriculum.name,
        "step": step.order,
        "name": step.name,
        "decision": str(action),
        "next_step": after,
        "hint": str(action.target) if action.kind == "APPLY_HINT" else None,
        "completed": completed,
        "status": "completed_success" if completed else tried_again,
        "outcome": ended if after is None else "running",
    }
