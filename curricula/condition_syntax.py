"""The syntax of conditions: tokens and type checks, before anything is computed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from piase_gym.core.jsonable import jsonable
from piase_gym.errors import CurriculumError
from piase_gym.runs.windows import Value

MOST_CHARACTERS = 1000
MOST_WORDS = 200
MOST_LEVELS = 20
MOST_DIGITS = 20
MOST_POWERS = 2
LARGEST_EXPONENT = 10

_WORD = re.compile(
    r"""(?P<blank>\s+)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
    |(?P<string>"[^"\\\n]*"|'[^'\\\n]*')
    |(?P<sign>&&|\|\||\*\*|//|==|!=|<=|>=|[-+*/%<>()\[\],!])""",
    re.VERBOSE | re.ASCII,
)
_LITERALS = ("true", "false", "null")
LIST_WANTED = "'in' is followed by a list, such as ['north', 'south']"
_RESERVED = ("and", "or", "not", "in", *_LITERALS)
_FORBIDDEN = ("if", "elif", "else", "for", "while", "inf", "nan")
READ_AS = {"&&": "and", "||": "or", "!": "not"}
ALLOWED = (
    "a condition compares step_attempts and metrics, such as "
    "'step_attempts >= 3 and success_rate < 0.5'"
)


class Token(NamedTuple):
    """A word of a condition: its kind, how it is written, and its column from 1."""

    kind: str
    text: str
    column: int


def tokenize(text: object) -> list[Token]:
    """Split a condition into words, and reject what is not allowed.

    Raises:
        CurriculumError: If it is too long, too deep, or has a word that is not allowed.
    """
    if not isinstance(text, str):
        raise CurriculumError(f"a condition is a string, not {type(text).__name__}; {ALLOWED}")
    if len(text) > MOST_CHARACTERS:
        raise CurriculumError(
            f"the condition has {len(text)} characters; at most {MOST_CHARACTERS} are allowed"
        )
    words = list(_split(text))
    if not words:
        raise CurriculumError(f"the condition is empty; {ALLOWED}")
    if len(words) > MOST_WORDS:
        raise CurriculumError(
            f"the condition has {len(words)} words; at most {MOST_WORDS} are allowed"
        )
    _check_levels(words)
    _check_powers(words)
    _check_calls(words)
    return words


def _split(text: str) -> Iterator[Token]:
    """Yield the words of a condition."""
    index = 0
    while index < len(text):
        match = _WORD.match(text, index)
        if match is None:
            raise CurriculumError(
                f"column {index + 1}: {text[index : index + 20]!r} cannot be read; {ALLOWED}"
            )
        kind, word = str(match.lastgroup), match.group()
        if kind == "number":
            _check_number(word, index + 1)
        if kind == "name" and word in _RESERVED:
            kind = "word"
        if kind == "name" and word in _FORBIDDEN:
            raise CurriculumError(f"column {index + 1}: {word!r} is not allowed; {ALLOWED}")
        if kind != "blank":
            yield Token(kind, word, index + 1)
        index = match.end()


def _check_number(word: str, column: int) -> None:
    """Reject numbers that nobody means."""
    digits, _, exponent = word.lower().partition("e")
    if len(digits) > MOST_DIGITS or abs(int(exponent[:5] or 0)) > MOST_DIGITS or len(exponent) > 5:
        raise CurriculumError(
            f"column {column}: the number {word[:30]} is too long; at most {MOST_DIGITS} digits"
        )


def _check_levels(words: list[Token]) -> None:
    """Reject conditions that are nested too deeply; signs before a value count as nesting."""
    level = run = 0
    for word in words:
        level += (word.text in "([") - (word.text in ")]")
        run = run + 1 if word.text in ("!", "not", "-") else 0
        if level + run > MOST_LEVELS:
            raise CurriculumError(
                f"column {word.column}: the condition is nested deeper than {MOST_LEVELS} levels"
            )


def _check_powers(words: list[Token]) -> None:
    """Reject powers that could grow too large."""
    places = [n for n, word in enumerate(words) if word.text == "**"]
    if len(places) > MOST_POWERS:
        raise CurriculumError(
            f"column {words[places[-1]].column}: {len(places)} powers; "
            f"at most {MOST_POWERS} are allowed"
        )
    for n in places:
        exponent = words[n + 1].text if n + 1 < len(words) else ""
        if not exponent.isdecimal() or int(exponent) > LARGEST_EXPONENT:
            raise CurriculumError(
                f"column {words[n].column}: an exponent is a whole number from 0 to "
                f"{LARGEST_EXPONENT}, not {exponent!r}"
            )


def _check_calls(words: list[Token]) -> None:
    """Reject calls and indices: an opening bracket right after a value."""
    for before, word in pairwise(words):
        value = before.kind in ("name", "number", "string") or before.text in (")", "]")
        if value and word.text in ("(", "["):
            raise CurriculumError(
                f"column {word.column}: calls and indices are not allowed; {ALLOWED}"
            )


