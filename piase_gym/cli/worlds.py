"""``piase worlds``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer
from rich.text import Text

import piase_gym
from piase_gym.cli.console import console, say
from piase_gym.cli.options import Modules, complete_worlds
from piase_gym.names import look_up
from piase_gym.registry import world_spec


def worlds(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[WORLD]", help="Only this world.", autocompletion=complete_worlds),
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print bare ids, one a line.")] = False,
    module: Modules = None,
) -> None:
    """List the worlds and their ids."""
    chosen = piase_gym.list_worlds() if name is None else (look_up(name).spec.name,)
    if ids:
        for world in chosen:
            for task in sorted(piase_gym.list_tasks(world), key=_natural):
                typer.echo(task)
        return
    for number, world in enumerate(chosen):
        if number:
            console.print()
        console.print(Text.assemble((world, "bold cyan"), f"  {world_spec(world).summary}"))
        for line in grouped(piase_gym.list_tasks(world)):
            say(f"  {line}", "green")
    if console.is_terminal:
        console.print(Text("\npiase info WORLD tells more, piase play WORLD plays it.", "dim"))


def grouped(ids: Iterable[str]) -> list[str]:
    """Return ids with those that differ in one part on one line, as ``piase/A-{5x5,6x6}-v0``.

    A shell expands such a line again.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for task in sorted(ids, key=_natural):
        found = re.fullmatch(r"(.+)-([^-]+)-(v\d+)", task)
        key = (found[1], found[3]) if found else (task, "")
        groups.setdefault(key, []).append(found[2] if found else "")
    return [
        "-".join(word for word in (stem, _braced(row), version) if word)
        for (stem, version), parts in groups.items()
        for row in _rows(parts, LINE - len(stem) - len(version) - 4)
    ]


LINE = 76
"""Longest line of grouped ids, so that they fit a terminal of 80 columns."""


def _braced(parts: Sequence[str]) -> str:
    """Return parts in braces, which a shell expands; a single one stays as it is."""
    return parts[0] if len(parts) == 1 else f"{{{','.join(parts)}}}"


def _rows(parts: Sequence[str], width: int) -> list[list[str]]:
    """Distribute parts over rows that are no longer than `width`, if possible."""
    rows: list[list[str]] = [[]]
    for part in parts:
        if rows[-1] and len(",".join((*rows[-1], part))) > width:
            rows.append([])
        rows[-1].append(part)
    return rows


def _natural(text: str) -> list[tuple[bool, int, str]]:
    """Return a key that sorts 8x8 before 16x16."""
    parts = re.findall(r"\d+|\D+", text)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]
