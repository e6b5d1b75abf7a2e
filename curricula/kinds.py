"""The kinds of the parts of a condition: numbers, truths, strings; no kind becomes another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from piase_gym.core.jsonable import jsonable
from piase_gym.curricula.words import ALLOWED
from piase_gym.errors import CurriculumError
from piase_gym.runs.windows import Value

Kind = Literal["number", "boolean", "string"]
"""What a value is; there is no way from one kind to another."""


def kind_of(value: object) -> Kind | None:
    """Return the kind of a value, or ``None`` if a condition cannot use it."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else None


def plain_value(value: object) -> Value:
    """Return what a metric gave as a plain value; what is no finite number or truth is ``None``."""
    if isinstance(value, str):
        return str(value)
    plain = jsonable(value)
    if isinstance(plain, float) and not math.isfinite(plain):
        return None
    return plain if isinstance(plain, bool | int | float) else None


_SIGNS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "tdiv": "/",
    "fdiv": "//",
    "mod": "%",
    "pow": "**",
}


class Checker:
    """Finds the kind of each part of a condition; ``None`` stands for one that is not known."""

    def __init__(self, symbols: Mapping[str, tuple[str, Kind | None]]) -> None:
        self.symbols = symbols

    def kind(self, node: Any) -> Kind | Literal["null", "list"] | None:
        """Return the kind of a node.

        Raises:
            CurriculumError: If its parts do not fit.
        """
        kinds: Mapping[str, Any] = {
            "FloatExpression": "number",
            "BooleanExpression": "boolean",
            "StringExpression": "string",
            "NullExpression": "null",
        }
        name = type(node).__name__
        if name in kinds:
            found: Any = kinds[name]
            return found  # type: ignore[no-any-return]
        handler = getattr(self, f"_{name}", None)
        if handler is None:
            raise CurriculumError(f"the condition has a part that is not allowed; {ALLOWED}")
        return handler(node)  # type: ignore[no-any-return]

    def _SymbolExpression(self, node: Any) -> Any:
        return self.symbols[node.name][1]

    def _ArrayExpression(self, node: Any) -> Any:
        for part in node.value:
            if self.kind(part) in ("list", "null"):
                raise CurriculumError("a list has numbers, strings, true and false, nothing else")
        return "list"

    def _ContainsExpression(self, node: Any) -> Any:
        if self.kind(node.container) != "list":
            raise CurriculumError("'in' is followed by a list, such as ['north', 'south']")
        member = self.kind(node.member)
        for part in node.container.value:
            self._alike("in", node.member, member, part, self.kind(part))
        return "boolean"

    def _LogicExpression(self, node: Any) -> Any:
        for part in (node.left, node.right):
            self._want(part, "boolean", node.type)
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
                told = f"{self._told(part)} has no place in an order"
                raise CurriculumError(f"{told}; compare it by == or !=")
        (left, one), (right, other) = parts
        self._alike(_SIGNS[node.type], left, one, right, other)
        return "boolean"

    def _AddExpression(self, node: Any) -> Any:
        for part in (node.left, node.right):
            self._want(part, "number", _SIGNS[node.type])
        return "number"

    _SubtractExpression = _AddExpression
    _ArithmeticExpression = _AddExpression

    def _told(self, node: Any) -> str:
        """Return words for a part of the condition."""
        name = type(node).__name__
        if name == "SymbolExpression":
            return repr(self.symbols[node.name][0])
        if hasattr(node, "value") and not isinstance(node.value, tuple):
            value = node.value
            return {True: "true", False: "false", None: "null"}.get(value, repr(str(value)))
        return "what is calculated"

    def _want(self, node: Any, wanted: Kind, sign: str) -> None:
        """Ask for a kind."""
        found = self.kind(node)
        if found not in (wanted, None):
            raise CurriculumError(
                f"{sign!r} takes {_MANY[wanted]}, and {self._told(node)} is a {found}"
            )

    def _alike(self, sign: str, left: Any, one: Any, right: Any, other: Any) -> None:
        """Ask for two parts of one kind."""
        if one != other and one is not None and other is not None:
            raise CurriculumError(
                f"{self._told(left)} is a {one} and {self._told(right)} is a {other}; "
                f"{sign!r} compares values of one kind, and nothing is converted"
            )


_MANY: Mapping[str, str] = {"number": "numbers", "boolean": "true or false", "string": "strings"}
