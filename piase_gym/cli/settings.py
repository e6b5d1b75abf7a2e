"""MetricInputs ``key=value`` from the command line into the fields of a config."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from piase_gym.errors import ConfigError
from piase_gym.names import look_up
from piase_gym.registry import load


def read_settings(
    name: str, settings: Iterable[str] | None, base: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the fields that settings such as ``agents=2`` stand for.

    Values are JSON or Python literals, else plain words; ``3,4`` is a pair. A dot reaches into a
    nested table, and keeps the rest of what the id or its scenario sets there.

    Args:
        name: The world or id whose config it is.
        settings: What the user wrote, each ``key=value``.
        base: The fields that hold without them; by default those of the id, its scenario included.

    Raises:
        ConfigError: If a setting has no ``=``, or the same is set twice.
            Whether keys and values are allowed is for the config to say.
    """
    named = look_up(name)
    spec = named.spec
    if base is None:
        base = named.fields
    model = load(spec.config, spec)
    fields: dict[str, Any] = {}
    seen: set[str] = set()
    for setting in settings or ():
        key, equals, text = setting.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(f"{setting!r} is no setting; write key=value, such as max_steps=50")
        if key in seen:
            raise ConfigError(f"the setting {key!r} is given twice")
        rivals = [k for k in seen if k.startswith(f"{key}.") or key.startswith(f"{k}.")]
        if rivals:
            raise ConfigError(f"the settings {rivals[0]!r} and {key!r} set the same in part")
        seen.add(key)
        *path, last = key.split(".")
        table, inner = fields, model
        for depth, part in enumerate(path):
            if part not in table:
                table[part] = _base(base if not depth else {}, part)
            table, inner = table[part], _inner(inner, part)
        table[last] = read_value(text.strip(), getattr(inner, "model_fields", {}).get(last))
    return fields


def _base(fields: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return what an id sets in a nested table, as a dict of its own."""
    base = fields.get(part, {})
    if hasattr(base, "model_dump"):
        base = base.model_dump(exclude_unset=True)
    return dict(base) if isinstance(base, Mapping) else {}


def _inner(model: Any, part: str) -> Any:
    """Return the model of a nested table, or None."""
    field = getattr(model, "model_fields", {}).get(part)
    annotation = getattr(field, "annotation", None)
    options = (annotation, *getattr(annotation, "__args__", ()))
    return next((o for o in options if hasattr(o, "model_fields")), None)


def read_value(text: str, field: Any = None) -> Any:
    """Return the first reading of a word that a config field takes.

    If it takes none, the most literal one is returned, for the config's own error to show.
    """
    readings = list(_readings(text))
    if field is not None:
        adapter: TypeAdapter[Any] = TypeAdapter(_annotated(field))
        for reading in readings:
            try:
                adapter.validate_python(reading)
            except ValidationError:
                continue
            return reading
    return readings[0]


def _annotated(field: Any) -> Any:
    """Return a field's annotation with its constraints."""
    annotation = field.annotation
    for constraint in field.metadata:
        annotation = Annotated[annotation, constraint]
    return annotation


def _readings(text: str) -> Iterable[Any]:
    """Yield what a word can mean, the likeliest first."""
    for read in (json.loads, ast.literal_eval):
        try:
            yield read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    if text in ("true", "false", "True", "False"):
        return
    if text.lower() == "none":
        yield None
    yield text
    if "," in text:
        yield [part.strip() for part in text.split(",") if part.strip()]
