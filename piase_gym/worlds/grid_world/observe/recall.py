"""What an agent remembers: as facts, as bytes of vectors, and as lines of texts. Pure functions.

Agents remember what they saw before and do not see now: cells with their columns and rows, and how
many steps ago they saw them. Equal cells of one moment that form a rectangle are written as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.grid_world.cells import AGENT, CELLS, CODES, NAMES
from piase_gym.worlds.grid_world.form import Form
from piase_gym.worlds.grid_world.rules.memory import OLDEST
from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.grids.nouns import matched, require
from piase_gym.worlds.grids.words import COMPASS


class Recalled(NamedTuple):
    """A cell that an agent has seen.

    Attributes:
        name: What was there: a name of `cells.NAMES`, or an agent as ``agent_1 facing left``, which
            is its heading on the grid.
        position: Column and row.
        ago: How many steps ago that was; 255 also stands for more.
    """

    name: str
    position: tuple[int, int]
    ago: int


def recalled(values: Sequence[int], form: Form) -> tuple[Recalled, ...]:
    """Read what is remembered from the end of a vector, row by row."""
    half, wide = len(values) // 2, form.sizes[0]
    return tuple(
        Recalled(_name(code, form), (at % wide, at // wide), ago)
        for at, (code, ago) in enumerate(zip(values[:half], values[half:], strict=True))
        if code
    )


def vector_of_recalled(cells: Iterable[Recalled], form: Form) -> NDArray[np.uint8]:
    """Return the end of a vector, which holds what is remembered."""
    wide, high = form.sizes
    found = np.zeros((2, high, wide), np.uint8)
    for name, (x, y), ago in cells:
        found[:, y, x] = _code(name, form), ago
    return found.ravel()


def _name(code: int, form: Form) -> str:
    """Return the name of a code that is remembered."""
    if code < AGENT:
        return NAMES[code]
    return f"{form.names[(code - AGENT) >> 2]} facing {HEADINGS[code & 3]}"


def _code(name: str, form: Form) -> int:
    """Undo `_name`."""
    if name in CODES:
        return CODES[name]
    who, facing = name.split(" facing ")
    return AGENT + 4 * form.names.index(who) + HEADINGS.index(facing)


def recall_text(cells: Sequence[Recalled]) -> str:
    """Write what is remembered, the latest first, each moment on a line of its own."""
    moments: dict[int, dict[str, list[tuple[int, int]]]] = {}
    for name, position, ago in cells:
        moments.setdefault(ago, {}).setdefault(name, []).append(position)
    text = ""
    for ago in sorted(moments):
        kinds = sorted(moments[ago].items(), key=lambda kind: _rank(kind[0]))
        parts = [_box_text(name, *box) for name, places in kinds for box in _boxes(places)]
        more = " or more" if ago == OLDEST else ""
        text += f"\nSeen {ago}{more} step{'s' * (ago != 1)} ago: {'; '.join(parts)}."
    return text


def _rank(name: str) -> tuple[int, str]:
    """Put things before walls, and floor last."""
    return {"wall": 1, "floor": 2}.get(name, 0), name


def _boxes(places: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Return the first and last columns and rows of rectangles of places, given row by row."""
    found: list[list[int]] = []
    for x, y in places:
        last = found[-1] if found else None
        if last and last[2] == last[3] == y and last[1] == x - 1:
            last[1] = x
        else:
            found.append([x, x, y, y])
    merged: list[list[int]] = []
    for box in found:
        above = next((b for b in merged if b[:2] == box[:2] and b[3] == box[2] - 1), None)
        if above:
            above[3] = box[3]
        else:
            merged.append(box)
    return [(a, b, c, d) for a, b, c, d in merged]


def _box_text(name: str, first: int, last: int, top: int, bottom: int) -> str:
    """Write what was in a rectangle."""
    many = (first, top) != (last, bottom)
    if " facing " in name:
        who, facing = name.split(" facing ")
        noun = f"{who} (facing {COMPASS[HEADINGS.index(facing)]})"
    else:
        noun = CELLS.nouns.noun(name, plural=many)
    columns = f"columns {first} to {last}" if last > first else f"column {first}"
    rows = f"rows {top} to {bottom}" if bottom > top else f"row {top}"
    return f"{noun} at {columns}, {rows}"


MOMENT = re.compile(r"Seen (\d+)( or more)? steps? ago: (.+)\.")
_BOX = re.compile(r"(.+) at columns? (\d+)(?: to (\d+))?, rows? (\d+)(?: to (\d+))?")
_AGENT = re.compile(r"(\S+) \(facing (\w+)\)")


def read_moment(match: re.Match[str], line: str, form: Form) -> list[Recalled]:
    """Read the cells of one line, a match of `MOMENT`.

    Raises:
        TextParseError: If the line says something impossible.
    """
    ago, (wide, high) = int(match.group(1)), form.sizes
    _require(form.recall > 0, line, "nobody remembers anything under this config")
    fits = 1 <= ago <= OLDEST and (ago == OLDEST) == bool(match.group(2))
    _require(fits, line, f"steps are 1 to {OLDEST}, and {OLDEST} or more")
    found = []
    for item in match.group(3).split("; "):
        box = matched("GridWorld", _BOX, item, line, "places are 'a key at column 2, row 3'")
        first, top = int(box.group(2)), int(box.group(4))
        last, bottom = int(box.group(3) or first), int(box.group(5) or top)
        fits = first <= last < wide and top <= bottom < high
        _require(fits, line, f"there are {wide} columns and {high} rows")
        many = (first, top) != (last, bottom)
        name = _read_name(box.group(1), many, line, form)
        for y in range(top, bottom + 1):
            found += [Recalled(name, (x, y), ago) for x in range(first, last + 1)]
    return found


def _read_name(noun: str, many: bool, line: str, form: Form) -> str:
    """Return the name of what was seen."""
    if match := _AGENT.fullmatch(noun):
        who, facing = match.groups()
        known = who in form.names and facing in COMPASS and not many
        _require(known, line, "there is no such agent")
        return f"{who} facing {HEADINGS[COMPASS.index(facing)]}"
    names = {CELLS.nouns.noun(name, plural=many): name for name in CODES}
    _require(noun in names, line, f"there are {', '.join(names)}")
    return names[noun]


def in_order(cells: list[Recalled], line: str) -> tuple[Recalled, ...]:
    """Return cells row by row, after a check that none is remembered twice."""
    places = {cell.position for cell in cells}
    _require(len(places) == len(cells), line, "a cell is remembered once")
    return tuple(sorted(cells, key=lambda cell: cell.position[::-1]))


def _require(condition: bool, line: str, allowed: str) -> None:
    """Raise a `TextParseError` that shows the line and what is allowed."""
    require("GridWorld", condition, line, allowed)
