"""The columns ahead of an agent, in words, and the way back. Pure functions.

Columns are listed kind by kind, the nearest first, by rows and the places in them: ``Walls 1 to 2
ahead, 1 right; 4 ahead, all across.`` Rows without a place mean straight ahead; ``all across`` is
as wide as the view there. A column that is not mentioned is dark if a wall, tall furniture or
something dark stands on the line to it, else bare floor. So most dark columns are never mentioned.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from piase_gym.errors import TextParseError
from piase_gym.worlds.grids.codes import FLOOR, OUTSIDE, UNSEEN, WALL
from piase_gym.worlds.grids.nouns import matched, require
from piase_gym.worlds.object_search.codes import HEIGHT, LOW, TALL
from piase_gym.worlds.object_search.form import Form
from piase_gym.worlds.object_search.geometry import (
    AHEAD,
    AHEAD_OF,
    AREA,
    BETWEEN,
    MIDDLE,
    OWN,
    SIDE,
    WEDGE,
)

TITLES: Final = {
    WALL: "Walls",
    LOW: "Low furniture",
    TALL: "Tall furniture",
    OUTSIDE: "Outside",
    UNSEEN: "Dark",
    FLOOR: "Floor",
}
"""How the lines about each kind of column begin."""
STRAIGHT: Final = "straight ahead"
ACROSS: Final = "all across"
_HIDING: Final = bytes(48 + (high >= HEIGHT[TALL]) for high in HEIGHT.tolist())
"""By code: whether a column is taken to hide what is behind it, as the digit 0 or 1. The level of
the agent has no part in it, so that a text with another level mentions the same columns."""
_LINES: Final = [(int(t), int(line)) for t, line in zip(WEDGE, BETWEEN, strict=True)]
"""The columns ahead, each with the columns between, the farthest first."""


def expected(cells: bytes, sight: int) -> bytes:
    """Return what columns are taken for if they are not mentioned: floor, or unseen.

    Args:
        cells: The codes of a window, row by row from the farthest.
        sight: How far its agent sees, in columns.
    """
    hiding = int(cells.translate(_HIDING)[::-1], 2)
    found, near = bytearray([UNSEEN]) * AREA, int(AHEAD_OF[sight])
    for column, between in _LINES:
        if near >> column & 1 and not between & hiding:
            found[column] = FLOOR
    return bytes(found)


def window_text(cells: bytes, sight: int) -> str:
    """Write what fills the columns ahead, each line after a line break; see `expected`."""
    taken, by_code = expected(cells, sight), dict[int, list[tuple[int, str]]]()
    for ahead in range(1, SIDE):
        row = slice((SIDE - 1 - ahead) * SIDE, (SIDE - ahead) * SIDE)
        for code, place in _places(cells[row], taken[row], min(ahead, MIDDLE)):
            by_code.setdefault(code, []).append((ahead, place))
    return "".join(f"\n{TITLES[code]} {_items_text(found)}." for code, found in by_code.items())


@functools.lru_cache(maxsize=8192)
def _places(row: bytes, taken: bytes, wide: int) -> list[tuple[int, str]]:
    """Return the runs of equal columns in a row that differ from what they are taken for."""
    runs = groupby(range(SIDE), key=lambda k: None if row[k] == taken[k] else row[k])
    found = [(code, [*columns]) for code, columns in runs if code is not None]
    return [(code, _place(columns[0], columns[-1], wide)) for code, columns in found]


@functools.lru_cache(maxsize=256)
def _place(start: int, end: int, wide: int) -> str:
    """Write from which column to which something reaches; 0 is straight ahead."""
    first, last = start - MIDDLE, end - MIDDLE
    if (first, last) == (-wide, wide):
        return ACROSS
    if first == last:
        return f"{abs(first)} {'left' if first < 0 else 'right'}" if first else STRAIGHT
    if first < 0 < last:
        return f"{-first} left to {last} right"
    return f"{-last} to {-first} left" if first < 0 else f"{first} to {last} right"


def _items_text(found: Sequence[tuple[int, str]]) -> str:
    """Write where the columns of a kind are: rows, and the places in them."""
    parts = []
    for (first, last), spans in groupby(sorted(_spans(found), key=_rows_of), key=_rows_of):
        places = _listed([place for _, _, place in spans])
        rows = f"{first if first == last else f'{first} to {last}'} ahead"
        parts.append(rows if places == STRAIGHT else f"{rows}, {places}")
    return "; ".join(parts)


def _listed(places: list[str]) -> str:
    """Join places; if two differ only in their side, their distance is written once."""
    first, last = places[0], places[-1]
    alike = len(places) == 2 and last == first.replace(" left", " right")
    return f"{first} and right" if alike else " and ".join(places)


def _spans(found: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Yield the first and the last of each run of rows with the same place, and the place."""
    for ahead, place in found:
        if (ahead - 1, place) not in found:
            last = ahead
            while (last + 1, place) in found:
                last += 1
            yield ahead, last, place


