"""Arguments that several commands share, and how they are read and completed.

Groups of commands use the same names, so that ``-c`` and ``-m`` mean the same everywhere.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError

import piase_gym
from piase_gym.agents import policies
from piase_gym.agents.policy_registry import families
from piase_gym.cli.describing import config_rows
from piase_gym.errors import ConfigError, PiaseError
from piase_gym.names import look_up
from piase_gym.registry import load, world_spec

Completions = list[tuple[str, str]]


def import_modules(modules: Sequence[str] | None) -> Sequence[str] | None:
    """Import the modules that register worlds; the working directory is searched too.

    This happens as soon as ``--module`` is read, even when a line is only being completed.

    Raises:
        ConfigError: If a module cannot be found or fails when it is imported.
    """
    for name in modules or ():
        if "" not in sys.path and "." not in sys.path:
            sys.path.insert(0, "")
        if name.endswith(".py") or "/" in name:
            raise ConfigError(f"--module takes a module's name, such as my_world, not {name!r}")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = f"there is no module {error.name!r}"
            raise ConfigError(f"cannot import {name}: {missing}") from None
        except PiaseError:
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise ConfigError(f"cannot import {name}: {what}") from error
    return modules


# -- completion ---------------------------------------------------------------------------


def complete_worlds(incomplete: str) -> Completions:
    """Complete the names of worlds and ids."""
    names = [(name, world_spec(name).summary) for name in piase_gym.list_worlds()]
    names += [(task, "") for task in piase_gym.list_tasks()]
    return [row for row in names if row[0].lower().startswith(incomplete.lower())]


def complete_settings(ctx: typer.Context, incomplete: str) -> Completions:
    """Complete the keys of the chosen world's config, and the values that can be listed."""
    try:
        spec = look_up(_chosen(ctx)).spec
        model = load(spec.config, spec)
    except PiaseError:
        return []
    rows: Completions = []
    for row in config_rows(model, None):
        key, words = row["key"], {"boolean": "true | false"}.get(row["type"], row["type"])
        if incomplete.startswith(f"{key}=") and re.fullmatch(r"[\w.-]+( \| [\w.-]+)+", words):
            rows += [(f"{key}={choice}", row["description"]) for choice in words.split(" | ")]
        else:
            rows.append((f"{key}=", row["description"]))
    return [row for row in rows if row[0].startswith(incomplete)]


def complete_policies(incomplete: str) -> Completions:
    """Complete the names of policies, also after a seat."""
    seat, _ = split_seat(incomplete)
    before = "" if seat is None else f"{seat}="
    names = (*policies(), *(f"{prefix}:" for prefix in families()))
    return [(before + name, "") for name in names if (before + name).startswith(incomplete)]


def complete_from(entry_point: str) -> Callable[[str], Completions]:
    """Return a completer of the names that ``module:name`` holds or, if it is callable, returns."""

    def complete(incomplete: str) -> Completions:
        found = load(entry_point)
        names = found() if callable(found) else found
        return [(name, "") for name in names if name.startswith(incomplete)]

    return complete


SEAT = re.compile(r"([A-Za-z0-9_.*-]*)=(.*)", re.DOTALL)


def split_seat(word: str) -> tuple[str | None, str]:
    """Return seat and policy of ``agent_1=oracle``; without a seat, ``None`` and the policy.

    A policy may contain a file name with ``=`` in it: ``sb3:runs/lr=0.1/model.zip`` names no seat.
    """
    found = SEAT.fullmatch(word)
    return (found[1], found[2]) if found else (None, word)


def _chosen(ctx: typer.Context) -> Any:
    """Return the world that the command line names so far.

    While the value of an option is missing, the arguments cannot be assigned to parameters; they
    are in `ctx.args` then.
    """
    chosen = ctx.params.get("name") or ctx.params.get("names") or ctx.args
    return chosen if isinstance(chosen, str) else next(iter(chosen), None)


# -- the arguments themselves -------------------------------------------------------------

WorldName = Annotated[
    str,
    typer.Argument(metavar="WORLD|ID", help="A world or an id.", autocompletion=complete_worlds),
]
AnyName = Annotated[
    str,
    typer.Argument(
        metavar="WORLD|ID|SCENARIO",
        help="A world, an id or a scenario.",
        autocompletion=complete_worlds,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        "-c",
        metavar="KEY=VALUE",
        help="Set a field of the config, such as agents=2 or rewards.goal=5; may be repeated.",
        autocompletion=complete_settings,
    ),
]
Modules = Annotated[
    list[str] | None,
    typer.Option(
        "--module",
        "-m",
        metavar="MODULE",
        help="Import a module that registers worlds first; may be repeated.",
        callback=import_modules,
    ),
]


Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="auto|HOST",
        help="A Ray cluster that does the work in place of processes: the one that this machine "
        "is part of, or the one of a host.",
    ),
]


def set_key_env(name: str | None) -> str | None:
    """Let keys of language models come from an environment variable, in workers too.

    Raises:
        ConfigError: If it is not a variable's name; it is not shown, as it may be a key itself.
    """
    if name is not None:
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
            raise ConfigError(
                "--key-env takes the name of an environment variable, such as MY_KEY, not a key"
            )
        os.environ["PIASE_KEY_ENV"] = name
    return name


KeyEnv = Annotated[
    str | None,
    typer.Option(
        "--key-env",
        metavar="NAME",
        help="The environment variable with the key for language models; default OPENAI_API_KEY.",
        callback=set_key_env,
    ),
]


Prompt = Annotated[
    Path | None,
    typer.Option(
        "--prompt", metavar="FILE", help="The system prompt of language models; changes its id."
    ),
]
Tokens = Annotated[
    int | None,
    typer.Option("--tokens", metavar="N", min=0, help="Most tokens of all models together."),
]
LogFile = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Write a PiaAVT log (.jsonl).")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that exists.")]


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


def write_file(path: Path, text: str, force: bool | None = None) -> None:
    """Write a text file that does not exist yet.

    Args:
        path: The file.
        text: Its content.
        force: Whether it may exist already; ``None`` if the command has no ``--force``.

    Raises:
        ConfigError: If it exists already, or cannot be written.
    """
    if force is not None and path.exists() and not path.is_file():
        raise ConfigError(f"{str(path)!r} is no file; give another name")
    if path.exists() and not force:
        other = "" if force is None else ", or --force"
        raise ConfigError(f"{str(path)!r} is there already; give another name{other}")
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {str(path)!r}: {error.strerror}") from None
