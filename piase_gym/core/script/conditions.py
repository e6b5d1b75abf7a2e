"""Conditions as functions: each returns, for every environment and subject, whether it holds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script import models
from piase_gym.core.script.observables import COMMON, Observable
from piase_gym.core.script.run import ScriptRun
from piase_gym.core.script.turn import Mask, any_agent


class Compiled(NamedTuple):
    """A condition that can be evaluated.

    Attributes:
        holds: Returns an array of shape (envs, agents), or (envs, 1) for all alike.
        own: Whether it is about the subject, and not the same for all.
    """

    holds: Callable[[], Mask]
    own: bool


def combine(found: Sequence[Compiled], logic: str) -> Compiled:
    """Return the condition that any, or all, of some conditions hold."""
    if len(found) == 1:
        return found[0]
    join = np.logical_and if logic == "all" else np.logical_or

    def holds() -> Mask:
        result = found[0].holds()
        for other in found[1:]:
            result = join(result, other.holds())
        return result

    return Compiled(holds, any(part.own for part in found))


def any_of(run: ScriptRun, found: Compiled) -> Compiled:
    """Return the condition that another holds for any agent that took part in the step."""
    if not found.own:
        return found
    return Compiled(lambda: any_agent(found.holds() & run.turn.played)[:, None], False)


def compile_condition(condition: Any, run: ScriptRun) -> Compiled:
    """Return a condition of a script as a function."""
    if inside := models.parts(condition):
        found = [compile_condition(part, run) for part in inside]
        if isinstance(condition, models.AllHold):
            return combine(found, "all")
        either = combine(found, "any")
        if isinstance(condition, models.AnyHolds):
            return either
        return Compiled(lambda: ~either.holds(), either.own)
    if isinstance(condition, models.FlagIsSet):
        number = run.flags.index(condition.flag)
        return _about(condition, run, lambda: run.states["flags"][:, number] != 0, lasting=True)
    if isinstance(condition, models.MilestoneReached):
        number = run.milestones.index(condition.milestone)
        return _about(condition, run, lambda: run.states["reached"][:, number] != 0, lasting=True)
    row = COMMON.get(condition.fact) or run.world.observables_of(run.base)[condition.fact]
    said = Compiled(_comparison(condition, row, run), False)
    if not row.shared:
        said = _about(condition, run, said.holds, lasting=False)
    # Scripts ask the same about a fact again and again: in several events, and round by round.
    number = run.asked.setdefault(condition, len(run.asked))
    return Compiled(lambda: run.once(condition.fact, number, said.holds), said.own)


def _about(condition: Any, run: ScriptRun, test: Callable[[], Mask], lasting: bool) -> Compiled:
    """Return the condition that a test holds for the subject, a named agent, any agent or all.

    A test that is not `lasting` is false for named agents that take no part in the step.
    """
    name = condition.agent_id
    if name is None:
        return Compiled(test, True)
    if name == "any":
        return Compiled(lambda: any_agent(test() & run.turn.played)[:, None], False)
    if name == "all":
        return Compiled(lambda: ~any_agent(~test() & run.turn.played)[:, None], False)
    number = run.agents.index(name)
    one = slice(number, number + 1)
    if lasting:
        return Compiled(lambda: test()[:, one], False)
    return Compiled(lambda: test()[:, one] & run.turn.played[:, one], False)


Test = Callable[[NDArray[Any]], Mask]


def _comparison(condition: models.FactHolds, row: Observable, run: ScriptRun) -> Callable[[], Mask]:
    """Return a function that compares a fact with everything that a condition says about it."""
    tests: list[Test] = []
    if condition.equals is not None:
        tests.append(_equality(condition.equals, row, run, condition.within))
    if condition.one_of is not None:
        each = [_equality(value, row, run, None) for value in condition.one_of]
        tests.append(lambda values: np.logical_or.reduce([test(values) for test in each]))
    if condition.at_least is not None:
        tests.append(functools.partial(np.less_equal, condition.at_least))
    if condition.at_most is not None:
        tests.append(functools.partial(np.greater_equal, condition.at_most))
    if condition.contains is not None:
        words = condition.contains.casefold()
        tests.append(
            lambda values: _test_each(values, lambda value: words in str(value).casefold())
        )
    fact, of = condition.fact, condition.of
    if len(tests) == 1:
        (only,) = tests
        return lambda: only(run.value(fact, of))

    def every() -> Mask:
        values = run.value(fact, of)
        return np.asarray(np.logical_and.reduce([test(values) for test in tests]))

    return every


def _equality(wanted: Any, row: Observable, run: ScriptRun, within: float | None) -> Test:
    """Return a test of where a fact equals a value."""
    if row.name == "action":
        return lambda values: _acted(values, wanted, run)
    if row.kind == "place":
        return lambda values: _within_distance(values, wanted, within)
    if row.codes is not None:
        return functools.partial(np.equal, row.codes[wanted])
    if row.kind == "things":
        return lambda values: _test_each(values, lambda value: wanted in value)
    return lambda values: np.asarray(values == wanted)


def _within_distance(values: NDArray[Any], wanted: Any, within: float | None) -> Mask:
    """Return which places equal the wanted one, or lie within a distance of it."""
    if values.dtype == object:
        return np.asarray(values == wanted)
    parts = [values[..., axis] - part for axis, part in enumerate(wanted)]
    apart: NDArray[Any] = functools.reduce(np.add, [part * part for part in parts])
    return np.asarray(apart <= (0 if within is None else within * within))


def _test_each(values: NDArray[Any], test: Callable[[Any], bool]) -> Mask:
    """Apply a test to each value separately."""
    flat = [test(value) for value in values.ravel().tolist()]
    return np.array(flat, np.bool_).reshape(values.shape)


def _acted(acts: NDArray[Any], word: str, run: ScriptRun) -> Mask:
    """Return which acts have a word as their line or as their verb."""
    if word not in run.acts_known:
        run.acts_known[word] = run.world.action_codes(word)
    codes = run.acts_known[word]
    if codes is None:
        return _test_each(
            acts, lambda line: line is not None and word in (line, line.split(" ")[0])
        )
    found = np.zeros(acts.shape, np.bool_)
    for code in codes:
        found |= acts == code
    return found
