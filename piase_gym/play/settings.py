"""What people write on a line: settings such as ``agents=2``, and the partners of each seat."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from piase_gym.agents.policy_registry import check_policy
from piase_gym.errors import AgentError, ConfigError, UnsupportedError
from piase_gym.names import look_up
from piase_gym.registry import find, load

_SEAT = re.compile(r"([A-Za-z0-9_.*-]*)=(.*)", re.DOTALL)


def split_pair(text: str, wrong: str) -> tuple[str, str]:
    """Return key and value of ``key=value``.

    Args:
        text: What the user wrote.
        wrong: The message if it has another form; ``{!r}`` stands for the text.

    Raises:
        ConfigError: If there is no ``=``, or nothing before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(wrong.format(text))
    return key.strip(), value


def read_pairs(words: Iterable[str] | None, wrong: str) -> dict[str, str]:
    """Return what several words of the form ``key=value`` say, by key.

    Raises:
        ConfigError: If one has another form (see `split_pair`), or two have the same key.
    """
    found: dict[str, str] = {}
    for word in words or ():
        key, value = split_pair(word, wrong)
        if key in found:
            raise ConfigError(f"{key!r} is given twice: {found[key]!r} and {value!r}")
        found[key] = value
    return found


def read_settings(
    name: str, settings: Iterable[str] | None, base: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the fields that settings such as ``agents=2`` stand for.

    Values are JSON or Python literals, else plain words; ``3,4`` is a pair. A dot reaches into a
    nested table, and keeps the rest of what the id or its scenario sets there.

    Args:
        name: The world or id whose config it is.
        settings: What the user wrote, each ``key=value``.
        base: The fields that apply without them; by default those of the id and its scenario.

    Raises:
        ConfigError: If a setting has no ``=``, or the same is set twice.
            Whether keys and values are allowed is checked by the config.
    """
    named = look_up(name)
    spec = named.spec
    if base is None:
        base = named.fields
    model = load(spec.config, spec)
    fields: dict[str, Any] = {}
    seen: set[str] = set()
    for setting in settings or ():
        key, text = split_pair(setting, "{!r} is no setting; write key=value, such as max_steps=50")
        if key in seen:
            raise ConfigError(f"the setting {key!r} is given twice")
        rivals = [k for k in sorted(seen) if k.startswith(f"{key}.") or key.startswith(f"{k}.")]
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
        adapter: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])
        for reading in readings:
            try:
                adapter.validate_python(reading)
            except ValidationError:
                continue
            return reading
    return readings[0]


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


def split_seat(word: str) -> tuple[str | None, str]:
    """Return seat and policy of ``agent_1=oracle``; without a seat, ``None`` and the policy.

    A policy may contain a file name with ``=`` in it: ``sb3:runs/lr=0.1/model.zip`` names no seat.
    """
    found = _SEAT.fullmatch(word)
    return (found[1], found[2]) if found else (None, word)


def read_partners(name: str, words: list[str] | None) -> dict[str, Any] | None:
    """Return the policy of each seat; ``*`` stands for all that are not named.

    Raises:
        UnknownNameError: If a policy does not exist.
        UnsupportedError: If the oracle is asked for and the world has none.
    """
    if not words:
        return None
    spec, _ = find(name)
    seats: dict[str, Any] = {}
    for word in words:
        named, policy = split_seat(word)
        seat = "*" if named is None else named
        check_policy(policy, files=True)
        if policy == "human":
            raise ConfigError("you are the only person here; piase run --agent human takes more")
        if policy == "oracle" and spec.oracle is None:
            raise UnsupportedError(f"{spec.name} has no oracle; take another policy as partner")
        if seat in seats:
            raise ConfigError(f"--partners names {seat!r} twice")
        if not seat:
            raise AgentError(f"--partners {word!r} names no agent; write agent_1={policy}")
        seats[seat] = policy
    return seats
