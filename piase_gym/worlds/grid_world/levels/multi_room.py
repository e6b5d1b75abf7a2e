"""Rooms, joined by openings, doors, locked doors or gates, as `doors` says.

Locked doors come with one key and gates with one switch, at random places.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, inline
from piase_gym.worlds.grid_world.cells import (
    CLOSED,
    FLOOR,
    GATE,
    KEY,
    LOCKED,
    OPEN,
    SWITCH_OFF,
    WALL,
)
from piase_gym.worlds.grid_world.config import DOORS
from piase_gym.worlds.grid_world.levels.free_cells import draw, place_at, random_free
from piase_gym.worlds.grid_world.rules.events import NO_FREE_CELL
from piase_gym.worlds.grids.windows import cell_at

LAYOUT = 4
LEAST_INSIDE = (3, 3)
PLAIN_RULES = False
TASKS = {
    "MultiRoom-12x12-v1": {"square": 12, "layout": "multi_room"},
    "MultiRoom-Gates-12x12-v1": {
        "square": 12,
        "layout": "multi_room",
        "rooms": 3,
        "doors": "gates",
    },
    "MultiRoom-Locked-12x12-v1": {
        "square": 12,
        "layout": "multi_room",
        "rooms": 3,
        "doors": "locked",
    },
}

OPENINGS, CLOSED_DOORS = DOORS.index("open"), DOORS.index("closed")
LOCKED_DOORS, GATES = DOORS.index("locked"), DOORS.index("gates")
MAX_ROOMS = 16
SPLITS = 12  # attempts to split a room
CLOSED_OR_LIKE = np.zeros(256, np.bool_)
CLOSED_OR_LIKE[np.array([FLOOR, CLOSED, OPEN, LOCKED, GATE])] = True


@helper
def multi_room(s, w, difficulty):
    """Split the grid into rooms again and again; every wall gets one door.

    Locked doors come with one key and gates with one switch, at random places; levels in which
    an agent cannot get to them are drawn again.
    """
    rooms = w.rooms if difficulty < 0.0 else 2 + np.int64((w.rooms - 2) * difficulty + 0.5)
    x0, y0 = np.zeros(MAX_ROOMS, np.int64), np.zeros(MAX_ROOMS, np.int64)
    x1, y1 = np.zeros(MAX_ROOMS, np.int64), np.zeros(MAX_ROOMS, np.int64)
    x0[0], y0[0] = w.border, w.border
    x1[0], y1[0] = w.width - 1 - w.border, w.height - 1 - w.border
    count, keys, switches = 1, 0, 0
    for _ in range(rooms - 1):
        i = widest(x0, y0, x1, y1, count)
        upright = x1[i] - x0[i] >= y1[i] - y0[i]
        low, high = (x0[i], x1[i]) if upright else (y0[i], y1[i])
        start, stop = (y0[i], y1[i]) if upright else (x0[i], x1[i])
        at = wall_place(s, w, upright, low, high, start, stop)
        if at < 0:
            break
        gap = start + draw(s, stop - start + 1)
        code = door_code(s, w)
        for along in range(start, stop + 1):
            x, y = (at, along) if upright else (along, at)
            place_at(s, w, x, y, code if along == gap else WALL)
        keys += code == LOCKED
        switches += code == GATE
        x0[count], y0[count], x1[count], y1[count] = x0[i], y0[i], x1[i], y1[i]
        if upright:
            x1[i], x0[count] = at - 1, at + 1
        else:
            y1[i], y0[count] = at - 1, at + 1
        count += 1
    put_somewhere(s, w, KEY, keys > 0)
    put_somewhere(s, w, SWITCH_OFF, switches > 0)


@inline
def put_somewhere(s, w, code, wanted):
    """Put an object on a random free cell, if it is wanted."""
    if not wanted:
        return
    cell = random_free(s, w, 0, w.width - 1)
    if cell < 0:
        s.fault = NO_FREE_CELL
    else:
        place_at(s, w, cell % w.side, cell // w.side, code)


@helper
def widest(x0, y0, x1, y1, count):
    """Return the room with the longest side."""
    best, length = 0, -1
    for i in range(count):
        here = max(x1[i] - x0[i], y1[i] - y0[i])
        if here > length:
            best, length = i, here
    return best


@helper
def wall_place(s, w, upright, low, high, start, stop):
    """Draw where a wall splits a room without ending at a door; -1 if no place is found."""
    if high - low < 2:
        return -1
    for _ in range(SPLITS):
        at = low + 1 + draw(s, high - low - 1)
        fits = True
        for end in (start - 1, stop + 1):
            x, y = (at, end) if upright else (end, at)
            inside = 0 <= x < w.side and 0 <= y < w.side
            if inside and CLOSED_OR_LIKE[cell_at(s, w, x, y)]:
                fits = False
        if fits:
            return at
    return -1


@inline
def door_code(s, w):
    """Return what joins two rooms."""
    kind = w.doors
    if kind > GATES:
        kind = draw(s, GATES + 1)
    if kind == OPENINGS:
        return FLOOR
    if kind == CLOSED_DOORS:
        return CLOSED
    return LOCKED if kind == LOCKED_DOORS else GATE
