"""Cells of a grid in words: rows of what an agent sees, written as prose and read back. Pure.

A frame is a window turned to the viewer's heading, or a whole grid. What is not mentioned is floor.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from piase_gym.errors import TextParseError

YOU: Final = "you"
"""The viewer's own cell in a window."""
Row = tuple[str, ...] | bytes
"""A row of cells: their names, or their codes."""


@dataclass(frozen=True, eq=False)
class Nouns:
    """What cells are called.

    Attributes:
        mass: Names of cells that take no article, and their nouns.
        plurals: Names of cells whose plural is irregular, and their plurals.
    """

    mass: Mapping[str, str]
    plurals: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def from_mass(self) -> Mapping[str, str]:
        """The names of nouns without an article."""
        return {noun: name for name, noun in self.mass.items()}

    @functools.cached_property
    def singulars(self) -> Mapping[str, str]:
        """The names of irregular plurals."""
        return {plural: name for name, plural in self.plurals.items()}

    def noun(self, name: str, plural: bool = False) -> str:
        """Return the noun for a cell, with its article, or its plural."""
        if name in self.mass:
            return self.mass[name]
        if " facing " in name:
            return name
        article = "an" if name[0] in "aeiou" else "a"
        return self.plurals.get(name, f"{name}s") if plural else f"{article} {name}"


class Frame(Protocol):
    """Where cells lie in what an agent is shown.

    Attributes:
        world: The world's name, for errors.
        whole_grid: Whether a whole grid is shown, not a window.
        rows: How many rows there are in the frame.
        columns: How many columns.
        shown: The rows and the columns that can show anything under the config.
        names: The agents.
        nouns: What cells are called.
        cell_names: The names of all cells, by their codes.
        cell_codes: The codes of all cells, by their names.
    """

    world: str
    whole_grid: bool
    rows: int
    columns: int
    shown: tuple[range, range]
    names: tuple[str, ...]
    nouns: Nouns
    cell_names: tuple[str, ...]
    cell_codes: dict[str, int]

    def __hash__(self) -> int:
        """Return a number, so that lines can be remembered by frame."""


def way(steps: int, positive: str, negative: str) -> str:
    """Write an offset as ``3 right`` or ``2 left``."""
    return f"{steps} {positive}" if steps >= 0 else f"{-steps} {negative}"


def cell_text(rows: Sequence[Row], form: Frame) -> str:
    """Describe the frame, nearest row first in a window; equal rows share a line.

    Rows look alike again and again, so their lines are remembered.

    Args:
        rows: All rows from the top, of names, or of codes as bytes (which is faster).
        form: Where cells lie.

    Returns:
        The lines, each with a line break before it.
    """
    shown = form.shown[0]
    if form.whole_grid:
        told, start, text = rows[shown.start : shown.stop], shown.start, ""
    else:  # the viewer's own row is alone
        told, start = rows[shown.start : shown.stop - 1][::-1], 1
        text = _line(form, 0, 0, rows[-1])
    first, before = start, told[0] if told else None
    for number, row in enumerate(told, start):
        if row != before:
            text += _line(form, first, number - 1, before)
            first, before = number, row
    return text + _line(form, first, start + len(told) - 1, before) if before else text


@functools.lru_cache(maxsize=8192)
def _line(form: Frame, first: int, last: int, row: Row) -> str:
    """Describe one row or several that are equal, after a line break; empty ones not at all."""
    text = _row_text(row, form)
    if not text:
        return ""
    span = f"{first}" if first == last else f"{first} to {last}"
    if form.whole_grid:
        return f"\nRow{'s' if first != last else ''} {span}: {text}."
    return f"\n{'Beside you' if first == last == 0 else f'{span} ahead'}: {text}."


@functools.lru_cache(maxsize=8192)
def _row_text(row: Row, form: Frame) -> str:
    """Describe what stands in the shown columns of a row, leaving out floor and the viewer."""
    columns, nouns = form.shown[1], form.nouns
    middle = None if form.whole_grid else form.columns // 2
    names = form.cell_names
    cells = [names[cell] if isinstance(cell, int) else cell for cell in row]
    parts = []
    start = columns.start
    while start < columns.stop:
        end = start
        while end + 1 < columns.stop and cells[end + 1] == cells[start]:
            end += 1
        if cells[start] not in ("floor", YOU):
            across = range(start, end + 1) == columns
            parts.append(_run_text(nouns, cells[start], start, end, middle, across))
        start = end + 1
    return "; ".join(parts)