def _rows_of(span: tuple[int, int, str]) -> tuple[int, int]:
    return span[:2]


# -- reading ------------------------------------------------------------------------------

ROW: Final = re.compile(rf"({'|'.join(TITLES.values())}) (\d.*)\.")
"""A line about a kind of column."""
_ITEM: Final = re.compile(r"([1-6])(?: to ([1-6]))? ahead(?:, (.+))?")
_COLUMNS: Final = {
    (_place(a, b, wide), wide): range(a, b + 1)
    for wide in range(1, MIDDLE + 1)
    for a in range(MIDDLE - wide, MIDDLE + wide + 1)
    for b in range(a, MIDDLE + wide + 1)
}
"""A place, and how far its row reaches to each side -> the columns that it stands for."""
_PLACES: Final = "columns in view are '2 ahead, 1 to 2 left'"
_CODES: Final = {title: code for code, title in TITLES.items()}


def read_window(lines: Sequence[str], below: int, form: Form) -> bytes:
    """Read the lines of `window_text` back into the codes of a window.

    Args:
        lines: The lines.
        below: The code of the agent's own column.
        form: The form of the config.

    Raises:
        TextParseError: If they are not what is written of any window.
    """
    sight = form.config.sight
    codes = {column: code for line in lines for column, code in _read_line(line, form)}
    cells = bytearray([UNSEEN]) * AREA
    cells[OWN] = below
    for ahead in range(1, SIDE):
        taken = expected(bytes(cells), sight)
        for column, _ in _LINES:
            if AHEAD[column] == ahead:
                cells[column] = codes.get(column, taken[column])
    found = bytes(cells)
    wanted = window_text(found, sight)
    said = "".join(f"\n{line}" for line in lines)
    require(form.world, said == wanted, " ".join(lines), f"this is told as {wanted.strip()!r}")
    return found


def _read_line(line: str, form: Form) -> Iterator[tuple[int, int]]:
    """Yield the columns that a line mentions, with their codes."""
    match = ROW.fullmatch(line)
    if match is None:
        raise TextParseError(f"{form.world}: cannot read {line[:80]!r}")
    for words in match.group(2).split("; "):
        first, last, places = matched(form.world, _ITEM, words, line, _PLACES).groups()
        for ahead in range(int(first), int(last or first) + 1):
            for place in _unlisted(places or STRAIGHT):
                columns = _COLUMNS.get((place, min(ahead, MIDDLE)))
                require(form.world, columns is not None, line, _PLACES)
                for column in columns or ():
                    yield (SIDE - 1 - ahead) * SIDE + column, _CODES[match.group(1)]


def _unlisted(words: str) -> list[str]:
    """Return the places that `_listed` joined."""
    first, *rest = words.split(" and ")
    return [first, first.replace(" left", " right")] if rest == ["right"] else [first, *rest]
