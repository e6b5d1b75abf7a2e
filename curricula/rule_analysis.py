"""Outcomes of an attempt at a step: every case that its criteria and rules distinguish.

Conditions compare values with constants. So it is enough to try, for every name, the constants
themselves and values below, between and above them, within the range of the metric.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from piase_gym.curricula.actions import Action, plain
from piase_gym.curricula.condition_syntax import tokenize
from piase_gym.curricula.conditions import ATTEMPTS
from piase_gym.curricula.decisions import default_action, meets
from piase_gym.curricula.schema import CurriculumStep, RequiredMetric
from piase_gym.runs.metric_definitions import MEASURE, METRICS, MILESTONE, REACHED
from piase_gym.runs.windows import Value

MOST_CASES = 50_000
RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys("success_rate illegal_rate invalid_rate".split(), (0.0, 1.0)),
    **dict.fromkeys("episode_length steps_to_goal messages_sent".split(), (0.0, math.inf)),
    **dict.fromkeys("hints_used episodes env_steps".split(), (0.0, math.inf)),
    "attempts": (1.0, math.inf),
}
"""The least and the largest value that metrics can have."""
_ARITHMETIC = frozenset("+ - * / // % **".split())

COMPLETE = "complete"
DEFAULT = "default"
Outcome = str | int
"""``complete``, ``default``, or the number of the rule that decides, from 0."""


@dataclass
class Analysis:
    """The possible outcomes of attempts at a step.

    Attributes:
        outcomes: Attempt -> its possible outcomes, for attempts that can occur.
        sure: Whether every case was tried.
        alone: Rules with a condition that can hold, in any attempt and whatever precedes them.
    """

    outcomes: dict[int, set[Outcome]] = field(default_factory=dict)
    sure: bool = True
    alone: set[int] = field(default_factory=set)

    @property
    def all(self) -> set[Outcome]:
        """The possible outcomes of any attempt."""
        return set().union(*self.outcomes.values())


def analyse(step: CurriculumStep, *, branched_to: bool = True) -> Analysis:
    """Try every case of a step.

    Args:
        step: The step.
        branched_to: Whether some rule leads to it, so that its attempts may go on after its end.
    """
    read = {n: step.need(n) for r in step.rules for n in r.condition.names if n != ATTEMPTS}
    constants = _constants(step)
    numbers: dict[RequiredMetric, set[float]] = {}
    for criterion in step.completion_criteria:
        need = step.need(criterion.metric, criterion.window)
        numbers.setdefault(need, set()).update(constants.get(criterion.metric, ()))
    for name, need in read.items():
        numbers.setdefault(need, set()).update(constants.get(name, ()))
    points = {need: _points(step, need, sorted(known)) for need, known in numbers.items()}
    attempts = _attempts(step, constants.get(ATTEMPTS, ()))
    cases = math.prod(len(values) for values in points.values())
    if cases * len(attempts) > MOST_CASES or _calculates(step):
        rules = set(range(len(step.rules)))
        complete: set[Outcome] = {COMPLETE} if step.completion_criteria else set()
        return Analysis({1: rules | complete | {DEFAULT}}, sure=False, alone=set(rules))
    found, goes_on = Analysis(), True
    for attempt in attempts:
        outcomes: set[Outcome] = set()
        for values in itertools.product(*points.values()):
            case = dict(zip(points, values, strict=True))
            outcomes.add(_outcome(step, attempt, case, read, found.alone))
        if goes_on:
            found.outcomes[attempt] = outcomes
            possible = (actions_of(step, attempt, outcome) for outcome in outcomes)
            actions = itertools.chain.from_iterable(possible)
            goes_on = branched_to or any(_stays(step, action) for action in actions)
    return found


def _outcome(
    step: CurriculumStep,
    attempt: int,
    case: Mapping[RequiredMetric, Value],
    read: Mapping[str, RequiredMetric],
    alone: set[int],
) -> Outcome:
    """Return the outcome of an attempt, and note every rule that holds."""
    criteria = step.completion_criteria
    complete = bool(criteria) and all(
        meets(c, case[step.need(c.metric, c.window)]) for c in criteria
    )
    first: Outcome = DEFAULT
    for number in reversed(range(len(step.rules))):
        condition = step.rules[number].condition
        values = {n: attempt if n == ATTEMPTS else case[read[n]] for n in condition.names}
        if condition.evaluate(values).holds:
            alone.add(number)
            first = number
    return COMPLETE if complete else first


def actions_of(step: CurriculumStep, attempt: int, outcome: Outcome) -> list[Action]:
    """Return what may be decided for an outcome; where no rule holds, it may be stalled or not."""
    if outcome == COMPLETE:
        return [plain("PROCEED")]
    if outcome == DEFAULT:
        return [default_action(step, attempt, stalled)[0] for stalled in (True, False)]
    return [step.rules[int(outcome)].action]


def _stays(step: CurriculumStep, action: Action) -> bool:
    """Return whether another attempt at the step follows, without a way back to it."""
    return action.kind in ("REPEAT_STEP", "APPLY_HINT") or action.target == step.order


def _constants(step: CurriculumStep) -> dict[str, set[float]]:
    """Return the numbers that each name is compared with; names in one comparison share theirs."""
    found: dict[str, set[float]] = {}
    for criterion in step.completion_criteria:
        if type(criterion.value) in (int, float):
            found.setdefault(criterion.metric, set()).add(float(criterion.value))
    for rule in step.rules:
        for names, numbers in _comparisons(rule.condition.text):
            shared = set(numbers).union(*(found.get(name, ()) for name in names))
            met = {id(found[name]) for name in names if name in found}
            for name, known in found.items():
                if id(known) in met:
                    found[name] = shared
            found.update(dict.fromkeys(names, shared))
    return found


def _comparisons(text: str) -> Iterator[tuple[set[str], set[float]]]:
    """Yield the names and numbers of each comparison in a condition."""
    names: set[str] = set()
    numbers: set[float] = set()
    for word in [*tokenize(text), None]:
        if word is None or word.text in ("and", "or", "not", "&&", "||", "!"):
            yield names, numbers
            names, numbers = set(), set()
        elif word.kind == "name":
            names.add(word.text)
        elif word.kind == "number":
            numbers |= {float(word.text), -float(word.text)}


def _strings(step: CurriculumStep) -> list[str]:
    """Return the strings that a step compares with."""
    found = [c.value for c in step.completion_criteria if isinstance(c.value, str)]
    words = [word for r in step.rules for word in tokenize(r.condition.text)]
    return sorted({*found, *(word.text[1:-1] for word in words if word.kind == "string")})


def _with_midpoints(numbers: list[float]) -> list[float]:
    """Return numbers, two between each pair of neighbours, and two on either side."""
    if not numbers:
        return [0.0, 1.0]
    found = [numbers[0] - 2, numbers[0] - 1, *numbers, numbers[-1] + 1, numbers[-1] + 2]
    for low, high in itertools.pairwise(numbers):
        found += [low + (high - low) / 3, low + 2 * (high - low) / 3]
    return sorted(found)


def _points(step: CurriculumStep, need: RequiredMetric, constants: list[float]) -> list[Value]:
    """Return the values to try for a metric."""
    name = need.metric
    spec = METRICS.get(name)
    if name.startswith(REACHED) and need.window is None:
        own = name == f"{REACHED}{step.order}"
        return [True, False] if own else [False]
    if name.startswith((MILESTONE, REACHED)) or (spec is not None and spec.kind == "boolean"):
        return [True, False]
    low, high = RANGES.get(name, (-math.inf, math.inf))
    ends = [end for end in (low, high) if math.isfinite(end)]
    numbers = sorted({n for n in [*_with_midpoints(constants), *ends] if low <= n <= high})
    points: list[Value] = list(numbers)
    if spec is None and not name.startswith(MEASURE):  # a user-defined metric may be anything
        points += [True, False, *_strings(step)]
    may_be_missing = spec is None or name == "steps_to_goal"
    return [*points, None] if may_be_missing else points


def _attempts(step: CurriculumStep, constants: Iterable[float]) -> list[int]:
    """Return the numbers of attempts to try: those near what they are compared with."""
    ends = [1, *constants, *filter(None, (step.max_attempts, step.patience))]
    near = {math.floor(end) + distance for end in ends for distance in (-1, 0, 1, 2)}
    return sorted(number for number in near if number >= 1)


def _calculates(step: CurriculumStep) -> bool:
    """Return whether a condition calculates with metrics, so that constants are not enough."""
    for rule in step.rules:
        words = tokenize(rule.condition.text)
        for before, word in itertools.pairwise(words):
            value = before.kind in ("name", "number") or before.text == ")"
            if word.text in _ARITHMETIC and value:
                return True
    return False
