"""What agents see from where they are, and who has looked at what. Compiled.

See `piase_gym.worlds.object_search.geometry` for the sets of columns. What is seen is worked out
once a step, after everybody has moved; vectors and reports are copied from it.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, hot, inline, load, load64, store, store64
from piase_gym.worlds.grids.windows import DX, DY
from piase_gym.worlds.object_search.codes import HEIGHT, LEVELS
from piase_gym.worlds.object_search.geometry import (
    AHEAD,
    AHEAD_OF,
    AREA,
    ASIDE,
    BETWEEN,
    BLOCKING,
    IN_VIEW,
    MIDDLE,
    OWN,
    SIDE,
    WEDGE,
)
from piase_gym.worlds.object_search.state import ROOM

_0, _1, _3, _4, _7, _56 = (np.uint64(n) for n in (0, 1, 3, 4, 7, 56))
EACH = np.uint64(0x01010101010101)
GATHER = np.uint64(0x0102040810204080)
"""Multiplied by a word whose bytes are 0 or 1, it moves them to the upper byte, a bit each."""


@inline
def heights(s, w, a):
    """Return the columns of the window of agent `a` that are filled at least 1, 2 and 3 cells."""
    stride = np.int64(w.map_stride)
    start = s.at[a, s.heading[a]] - (SIDE - 1) * stride - MIDDLE
    one, two, three = _0, _0, _0
    for row in range(SIDE):
        word, shift = load64(s.maps, start + stride * row), np.uint64(SIDE * row)
        one |= (((word >> _3 & EACH) * GATHER) >> _56) << shift
        two |= (((word >> _4 & EACH) * GATHER) >> _56) << shift
        three |= (((word & EACH) * GATHER) >> _56) << shift
    return one | three, two | three, three


@inline
def hidden(eye, level, column, one, two, three):
    """Tell whether the line to a cell of a column is not clear."""
    found = BLOCKING[eye, level, column, 0] & one | BLOCKING[eye, level, column, 1] & two
    return found | BLOCKING[eye, level, column, 2] & three != _0


@hot
def look(s, w, a):
    """Work out what agent `a` sees now, and note that it has looked there."""
    if w.house:
        look_around(s, w, a)
    else:
        s.seen[a] = s.shelf[s.x[a]]
        inspect(s, a, np.int64(s.x[a]))


@inline
def inspect(s, a, cell):
    """Note that agent `a` has looked at a column."""
    before, bit = np.int64(s.inspected[np.uint64(cell)]), 1 << a
    s.inspected[np.uint64(cell)] = before | bit
    s.covered += before == 0
    s.repeats += before != 0 and before & bit == 0


@helper
def look_around(s, w, a):
    """Do what `look` does, in a house."""
    one, two, three = heights(s, w, a)
    eye, heading, q = np.int64(s.z[a]), np.int64(s.heading[a]), ROOM * a
    pitch, roll = np.int64(s.pitch[a]), np.int64(s.roll[a])
    reach = AHEAD_OF[w.sight]
    view = IN_VIEW[pitch, roll, eye, 0] & ~one | IN_VIEW[pitch, roll, eye, 1] & one & ~two
    view = (view | IN_VIEW[pitch, roll, eye, 2] & two & ~three) & reach
    taller = one if eye == 0 else two if eye == 1 else three
    right = (heading + 1) & 3
    forth, aside = DY[heading] * w.side + DX[heading], DY[right] * w.side + DX[right]
    stride = np.int64(w.map_stride)
    start = s.at[a, heading] - (SIDE - 1) * stride - MIDDLE
    base, seen = np.int64(s.y[a]) * w.side + s.x[a], 0
    for i in range(0, ROOM, 8):
        store64(s.look, q + i, _0)
    for t in WEDGE:
        bit = np.uint64(t)
        if reach >> bit & _1 == _0:
            continue
        shown = BETWEEN[t] & taller == _0
        if view >> bit & _1:
            level = np.int64(one >> bit & _1) + np.int64(two >> bit & _1)
            if not hidden(eye, level, t, one, two, three):
                shown = True
                cell = base + AHEAD[t] * forth + ASIDE[t] * aside
                inspect(s, a, cell)
                thing = np.int64(load(s.holds, cell))
                if thing:
                    seen |= 1 << (thing - 1)
        if shown:
            store(s.look, q + t, load(s.maps, start + t // SIDE * stride + t % SIDE))
    if not w.pictures:  # from which `camera_world` reads it
        s.seen[a] = seen


@helper
def sees(s, w, a, b):
    """Tell whether agent `a` sees agent `b`."""
    heading = np.int64(s.heading[a])
    dx, dy = np.int64(s.x[b]) - s.x[a], np.int64(s.y[b]) - s.y[a]
    ahead, aside = dx * DX[heading] + dy * DY[heading], dy * DX[heading] - dx * DY[heading]
    if ahead < 0 or ahead > w.sight or abs(aside) > min(ahead, MIDDLE):
        return False
    column, eye, level = OWN - SIDE * ahead + aside, np.int64(s.z[a]), np.int64(s.z[b])
    view = IN_VIEW[s.pitch[a], s.roll[a], eye, level]
    if view >> np.uint64(column) & _1 == _0:
        return False
    one, two, three = heights(s, w, a)
    return not hidden(eye, level, column, one, two, three)


@inline
def is_free(s, w, x, y, z):
    """Tell whether an agent can be in a cell of a house."""
    if x < 0 or y < 0 or x >= w.width or y >= w.height or z < 0 or z >= LEVELS:
        return False
    if z < HEIGHT[load(s.cells, y * w.side + x)]:
        return False
    for b in range(w.agents):
        if s.alive[b] and s.x[b] == x and s.y[b] == y and s.z[b] == z:
            return False
    return True


assert AREA <= ROOM
