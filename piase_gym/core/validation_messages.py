"""Says in words what a value should have been, where pydantic has found it wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NOUNS = {
    "int": "an integer",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string_type": "a string",
    "string_sub": "a string",
    "bytes": "bytes",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen": "a list",
    "iterable": "a list",
    "dict": "a mapping of keys",
    "mapping": "a mapping of keys",
    "model": "a mapping of keys",
    "dataclass": "a mapping of keys",
    "none": "null",
}
"""What is expected, by the beginning of pydantic's name of the error."""
_BOUNDS = {
    "greater_than": ("it must be more than {}", "gt"),
    "greater_than_equal": ("it must be at least {}", "ge"),
    "less_than": ("it must be less than {}", "lt"),
    "less_than_equal": ("it must be at most {}", "le"),
    "multiple_of": ("it must be a multiple of {}", "multiple_of"),
    "too_short": ("it must have at least {} entries", "min_length"),
    "too_long": ("it must have at most {} entries", "max_length"),
    "string_too_short": ("it must have at least {} characters", "min_length"),
    "string_too_long": ("it must have at most {} characters", "max_length"),
    "literal_error": ("allowed: {}", "expected"),
    "enum": ("allowed: {}", "expected"),
    "union_tag_invalid": ("its type is unknown; allowed: {}", "expected_tags"),
    "union_tag_not_found": ("its type is missing", ""),
}
"""Sentences about what is allowed, and the name under which pydantic tells the bound."""


def in_words(item: Mapping[str, Any]) -> str:
    """Return what is wrong with a value and what is allowed, as a clause without the value.

    Args:
        item: One entry of `pydantic.ValidationError.errors`.
    """
    kind, bounds = str(item["type"]), item.get("ctx", {})
    if kind in _BOUNDS:
        sentence, name = _BOUNDS[kind]
        return sentence.format(bounds.get(name))
    if kind == "missing":
        return "it is missing"
    for start, noun in _NOUNS.items():
        if kind.startswith(start):
            return f"{noun} is expected"
    message = str(item["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:]
