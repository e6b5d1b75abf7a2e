"""The rows of columns ahead of an agent, in words, and the way back. Pure functions.

A line tells of one row, or of several that are equal, the nearest first; runs of equal columns are
named from left to right: ``2 ahead: dark 3 to 2 left; walls 0 to 2 right.`` Columns that are
not mentioned are floor, or in a row that begins with ``dark but`` dark; whichever is shorter is
written. Rows beyond the last that is mentioned are dark.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final

from piase_gym.errors import TextParseError
from piase_gym.worlds.grids.nouns import require
from piase_gym.worlds.object_search.form import Form
from piase_gym.worlds.object_search.geometry import MIDDLE, SIDE

Row = tuple[str, ...] | bytes
"""The columns of a row: their names, or their codes."""
AHEAD: Final = "straight ahead"
ACROSS: Final = "all across"
DARK: Final = "dark"
BARE: Final = f"floor {ACROSS}"
_WIDE: Final = [min(number, MIDDLE) for number in range(1, SIDE)]
"""How many columns to each side lie ahead, of each row from the nearest on."""
_AHEAD: Final = {
    (first, last): f"\n{first if first == last else f'{first} to {last}'} ahead: "
    for last in range(1, SIDE)
    for first in range(1, last + 1)
}
"""How lines about rows begin."""


def rows_text(rows: Sequence[Row], form: Form) -> str:
    """Write what is in the rows ahead, each line after a line break.

    Rows look alike again and again, so what is said of them is remembered.

    Args:
        rows: Rows from the farthest that is not dark (or farther) to the agent's own, of names, or
            of codes as bytes (which is faster).
        form: What columns are called.
    """
    told = [_row(form, wide, row) for wide, row in zip(_WIDE, rows[-2::-1], strict=False)]
    while told and told[-1] == DARK:
        told.pop()
    first, last, lines = 1, len(told), []
    for number, words in enumerate(told, 1):
        if number < last and words == told[number]:
            continue
        if words:
            lines.append(f"{_AHEAD[first, number]}{words}.")
        elif number == last:
            lines.append(f"{_AHEAD[number, number]}{BARE}.")
        first = number + 1
    return "".join(lines)


@functools.lru_cache(maxsize=8192)
def _row(form: Form, wide: int, row: Row) -> str:
    """Write one row, of which so many columns to each side lie ahead; nothing if it is bare."""
    cells = [form.cell_names[cell] if isinstance(cell, int) else cell for cell in row]
    floor, dark = (_runs(form, wide, cells, rest) for rest in ("floor", "unseen"))
    but = f"{DARK} but {dark}" if dark else DARK
    return but if len(but) < len(floor) else floor


def _runs(form: Form, wide: int, cells: Sequence[str], rest: str) -> str:
    """Write the runs of equal columns of a row but for one kind."""
    told = [c if abs(k - MIDDLE) <= wide else rest for k, c in enumerate(cells)]
    runs, start = [], 0
    for end, name in enumerate(told):
        if end == SIDE - 1 or told[end + 1] != name:
            if name != rest:
                runs.append(f"{form.nouns.noun(name, plural=start != end)} {_where(start, end)}")
            start = end + 1
    return "; ".join(runs)


@functools.lru_cache(maxsize=256)
def _where(start: int, end: int) -> str:
    """Write from which column to which something reaches; 0 is straight ahead."""
    if (start, end) == (0, SIDE - 1):
        return ACROSS
    first, last = start - MIDDLE, end - MIDDLE
    if first == last:
        return f"{abs(first)} {'left' if first < 0 else 'right'}" if first else AHEAD
    if first < 0 < last:
        return f"{-first} left to {last} right"
    return f"{-first} to {-last} left" if first < 0 else f"{first} to {last} right"


_PLACES: Final = {_where(a, b): (a, b) for a in range(SIDE) for b in range(a, SIDE)}
"""Everything that `_where` writes."""
ROW: Final = re.compile(r"(\d+)(?: to (\d+))? ahead: (.*)\.")
"""A line about a row, or about several equal ones."""
_ITEM: Final = re.compile(rf"(.+?) ({'|'.join(sorted(_PLACES, key=len, reverse=True))})")


def read_row(line: str, cells: list[list[str]], form: Form) -> int:
    """Enter what one line tells into a window of names; return the number of its last row.

    Raises:
        TextParseError: If it is no such line.
    """
    match = ROW.fullmatch(line)
    if match is None:
        raise TextParseError(f"{form.world}: cannot read {line[:80]!r}")
    first, last = int(match.group(1)), int(match.group(2) or match.group(1))
    require(form.world, 0 < first <= last < SIDE, line, "that row is not in view")
    said = match.group(3)
    if said == DARK or said.startswith(f"{DARK} but "):
        for row in range(SIDE - 1 - last, SIDE - first):
            cells[row] = ["unseen"] * SIDE
        said = said[len(f"{DARK} but ") :]
    for item in said.split("; ") if said else ():
        found = _ITEM.fullmatch(item)
        if found is None:
            told = f"cannot read {item[:60]!r} in {line[:80]!r}"
            raise TextParseError(f"{form.world}: {told}; columns are '2 left', '3 to 1 left'")
        name = _read_noun(found.group(1), line, form)
        start, end = _PLACES[found.group(2)]
        for row in range(SIDE - 1 - last, SIDE - first):
            cells[row][start : end + 1] = [name] * (end + 1 - start)
    return last


def _read_noun(noun: str, line: str, form: Form) -> str:
    """Read a noun, with or without its article, singular or plural."""
    bare = noun.removeprefix("a ").removeprefix("an ")
    for name in (form.nouns.from_mass.get(noun), bare, bare.removesuffix("s")):
        if name in form.cell_codes:
            return str(name)
    told = f"nothing is called {noun!r} in {line[:80]!r}; there are {', '.join(form.cell_codes)}"
    raise TextParseError(f"{form.world}: {told}")
