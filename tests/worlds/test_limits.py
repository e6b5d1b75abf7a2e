"""What every field of every config, envelope and table of rewards may be, and is by default.

When one of these fails, configs that were written before mean something else or are refused: say so
in the changelog, and write the file anew with ``python -m tests.worlds.test_limits``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from annotated_types import BaseMetadata, GroupedMetadata
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from piase_gym.errors import ConfigError
from piase_gym.registry import list_worlds, load, world_spec

FILE = Path(__file__).with_name("golden_limits.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def models_in(kind: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a type speaks of."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from models_in(part)


def bounds(part: Any) -> Iterator[str]:
    """Yield what limits a type, an annotation or a field, in any depth."""
    if isinstance(part, FieldInfo):
        yield from bounds(part.annotation)
        part = tuple(part.metadata)
    if isinstance(part, GroupedMetadata | tuple | list):
        for inner in part:
            yield from bounds(inner)
    elif isinstance(part, BaseMetadata) or type(part) in (str, int, bool):
        yield repr(part)
    for inner in get_args(part):
        yield from bounds(inner)


def usual(field: FieldInfo) -> str:
    """Return the default of a field; those of models follow from those of their own fields."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return type(value).__name__ if isinstance(value, BaseModel) else repr(value)


def limits(model: type[BaseModel], known: dict[str, Any]) -> dict[str, Any]:
    """Return the limits and defaults of all fields of a model, and of the models in them."""
    if model.__name__ not in known:
        rows = known[model.__name__] = {}
        for name, field in model.model_fields.items():
            rows[name] = ", ".join([*bounds(field), usual(field)])
            for part in models_in(field.annotation):
                limits(part, known)
    return known


WORLDS = [name for name in list_worlds() if world_spec(name).config.startswith("piase_gym.")]
"""The worlds that ship; configs can be imported without what their worlds need."""


FOUND: dict[str, Any] = {}
for world in WORLDS:
    limits(load(world_spec(world).config), FOUND)


@pytest.mark.parametrize("model", FOUND)
def test_limits_are_what_they_were(model: str) -> None:
    assert FOUND[model] == GOLDEN[model]


@pytest.mark.parametrize("world", WORLDS)
def test_all_sizes_and_rewards_have_a_largest_value(world: str) -> None:
    fields = load(world_spec(world).config).model_fields
    for part in ("envelope", "rewards"):
        for model in models_in(fields[part].annotation) if part in fields else ():
            for name, field in model.model_fields.items():
                assert "Le(" in ", ".join(bounds(field)), f"{part}.{name} can be anything"


@pytest.mark.parametrize(
    ("world", "fields", "told"),
    [
        ("TextRoom", {"envelope": {"rooms": 2**31}}, "envelope.rooms: it must be at most 1000"),
        ("Household", {"envelope": {"objects": 2**63}}, "envelope.objects: it must be at most"),
        ("SqlQuery", {"envelope": {"columns": 2**63}}, "envelope.columns: it must be at most"),
        ("GridWorld", {"rewards": {"goal": 1e308}}, "rewards.goal: it must be at most 1000000"),
        ("TextRoom", {"rewards": {"step": -1e7}}, "rewards.step: it must be at least -1000000"),
    ],
)
def test_what_is_too_large_is_refused(world: str, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load(world_spec(world).config)(**fields)


if __name__ == "__main__":
    FILE.write_text(json.dumps(FOUND, indent=1) + "\n", "utf-8")
