"""Tables of what may stand in a config or a file: fields, what they may be, defaults, meanings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from piase_gym.play.describing import config_rows, type_words

Schema = Mapping[str, Any]
REQUIRED = object()
"""The default of a field that must be given."""


def config_table(model: type[BaseModel]) -> str:
    """List the fields of a config, then those of the parts that may stand in its lists."""
    schema = model.model_json_schema()
    lists = {k: v for k, v in schema["properties"].items() if "$ref" not in v}
    lists = {k: v for k, v in lists.items() if k not in ("script", "envelope")}
    return "\n\n".join([_table(config_rows(model, None)), *part_tables(lists, schema)])


def file_tables(schema: Schema) -> str:
    """List what may stand in a file, and in its parts, from its JSON Schema."""
    own = [_part_table(schema, schema)] if "properties" in schema else []
    return "\n\n".join([*own, *part_tables({k: schema[k] for k in schema if k != "$defs"}, schema)])


def part_tables(start: Any, schema: Schema) -> Iterator[str]:
    """Yield a table for each part of a schema that `start` leads to, in the order of its fields."""
    known = schema.get("$defs", {})
    waiting = list(_references(start))
    for name in waiting:
        waiting += [other for other in _references(known[name]) if other not in waiting]
    for name in dict.fromkeys(waiting):
        if "properties" in known[name]:
            text = " ".join(str(known[name].get("description", "")).split("\n\n")[0].split())
            yield f"### {_short(name)}\n\n{text}\n\n{_part_table(known[name], schema)}"


def options_tables(kinds: Mapping[str, type]) -> str:
    """List the options of classes, by their names in files, out of signatures and docstrings."""
    parts = []
    for name, kind in kinds.items():
        meanings = _arguments(inspect.getdoc(kind) or "")
        options = inspect.signature(kind).parameters.values()
        lines = ["| option | default | meaning |", "|---|---|---|"]
        lines += [f"| `{o.name}` | `{o.default!r}` | {meanings[o.name]} |" for o in options]
        if meanings:
            parts.append("\n".join([f"**`{name}`**", "", *lines]))
    return "\n\n".join(parts)


def _arguments(docstring: str) -> dict[str, str]:
    """Return what a docstring says of each argument, on one line each."""
    found = re.search(r"^Args:\n((?:    .*\n?|\n(?=    ))*)", docstring, re.M)
    rows = re.split(r"^    (\w+): ", found[1], flags=re.M)[1:] if found else []
    return {
        name: " ".join(meaning.split()).replace("``", "`").replace("|", "\\|")
        for name, meaning in zip(rows[::2], rows[1::2], strict=True)
    }


def _references(part: Any) -> Iterator[str]:
    """Yield the names of the parts that a part leads to."""
    if isinstance(part, Mapping):
        if "$ref" in part:
            yield part["$ref"].rsplit("/", 1)[-1]
        for inner in part.values():
            yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _short(name: str) -> str:
    """Return the name of a part without its module, but with the world that it is of."""
    *module, own = name.split("__")
    return f"{own} (TextRoom)" if "text_room" in module else own


def _part_table(part: Schema, schema: Schema) -> str:
    """List the fields of one part; other parts are told by their names."""
    known = schema.get("$defs", {})
    named = {n: {"const": _short(n)} if "properties" in p else p for n, p in known.items()}
    return _table(
        {
            "key": key,
            "type": type_words(prop, named),
            "default": prop.get("default", REQUIRED),
            "description": prop.get("description", ""),
        }
        for key, prop in part["properties"].items()
    )


def _table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Write a table."""
    lines = ["| field | allowed | default | meaning |", "|---|---|---|---|"]
    for row in rows:
        allowed, meaning = (str(row[k]).replace("|", "\\|") for k in ("type", "description"))
        default = "" if row["default"] is REQUIRED else f"`{row['default']!r}`"
        lines.append(f"| `{row['key']}` | {allowed} | {default} | {meaning} |")
    return "\n".join(lines)