Kind = Literal["number", "boolean", "string"]
"""The kind of a value; kinds are never converted into one another."""


def type_of(value: object) -> Kind | None:
    """Return the kind of a value, or ``None`` if a condition cannot use it."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else None


def plain_value(value: object) -> Value:
    """Return a metric's result as a plain value: a string, a finite number, a bool or ``None``."""
    if isinstance(value, str):
        return str(value)
    plain = jsonable(value)
    if isinstance(plain, float) and not math.isfinite(plain):
        return None
    return plain if isinstance(plain, bool | int | float) else None


_SIGNS = dict(
    zip(
        "eq ne lt le gt ge add sub mul tdiv fdiv mod pow".split(),
        "== != < <= > >= + - * / // % **".split(),
        strict=True,
    )
)
"""Name of an operation in rule-engine -> its sign in a condition."""


_CONSTANTS: Mapping[str, Any] = {
    "FloatExpression": "number",
    "BooleanExpression": "boolean",
    "StringExpression": "string",
    "NullExpression": "null",
}
_OPERATIONS: Mapping[str, Kind] = {
    "LogicExpression": "boolean",
    "AddExpression": "number",
    "SubtractExpression": "number",
    "ArithmeticExpression": "number",
}
"""The kind of both sides, and of the result."""


class TypeChecker:
    """Finds the kind of each part of a condition; ``None`` stands for an unknown kind."""

    def __init__(self, symbols: Mapping[str, tuple[str, Kind | None]]) -> None:
        self.symbols = symbols

    def kind(self, node: Any) -> Any:
        """Return the kind of a node.

        Raises:
            CurriculumError: If its parts do not fit.
        """
        name = type(node).__name__
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in _OPERATIONS:
            for part in (node.left, node.right):
                self._want(part, _OPERATIONS[name], _SIGNS.get(node.type, node.type))
            return _OPERATIONS[name]
        handler = getattr(self, f"_{name}", None)
        if handler is None:
            raise CurriculumError(f"the condition has a part that is not allowed; {ALLOWED}")
        return handler(node)

    def _SymbolExpression(self, node: Any) -> Any:
        return self.symbols[node.name][1]

    def _ArrayExpression(self, node: Any) -> Any:
        for part in node.value:
            if self.kind(part) in ("list", "null"):
                raise CurriculumError("a list has numbers, strings, true and false, nothing else")
        return "list"

    def _ContainsExpression(self, node: Any) -> Any:
        if self.kind(node.container) != "list":
            raise CurriculumError(LIST_WANTED)
        member = self.kind(node.member)
        for part in node.container.value:
            self._alike("in", node.member, member, part, self.kind(part))
        return "boolean"

    def _UnaryExpression(self, node: Any) -> Any:
        wanted: Kind = "boolean" if node.type == "not" else "number"
        self._want(node.right, wanted, "not" if wanted == "boolean" else "-")
        return wanted

    def _ComparisonExpression(self, node: Any) -> Any:
        left, right = self.kind(node.left), self.kind(node.right)
        if "null" not in (left, right):
            self._alike(_SIGNS[node.type], node.left, left, node.right, right)
        return "boolean"

    def _ArithmeticComparisonExpression(self, node: Any) -> Any:
        parts = [(part, self.kind(part)) for part in (node.left, node.right)]
        for part, kind in parts:
            if kind in ("boolean", "null", "list"):
                message = f"{self._describe(part)} has no place in an order"
                raise CurriculumError(f"{message}; compare it by == or !=")
        (left, one), (right, other) = parts
        self._alike(_SIGNS[node.type], left, one, right, other)
        return "boolean"

    def _describe(self, node: Any) -> str:
        """Return a description of a part of the condition."""
        name = type(node).__name__
        if name == "SymbolExpression":
            return repr(self.symbols[node.name][0])
        if hasattr(node, "value") and not isinstance(node.value, tuple):
            value = node.value
            if value is None or isinstance(value, bool):
                return {True: "true", False: "false", None: "null"}[value]
            return repr(str(value))
        return "what is calculated"

    def _want(self, node: Any, wanted: Kind, sign: str) -> None:
        """Require that a part is of a kind."""
        found = self.kind(node)
        if found not in (wanted, None):
            raise CurriculumError(
                f"{sign!r} takes {_MANY[wanted]}, and {self._describe(node)} is a {found}"
            )

    def _alike(self, sign: str, left: Any, one: Any, right: Any, other: Any) -> None:
        """Require that two parts are of the same kind."""
        if one != other and one is not None and other is not None:
            raise CurriculumError(
                f"{self._describe(left)} is a {one} and {self._describe(right)} is a {other}; "
                f"{sign!r} compares values of one kind, and nothing is converted"
            )


_MANY: Mapping[str, str] = {"number": "numbers", "boolean": "true or false", "string": "strings"}