def _run_text(
    nouns: Nouns, name: str, start: int, end: int, middle: int | None, across: bool
) -> str:
    """Describe equal neighbours: ``a wall 2 left``, ``walls from 3 left to 1 right``."""
    if start == end:
        return f"{nouns.noun(name)} {_column_text(start, middle)}"
    if across:
        return f"{nouns.noun(name, plural=True)} all across"
    first, last = _column_text(start, middle), _column_text(end, middle)
    return f"{nouns.noun(name, plural=True)} from {first} to {last}"


def _column_text(column: int, middle: int | None) -> str:
    """Name a column of the frame."""
    if middle is None:
        return f"column {column}"
    return way(column - middle, "right", "left") if column != middle else "straight ahead"


ROW = re.compile(r"(?:(Beside you)|Rows? (\d+)(?: to (\d+))?|(\d+)(?: to (\d+))? ahead): (.*)\.")
"""A line about a row, or about several equal ones."""
_ITEMS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(.+) all across",
        r"(.+) from (.+) to (.+)",
        r"(.+?) ((?:column )?\d+(?: \w+)?|straight ahead)",
    )
)
SIGNS = {"ahead": 1, "behind": -1, "down": 1, "up": -1, "right": 1, "left": -1}


def require(world: str, condition: bool, line: str, allowed: str) -> None:
    """Raise a `TextParseError` that shows the line and what is allowed."""
    if not condition:
        raise TextParseError(f"{world}: cannot read {line[:80]!r}; {allowed}")


def blank(form: Frame) -> list[list[str]]:
    """Return a frame in which nothing is mentioned."""
    rows, columns = form.shown
    unshown = "outside" if form.whole_grid else "unseen"
    return [
        ["floor" if r in rows and c in columns else unshown for c in range(form.columns)]
        for r in range(form.rows)
    ]


def read_row(match: re.Match[str], line: str, cells: list[list[str]], form: Frame) -> None:
    """Enter what one line tells into the frame."""
    if form.whole_grid:
        first, last = int(match.group(2) or 0), int(match.group(3) or match.group(2) or 0)
        rows = range(first, last + 1)
    else:
        first = int(match.group(4) or 0)
        last = int(match.group(5) or match.group(4) or 0)
        rows = range(form.rows - 1 - last, form.rows - first)
    require(form.world, rows.start >= 0 and rows.stop <= form.rows, line, "that row is not in view")
    for item in match.group(6).split("; "):
        name, start, end = _read_item(item, line, form)
        for row in rows:
            cells[row][start : end + 1] = [name] * (end + 1 - start)


def _read_item(item: str, line: str, form: Frame) -> tuple[str, int, int]:
    """Read one run: its cell name, first column and last column."""
    match = next((found for form_ in _ITEMS if (found := form_.fullmatch(item))), None)
    if match is None:
        raise TextParseError(f"{form.world}: cannot read {item[:60]!r} in {line[:80]!r}")
    name = _read_noun(match.group(1), line, form)
    groups = match.groups()
    if len(groups) == 1:
        columns = form.shown[1]
        return name, columns.start, columns.stop - 1
    start = _read_column(groups[1], line, form)
    end = _read_column(groups[-1], line, form)
    require(form.world, start <= end, line, "a run goes from left to right")
    return name, start, end


def _read_column(words: str, line: str, form: Frame) -> int:
    """Read the name of a column."""
    match = re.fullmatch(r"straight ahead|column (\d+)|(\d+) (left|right)", words)
    require(
        form.world, match is not None, line, "columns are '2 left', 'straight ahead' or 'column 2'"
    )
    assert match is not None
    if match.group(1) is not None:
        column = int(match.group(1))
    elif match.group(2) is not None:
        column = form.columns // 2 + int(match.group(2)) * SIGNS[match.group(3)]
    else:
        column = form.columns // 2
    require(form.world, 0 <= column < form.columns, line, "that column is not in view")
    return column


def _read_noun(noun: str, line: str, form: Frame) -> str:
    """Read a noun, with or without its article, singular or plural."""
    bare = noun.removeprefix("a ").removeprefix("an ")
    for name in (
        form.nouns.from_mass.get(noun),
        bare,
        form.nouns.singulars.get(bare),
        bare.removesuffix("s"),
    ):
        if name in form.cell_codes:
            return str(name)
    kinds = [n for n in form.cell_codes if " facing " not in n]
    kinds += [f"{name} facing ..." for name in form.names]
    raise TextParseError(
        f"{form.world}: nothing is called {noun!r} in {line[:80]!r}; there are {', '.join(kinds)}"
    )
