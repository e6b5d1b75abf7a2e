"""Maps of your own, as text: one sign per cell, one line per row, in the field `map`."""

from __future__ import annotations

import functools
from typing import Any, Final

from piase_gym.errors import ConfigError
from piase_gym.worlds.grid_world.cells import FLOOR, OUTSIDE, START, SYMBOLS
from piase_gym.worlds.grid_world.limits import MAX_SIDE

LAYOUT = 8
PLAIN_RULES = False
_CODES: Final = {sign: code for code, sign in SYMBOLS.items() if code != OUTSIDE}


def split(given: Any) -> tuple[str, ...]:
    """Return the rows of a map, given as one string or as several.

    Empty lines before and after the map are left out, and so is common indentation.

    Raises:
        ConfigError: If rows differ in length, a sign is unknown, or the map is too large.
    """
    lines = given.splitlines() if isinstance(given, str) else given
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise ConfigError(f"GridWorld.map must be text or a list of rows, not {given!r:.60}")
    rows = [line.strip() for line in lines]
    while rows and not rows[0]:
        rows.pop(0)
    while rows and not rows[-1]:
        rows.pop()
    if not 2 <= len(rows) <= MAX_SIDE or not 2 <= len(rows[0]) <= MAX_SIDE:
        size = f"{len(rows[0]) if rows else 0} by {len(rows)}"
        raise ConfigError(f"GridWorld.map has {size} cells; allowed: 2 to {MAX_SIDE} a side")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ConfigError(
                f"GridWorld.map: row {number} has {len(row)} cells, but row 0 has {len(rows[0])}"
            )
        for column, sign in enumerate(row):
            if sign not in _CODES and sign != START:
                known = " ".join((*_CODES, START))
                raise ConfigError(
                    f"GridWorld.map: unknown sign {sign!r} in row {number}, column {column}; "
                    f"known are {known}"
                )
    return tuple(rows)


@functools.lru_cache(maxsize=256)
def _objects(rows: tuple[str, ...]) -> dict[tuple[int, int], int]:
    """Return what stands on a map, by place."""
    cells = {(x, y): _CODES.get(s, FLOOR) for y, row in enumerate(rows) for x, s in enumerate(row)}
    return {place: code for place, code in cells.items() if code != FLOOR}


def plan(rows: tuple[str, ...] | None) -> dict[tuple[int, int], int]:
    """Return the objects of a map, by place (x, y)."""
    return _objects(rows) if rows else {}


def starts(rows: tuple[str, ...] | None) -> tuple[tuple[int, int], ...]:
    """Return the starts of agents on the map, row by row."""
    return tuple(
        (x, y) for y, row in enumerate(rows or ()) for x, sign in enumerate(row) if sign == START
    )
