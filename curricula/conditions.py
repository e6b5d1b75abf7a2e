"""Conditions of adaptation rules: expressions over metrics, in a part of rule-engine's syntax.

A condition compares metrics with numbers, booleans, strings and each other, joins comparisons with
``and``, ``or``, ``not``, and may calculate with ``+ - * / // % **``. ``&&``, ``||`` and ``!`` are
read as ``and``, ``or`` and ``not``. There are no calls, no attributes, no regular expressions. A
condition is checked word by word before rule-engine sees it, so nothing in it can take long;
nothing is ever passed to `eval`.
"""

from __future__ import annotations

import decimal
import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from piase_gym.curricula.condition_syntax import (
    ALLOWED,
    LIST_WANTED,
    MOST_CHARACTERS,
    READ_AS,
    Kind,
    Token,
    TypeChecker,
    plain_value,
    tokenize,
    type_of,
)
from piase_gym.errors import CurriculumError, suggest
from piase_gym.runs.windows import Value

ATTEMPTS = "step_attempts"
"""The number of the attempt, a value that every condition can read."""


@dataclass(frozen=True)
class ConditionResult:
    """The result of evaluating a condition.

    Attributes:
        holds: Whether it holds.
        read: The value of each name in it, ``None`` for one without a value.
        missing: The names without a value; if there is any, the condition does not hold.
        problem: Why it could not be evaluated, if so, such as a division by zero.
    """

    holds: bool
    read: Mapping[str, Value]
    missing: tuple[str, ...] = ()
    problem: str | None = None


class Condition:
    """A condition that was parsed and checked.

    Attributes:
        text: The condition as it was written.
        names: The names that it reads, in the order in which they first appear.

    Args:
        text: The condition.
        kinds: Kind of each name that is allowed; ``None`` allows every name, and takes its kind
            from how it is used.

    Raises:
        CurriculumError: If it cannot be read, or compares what cannot be compared.

    Example:
        >>> condition = Condition("step_attempts >= 3 && reached_goal_2 == false")
        >>> condition.evaluate({"step_attempts": 3, "reached_goal_2": False}).holds
        True
        >>> condition.evaluate({"step_attempts": 3}).missing
        ('reached_goal_2',)
    """

    def __init__(self, text: str, kinds: Mapping[str, Kind] | None = None) -> None:
        """Read and check the condition."""
        self.text = text
        if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
            tokenize(text)  # raises the error
        self.names, self._rule = _read(text)
        self._kinds: dict[tuple[Kind | None, ...], str | None] = {}
        self.check(kinds)

    def __repr__(self) -> str:
        """Return the condition as code."""
        return f"Condition({self.text!r})"

    def __eq__(self, other: object) -> bool:
        """Return whether two conditions are written alike."""
        return isinstance(other, Condition) and other.text == self.text

    def __hash__(self) -> int:
        """Return a hash of the text."""
        return hash(self.text)

    def __reduce__(self) -> tuple[type[Condition], tuple[str]]:
        """Let other processes parse a condition again; compiled rules are not pickled."""
        return Condition, (self.text,)

    def check(self, kinds: Mapping[str, Kind] | None) -> None:
        """Check names and kinds.

        Raises:
            CurriculumError: If a name is unknown, or kinds do not fit; the message has columns.
        """
        if kinds is not None:
            for name in self.names:
                if name not in kinds:
                    column = next(w.column for w in tokenize(self.text) if w.text == name)
                    raise CurriculumError(
                        f"column {column}: unknown metric {name!r}; {suggest(name, kinds)}"
                    )
        mismatch = self._mismatch(tuple((kinds or {}).get(name) for name in self.names))
        if mismatch is not None:
            raise CurriculumError(mismatch)

    def evaluate(self, values: Mapping[str, Value]) -> ConditionResult:
        """Return whether the condition holds.

        Args:
            values: A value for each name; one that is not there, or ``None``, is missing.

        Returns:
            The result; the same values always give the same result.
        """
        read = {name: plain_value(values.get(name)) for name in self.names}
        missing = tuple(name for name, value in read.items() if value is None)
        if missing:
            return ConditionResult(False, read, missing)
        problem = self._mismatch(tuple(type_of(value) for value in read.values()))
        if problem is not None:
            return ConditionResult(False, read, problem=problem)
        import rule_engine

        symbols = {f"v{n}": value for n, value in enumerate(read.values())}
        try:
            return ConditionResult(bool(self._rule.matches(symbols)), read)
        except (rule_engine.EngineError, ArithmeticError) as error:
            return ConditionResult(False, read, problem=str(getattr(error, "message", error)))

    def _mismatch(self, kinds: tuple[Kind | None, ...]) -> str | None:
        """Return what does not fit if names have these kinds; ``None`` stands for any kind."""
        if kinds not in self._kinds:
            symbols = {f"v{n}": pair for n, pair in enumerate(zip(self.names, kinds, strict=True))}
            try:
                kind = TypeChecker(symbols).kind(self._rule.statement.expression)
                wrong = kind not in ("boolean", None)
                text = f"the condition is a {kind}, neither true nor false; {ALLOWED}"
                self._kinds[kinds] = text if wrong else None
            except CurriculumError as error:
                self._kinds[kinds] = str(error)
        return self._kinds[kinds]


@functools.lru_cache(maxsize=4096)
def _read(text: str) -> tuple[tuple[str, ...], Any]:
    """Return the names that a condition reads, and the rule that rule-engine made of it."""
    words = tokenize(text)
    names = tuple(dict.fromkeys(word.text for word in words if word.kind == "name"))
    return names, _compile(words, names)


@functools.cache
def _context() -> Any:
    """Return rule-engine's settings: names are looked up, numbers are decimals of 28 digits."""
    import rule_engine

    numbers = decimal.Context(prec=28, Emax=999_999, Emin=-999_999)
    return rule_engine.Context(resolver=rule_engine.resolve_item, decimal_context=numbers)


def _compile(words: list[Token], names: tuple[str, ...]) -> Any:
    """Hand a condition to rule-engine, its names replaced by ``v0``, ``v1``, ..."""
    import rule_engine

    symbols = {name: f"v{n}" for n, name in enumerate(names)}
    parts, columns, length = [], {}, 0
    for word in words:
        known = symbols[word.text] if word.kind == "name" else word.text
        part = known if word.kind == "string" else READ_AS.get(known, known)
        columns[length] = word
        parts.append(part)
        length += len(part) + 1
    try:
        with decimal.localcontext(_context().decimal_context):
            return rule_engine.Rule(" ".join(parts), context=_context())
    except rule_engine.RuleSyntaxError as error:
        token = error.args[1] if len(error.args) > 1 else None
        word_there = columns.get(getattr(token, "lexpos", -1))
        if word_there is None:
            raise CurriculumError(f"the condition ends too early; {ALLOWED}") from None
        raise CurriculumError(
            f"column {word_there.column}: {word_there.text!r} is not expected here; {ALLOWED}"
        ) from None
    except (rule_engine.EngineError, ArithmeticError) as error:
        if any(one.text == "in" and two.text != "[" for one, two in itertools.pairwise(words)):
            raise CurriculumError(LIST_WANTED) from None
        message = str(getattr(error, "message", error))
        raise CurriculumError(f"the condition cannot be calculated: {message}") from None
