"""Arguments that several commands share, and how they are read and completed.

Groups of commands use the same names, so that ``-c`` and ``-m`` mean the same everywhere.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import piase_gym
from piase_gym.agents import policies
from piase_gym.agents.policy_registry import families
from piase_gym.errors import ConfigError, PiaseError
from piase_gym.names import look_up
from piase_gym.play.describing import config_rows
from piase_gym.play.settings import split_seat
from piase_gym.registry import load, world_spec

Completions = list[tuple[str, str]]


def search_working_directory() -> None:
    """Let modules in the working directory be imported, as Python itself does for scripts."""
    if "" not in sys.path and "." not in sys.path:
        sys.path.insert(0, "")


def import_modules(modules: Sequence[str] | None) -> Sequence[str] | None:
    """Import the modules that register worlds; the working directory is searched too.

    This happens as soon as ``--module`` is read, even when a line is only being completed.

    Raises:
        ConfigError: If a module cannot be found or fails when it is imported.
    """
    for name in modules or ():
        search_working_directory()
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
