"""What ``piase info`` says about a world, as data: spaces, commands, config, ids."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from piase_gym.core.commands import InvalidAction
from piase_gym.core.config import WHOLE
from piase_gym.core.limits import MOST_STEPS
from piase_gym.core.world import World
from piase_gym.names import look_up
from piase_gym.registry import list_tasks, load, make_config, task_spec

MAX_LISTED = 40
"""Size of the longest table of indices that is written out."""


def describe(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description of a world, or of an id, as a JSON-able value.

    Args:
        name: The world or id.
        fields: Fields of the config to describe it under.

    Raises:
        UnknownNameError, ConfigError, MissingExtraError: Each says what is wrong.
    """
    named = look_up(name)
    spec, task = named.spec, named.task
    model = load(spec.config, spec)
    given = {**named.fields, **model.plain(fields)}
    config = make_config(spec, given)
    with closing(load(spec.world, spec)(config)) as world:
        return {
            "name": task.id if task else spec.name,
            "world": spec.name,
            "version": world.version_of(config),
            "summary": spec.summary,
            "description": description(type(world)),
            "aliases": list(spec.aliases),
            "agents": list(world.agents),
            "capabilities": asdict(world.capabilities),
            "oracle": spec.oracle is not None,
            "spaces": spaces_of(world),
            "grammar": [
                {
                    **verb.tool(),
                    "name": verb.name,
                    "usage": verb.usage,
                    "synonyms": list(verb.synonyms),
                }
                for verb in world.grammar
            ],
            "actions": action_table(world),
            "milestones": list(world.milestones),
            "config": list(config_rows(model, config)),
            "partners": dict(task.partners) if task else {},
            "ids": [id_row(row) for row in list_tasks(spec.name)],
        }


def description(world: type[World[Any, Any]]) -> str:
    """Return the first paragraph under "Description" of a world's docstring, or its first line."""
    text = inspect.cleandoc(world.__doc__ or "")
    found = re.search(r"^## Description\n+(.+?)(?:\n\n|\Z)", text, re.S | re.M)
    return " ".join((found.group(1) if found else text.split("\n\n")[0]).split())


def spaces_of(world: World[Any, Any]) -> dict[str, str]:
    """Return the spaces of a world in words."""
    claimed = world.capabilities
    rows = {
        "vector": box_words(world.vector_space),
        "text": f"at most {world.text_length} characters",
    }
    if claimed.discrete:
        rows["discrete actions"] = f"Discrete({world.num_actions}), masked"
    if claimed.continuous:
        rows["continuous actions"] = box_words(world.action_box)
    return {**rows, "text actions": "a line of the grammar", "state": box_words(world.state_space)}


def box_words(box: Box) -> str:
    """Return a Box in a few words: its range, shape and type."""
    low, high = np.min(box.low).item(), np.max(box.high).item()
    form = "" if isinstance(low, int) else "g"
    return f"Box({low:{form}}..{high:{form}}, {box.shape}, {box.dtype})"


def action_table(world: World[Any, Any]) -> list[str]:
    """Return what each index stands for, or nothing where that depends on the state."""
    if not world.capabilities.discrete or world.num_actions > MAX_LISTED:
        return []
    world.reset(0)
    commands = [world.command(0, index) for index in range(world.num_actions)]
    lines = [world.write(command) for command in commands if not isinstance(command, InvalidAction)]
    return lines if len(lines) == len(commands) else []


def id_row(task: str) -> dict[str, Any]:
    """Return an id with the fields that it sets."""
    row = task_spec(task)
    return {"id": task, "config": plain(dict(row.config)), "partners": dict(row.partners)}


def plain(value: Any) -> Any:
    """Return a value with models as dicts and tuples as lists."""
    return to_jsonable_python(value, context=WHOLE, serialize_unknown=True)


# -- the config, from the model's JSON Schema ---------------------------------------------


def config_rows(model: type[BaseModel], config: BaseModel | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each field: key, type in words, default, value here, meaning.

    Nested tables give a row for each field in them, with keys such as ``rewards.goal``. The
    envelope and the script, which no command line sets, are left out.
    """
    schema = model.model_json_schema(mode="validation")
    default, here = _values(model), plain(config)
    yield from _rows(schema, schema.get("$defs", {}), default, here, "")


def _values(model: type[BaseModel]) -> Any:
    """Return the defaults of a model."""
    return {
        key: plain(field.get_default(call_default_factory=True))
        for key, field in model.model_fields.items()
        if not field.is_required()
    }


def _rows(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], default: Any, here: Any, before: str
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one table and of the tables in it."""
    for key, prop in schema.get("properties", {}).items():
        if before + key in ("envelope", "script"):
            continue
        inner = definitions.get(str(prop.get("$ref", "")).rsplit("/", 1)[-1])
        was, now = (part.get(key) if part else None for part in (default, here))
        if inner is not None and "properties" in inner:
            yield from _rows(inner, definitions, was, now, f"{before}{key}.")
            continue
        yield {
            "key": before + key,
            "type": type_words(prop, definitions),
            "default": was,
            "value": now,
            "description": prop.get("description", ""),
        }


def type_words(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return what a JSON Schema allows in a few words, such as ``integer 1..32``."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return type_words(definitions.get(name, {}), definitions) or name
    if "anyOf" in schema or "oneOf" in schema:
        options = [
            type_words(o, definitions) for key in ("anyOf", "oneOf") for o in schema.get(key, ())
        ]
        return " or ".join(dict.fromkeys(options))
    if "enum" in schema or "const" in schema:
        return " | ".join(str(value) for value in schema.get("enum", [schema.get("const")]))
    if isinstance(schema.get("type"), list):
        return " or ".join(
            type_words({**schema, "type": kind}, definitions) for kind in schema["type"]
        )
    kind = str(schema.get("type", ""))
    if kind == "array":
        return _array_words(schema, definitions)
    if kind == "null":
        return "none"
    if kind == "object" and "properties" in schema:
        return "table of " + ", ".join(schema["properties"])
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"name -> {type_words(schema['additionalProperties'], definitions)}"
    words = _range_words(schema)
    if kind == "integer" and ".." in words:
        return words
    return f"{kind} {words}".strip() or "anything"


def _array_words(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return what a list or tuple holds."""
    if "prefixItems" in schema:
        parts = [type_words(item, definitions) for item in schema["prefixItems"]]
        return f"({', '.join(parts)})"
    inner = type_words(schema.get("items", {}), definitions)
    words = f"list of {inner}s" if inner.isalpha() else f"list of {inner}"
    least, most = schema.get("minItems"), schema.get("maxItems")
    bounds = (("at least", least), ("at most", most))
    text = " and ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)
    return f"{words}, {text}" if text else words


def _range_words(schema: Mapping[str, Any]) -> str:
    """Return the range of a number, or the form of a string."""
    whole = schema.get("type") == "integer"
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if whole:
        low = low if above is None else above + 1
        high = high if below is None else below - 1
        above = below = None
    if high is not None and high >= MOST_STEPS:
        high = None
    if low is not None and high is not None:
        return f"{low:g}..{high:g}" if not whole else f"{low}..{high}"
    bounds = ((">", above), (">=", low), ("<", below), ("<=", high))
    return ", ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)
