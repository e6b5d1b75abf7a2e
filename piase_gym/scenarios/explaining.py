"""Turns what pydantic finds wrong with a file into lines with places, and with what is allowed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from piase_gym.core.validation_messages import fields_at, in_words
from piase_gym.errors import suggest
from piase_gym.scenarios.reading import Document, Key

OTHER_NAMES: Mapping[str | int, str] = {
    "none": "not",
    "environment_config_overrides": "environment_config",
}
"""Fields of models that may have another name in a file."""


def find(document: Document, path: tuple[str | int, ...]) -> Key:
    """Return the key of the part of a file that a path through models stands for.

    Paths pass through tags of unions, through single entries read as lists, and through
    `custom_properties`, which are missing in the file or in the path; fields may have one of
    `OTHER_NAMES` in the file.
    """
    key: Key = ()
    node = document.data
    for part, after in itertools.zip_longest(path, path[1:]):
        if isinstance(node, dict) and part not in node:
            part = OTHER_NAMES.get(part, part)
        if _is_tag(node, part, after):
            continue
        if isinstance(node, dict) and part not in node:
            custom = node.get("custom_properties")
            if isinstance(custom, dict) and part in custom:
                key, node = (*key, "custom_properties"), custom
        inside = isinstance(node, dict) and part in node
        inside |= isinstance(node, list) and isinstance(part, int) and part < len(node)
        if inside:
            key, node = (*key, part), node[part]
    return key


def _is_tag(node: Any, part: str | int, after: str | int | None) -> bool:
    """Return whether a part of a path only tells of which kind a mapping is, and is a key too."""
    if not isinstance(node, dict) or part not in node or after not in node:
        return False
    return not isinstance(node[part], dict) or after not in node[part]


def explain(error: ValidationError, model: type[BaseModel], document: Document) -> Iterator[str]:
    """Yield one line per problem: ``file:line:column: key: what is wrong, what is allowed``."""
    for key, message in located(error, model, document):
        yield document.line(key, message)


def located(
    error: ValidationError, model: type[BaseModel], document: Document, skip: str = ""
) -> Iterator[tuple[Key, str]]:
    """Yield each problem: the key of the part of the file, and what is wrong with it.

    Problems of the type `skip` are left out.
    """
    said = set()
    for item in error.errors(include_url=False):
        if item["type"] == skip:
            continue
        path = tuple(item["loc"])
        if item["type"] == "union_tag_invalid":
            path = (*path, "type")
        key = find(document, path)
        message = sentence(item, model, path)
        if message.startswith(NO_ENTRIES) and item["input"]:
            continue  # there are some, and other problems are about them
        if item["type"] == "missing":
            key = (*find(document, path[:-1]), path[-1])
        if (key, message) not in said:  # a union says the same once for each of its types
            said.add((key, message))
            yield key, message


EXPECTED = " is expected (got "
NO_ENTRIES = "it must have at least 1 entries"


def sentence(item: Any, model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    """Return what is wrong and what is allowed, in words."""
    kind, name = item["type"], str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        return f"unknown key {name!r}; {suggest(name, fields_at(model, path[:-1]))}"
    if kind == "missing":
        return "this entry is missing" if name.isdigit() else "this key is missing"
    context = item.get("ctx", {})
    if kind == "union_tag_invalid":
        tags = [tag.strip(" '") for tag in str(context["expected_tags"]).split(",")]
        return f"unknown type {context['tag']!r}; {suggest(context['tag'], tags)}"
    if kind == "union_tag_not_found":
        return "'type' is missing; it says which condition, trigger or response this is"
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", str(context["expected"]))
        return f"{item['input']!r:.60} is not allowed; {suggest(item['input'], choices)}"
    if kind == "string_pattern_mismatch":
        return f"{item['input']!r:.60} is no name; names start with a letter and have no signs"
    words = in_words(item)
    return words if kind == "value_error" else f"{words} (got {item['input']!r:.60})"
