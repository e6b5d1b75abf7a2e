"""Say in words what a value that pydantic has rejected should have been."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag

_BRANCH = re.compile(r"\[|^constrained-")
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
"""What is expected, by the beginning of pydantic's name for the error."""
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
"""Sentences about what is allowed, and the name under which pydantic gives the bound."""


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


def without_branches(path: Sequence[str | int]) -> tuple[str | int, ...]:
    """Return a path through a model without the branches of unions, such as ``tuple[int, int]``."""
    return tuple(part for part in path if not _BRANCH.search(str(part)))


def fields_at(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """Return the keys that are allowed at the end of a path through a model."""
    options: list[Any] = [model]
    for part in path:
        options = [found for option in options for found in _inside(option, part)] or options
    names: dict[str, None] = {}
    for option in _flat(options):
        if isinstance(option, type) and issubclass(option, BaseModel):
            names.update(dict.fromkeys(option.model_fields))
    return list(names)


def _flat(options: list[Any]) -> Iterator[Any]:
    """Yield what unions and annotations consist of."""
    for option in options:
        origin = get_origin(option)
        if origin is Annotated:
            yield from _flat([get_args(option)[0]])
        elif origin in (Union, UnionType):
            yield from _flat(list(get_args(option)))
        else:
            yield option


def _tagged(option: Any, part: str | int) -> Iterator[Any]:
    """Yield what a union calls by a tag."""
    origin, arguments = get_origin(option), get_args(option)
    if origin is Annotated and Tag(str(part)) in arguments[1:]:
        yield arguments[0]
    elif origin is Annotated:
        yield from _tagged(arguments[0], part)
    elif origin in (Union, UnionType):
        for entry in arguments:
            yield from _tagged(entry, part)


def _inside(option: Any, part: str | int) -> Iterator[Any]:
    """Yield the types of what lies one part further along a path."""
    tagged = list(_tagged(option, part))
    if tagged:
        yield from tagged
        return
    for entry in _flat([option]):
        arguments = get_args(entry)
        if isinstance(entry, type) and issubclass(entry, BaseModel):
            field = entry.model_fields.get(str(part))
            tag = entry.model_fields.get("type")
            if field is not None:
                yield field.annotation
            elif (tag is not None and part in get_args(tag.annotation)) or entry.__name__ == part:
                yield entry
        elif get_origin(entry) is dict:
            yield arguments[1]
        elif get_origin(entry) is tuple and isinstance(part, int):
            yield arguments[0]


def short(value: Any) -> str:
    """Show a value in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
