"""Arguments that several commands share: worlds, settings, modules; and their completion.

Other groups of commands use the same names, so that ``-c`` and ``-m`` mean the same everywhere.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

import piase_gym
from piase_gym.agents import policies
from piase_gym.agents.policy_registry import families
from piase_gym.errors import ConfigError, PiaseError
from piase_gym.names import look_up
from piase_gym.registry import load, world_spec

Completions = list[tuple[str, str]]


def import_modules(modules: Iterable[str] | None) -> None:
    """Import the modules that register worlds; the working directory is searched too.

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


# -- completion ---------------------------------------------------------------------------


def complete_worlds(ctx: typer.Context, incomplete: str) -> Completions:
    """Complete the names of worlds and ids."""
    _import_quietly(ctx)
    names = [(name, world_spec(name).summary) for name in piase_gym.list_worlds()]
    names += [(task, "") for task in piase_gym.list_tasks()]
    return [row for row in names if row[0].lower().startswith(incomplete.lower())]


def complete_settings(ctx: typer.Context, incomplete: str) -> Completions:
    """Complete the keys of the chosen world's config, and the values that can be listed."""
    _import_quietly(ctx)
    try:
        spec = look_up(_chosen(ctx)).spec
        model = load(spec.config, spec)
    except PiaseError:
        return []
    rows: Completions = []
    for key, field in _leaves(model):
        choices = _choices(field.annotation)
        if incomplete.startswith(f"{key}=") and choices:
            rows += [(f"{key}={choice}", field.description or "") for choice in choices]
        else:
            rows.append((f"{key}=", field.description or ""))
    return [row for row in rows if row[0].startswith(incomplete)]


def complete_policies(incomplete: str) -> Completions:
    """Complete the names of policies, also behind a seat."""
    seat, start = split_seat(incomplete)
    names = (*policies(), *(f"{prefix}:" for prefix in families()))
    before = "" if seat is None else f"{seat}="
    return [(before + name, "") for name in names if name.startswith(start)]


SEAT = re.compile(r"([A-Za-z0-9_.*-]*)=(.*)", re.DOTALL)


def split_seat(word: str) -> tuple[str | None, str]:
    """Return seat and policy of ``agent_1=oracle``; without a seat, ``None`` and the policy.

    A policy may have a file's name with ``=`` in it: ``sb3:runs/lr=0.1/model.zip`` names no seat.
    """
    found = SEAT.fullmatch(word)
    return (found[1], found[2]) if found else (None, word)


def _import_quietly(ctx: typer.Context) -> None:
    """Import what ``--module`` names; a completion is no place for errors."""
    try:
        import_modules(ctx.params.get("module"))
    except PiaseError:
        return


def _chosen(ctx: typer.Context) -> Any:
    """Return the world that the command line names so far.

    An option whose value is still missing keeps the arguments from being told apart; they lie in
    `ctx.args` then.
    """
    chosen = ctx.params.get("name") or ctx.params.get("names") or ctx.args
    return chosen if isinstance(chosen, str) else next(iter(chosen), None)


def _leaves(model: Any, before: str = "") -> list[tuple[str, Any]]:
    """Return the fields of a model and of the models in it, nested ones as ``outer.inner``."""
    rows = []
    for key, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and hasattr(inner, "model_fields"):
            rows += _leaves(inner, f"{before}{key}.")
        elif key != "envelope":
            rows.append((f"{before}{key}", field))
    return rows


def _choices(annotation: Any) -> list[str]:
    """Return the values of an annotation that can be listed."""
    if annotation is bool:
        return ["true", "false"]
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    return []


# -- the arguments themselves -------------------------------------------------------------

WorldName = Annotated[
    str,
    typer.Argument(metavar="WORLD|ID", help="A world or an id.", autocompletion=complete_worlds),
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
    ),
]

__all__ = [
    "Modules",
    "Settings",
    "WorldName",
    "complete_policies",
    "complete_settings",
    "complete_worlds",
    "import_modules",
    "split_seat",
]
