"""What agents see from where they are, and who has looked at what. Compiled.

See `piase_gym.worlds.object_search.geometry` for the sets of columns. What is seen is computed
once per step, after everybody has moved; vectors and reports are copied from it.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

from typing import Final

import numpy as np

from piase_gym.compiled import helper, hot, inline, load, load64, store, store64
from piase_gym.compiled.draws import GOLDEN, mix64, stream_key
from piase_gym.worlds.grids.windows import DX, DY, paint
from piase_gym.worlds.object_search.codes import HEIGHT, LEVELS, MAX_AGENTS
from piase_gym.worlds.object_search.geometry import (
    AHEAD_OF,
    AREA,
    BETWEEN,
    BLOCKING,
    EACH,
    IN_VIEW,
    MIDDLE,
    OWN,
    SIDE,
    WEDGE,
)
from piase_gym.worlds.object_search.state import CHANNEL, ROOM

_0, _1, _3, _4, _5, _32, _56, _58 = (np.uint64(n) for n in (0, 1, 3, 4, 5, 32, 56, 58))
BYTES = np.uint64(0x01010101010101)
"""The lowest bits of the seven bytes of a row."""
GATHER = np.uint64(0x0102040810204080)
"""Multiplied by a word of bytes that are 0 or 1, it moves them to the upper byte, one bit each."""
SCATTER = np.uint64(0x0002040810204081)
"""Multiplied by seven bits, it moves them to the lowest bits of seven bytes, among others."""
FULL, ROW, CODES = np.uint64(255), np.uint64(127), np.uint64(0x1F1F1F1F1F1F1F)
THING: Final = 32
"""Added in maps to the code of a column in which an object lies."""
NUM_TARGETS = len(WEDGE)
SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
"""De Bruijn's: any six bits in a row differ from all others, so they show how far it is shifted."""
PLACES = np.array(
    [next(i for i in range(64) if (int(SEQUENCE) << i & 2**64 - 1) >> 58 == k) for k in range(64)]
)
HIDES = BLOCKING.ravel()


@hot
def look(s, w, a):
    """Work out what agent `a` sees now, and note that it has looked there."""
    if w.house:
        look_around(s, w, a)
    else:
        s.seen[a] = s.shelf[s.x[a]]
        inspect(s, w, a, np.int64(s.x[a]))


@inline
def inspect(s, w, a, cell):
    """Note that agent `a` has looked at a column."""
    place, bit = np.uint64(w.inspected + cell), 1 << a
    before = np.int64(s.inspected[place])
    s.inspected[place] = before | bit
    s.covered += before == 0
    s.repeats += before != 0 and before & bit == 0


@inline
def bits_of(word, place):
    """Return one bit of each byte of a row, side by side."""
    return ((word >> place & BYTES) * GATHER) >> _56


@inline
def clear_lines(eye, level, one, two, three):
    """Return the columns with a clear line from an eye to their cells on a level."""
    found, start = _0, (eye * LEVELS + level) * LEVELS * NUM_TARGETS
    for i in range(NUM_TARGETS):
        hidden = load(HIDES, start + i) & one | load(HIDES, start + NUM_TARGETS + i) & two
        hidden |= load(HIDES, start + 2 * NUM_TARGETS + i) & three
        found |= EACH[i] if hidden == _0 else _0
    return found


@helper
def look_around(s, w, a):
    """Do what `look` does, in a house."""
    eye, heading = np.int64(s.z[a]), np.int64(s.heading[a])
    stride = np.int64(w.map_stride)
    start = s.at[a, heading] - (SIDE - 1) * stride - MIDDLE
    one, two, three, things = _0, _0, _0, _0
    for row in range(SIDE):
        word, shift = load64(s.maps, start + stride * row), np.uint64(SIDE * row)
        one |= bits_of(word, _3) << shift
        two |= bits_of(word, _4) << shift
        three |= bits_of(word, _0) << shift
        things |= bits_of(word, _5) << shift
    one, two = one | three, two | three
    s.one[a], s.two[a], s.three[a] = one, two, three
    view = visible(s.pitch[a], s.roll[a], eye, one, two, three) & AHEAD_OF[w.sight]
    taller, shown = one if eye == 0 else two if eye == 1 else three, _0
    for i in range(NUM_TARGETS):
        shown |= EACH[i] if BETWEEN[i] & taller == _0 else _0
    shown = shown & AHEAD_OF[w.sight] | view
    for row in range(SIDE):
        lit = ((shown >> np.uint64(SIDE * row) & ROW) * SCATTER & BYTES) * FULL
        word = load64(s.maps, start + stride * row) & lit & CODES
        store64(s.look, ROOM * a + SIDE * row, word)
    note(s, w, a, heading, view)
    s.seen[a] = names_in(s, w, a, heading, view & things)


@helper
def visible(pitch, roll, eye, one, two, three):
    """Return the columns of a window that are seen, given those at least 1, 2 and 3 cells high."""
    bare = IN_VIEW[pitch, roll, eye, 0] & ~one
    low = IN_VIEW[pitch, roll, eye, 1] & one & ~two
    tall = IN_VIEW[pitch, roll, eye, 2] & two & ~three
    bare &= clear_lines(eye, 0, one, two, three)
    low &= clear_lines(eye, 1, one, two, three)
    tall &= clear_lines(eye, 2, one, two, three)
    return bare | low | tall


@inline
def lowest(word):
    """Return the place of the lowest bit that is set."""
    return load(PLACES, (word & (~word + _1)) * SEQUENCE >> _58)


@inline
def cell_in_window(s, w, a, heading, row, column):
    """Return the index in `cells` of a column of the window of agent `a`."""
    ahead, aside, right = SIDE - 1 - row, column - MIDDLE, (heading + 1) & 3
    x = np.int64(s.x[a]) + ahead * DX[heading] + aside * DX[right]
    return (s.y[a] + ahead * DY[heading] + aside * DY[right]) * np.int64(w.side) + x


@helper
def note(s, w, a, heading, view):
    """Note that agent `a` has looked at columns; only those that are new to it take time."""
    x, y, side = np.int64(s.x[a]), np.int64(s.y[a]), np.int64(w.side)
    line, place = (x, y) if heading & 1 else (y, x)
    place = side - 1 - place if heading & 2 else place
    forth = 1 if heading == 1 or heading == 2 else -1
    for row in range(SIDE):
        lit = view >> np.uint64(SIDE * row) & ROW
        k = (4 * a + heading) * side + line + forth * (SIDE - 1 - row)
        k = w.known + (k if lit else 0) * np.int64(w.word_size)
        known = load64(s.known, k)  # if words are shorter, the rest of it is kept as it is
        new = lit & ~(known >> np.uint64(place))
        if new:
            store64(s.known, k, known | new << np.uint64(place))
            while new:
                cell = cell_in_window(s, w, a, heading, row, lowest(new))
                inspect(s, w, a, cell)
                new &= new - _1


@inline
def names_in(s, w, a, heading, things):
    """Return the objects in columns of the window of agent `a`, as bits."""
    seen = 0
    while things:
        column = lowest(things)
        cell = cell_in_window(s, w, a, heading, column // SIDE, column % SIDE)
        seen |= 1 << (np.int64(load(s.holds, w.holds + cell)) - 1)
        things &= things - _1
    return seen


@helper
def sees(s, w, a, b):
    """Return whether agent `a` sees agent `b`."""
    heading = np.int64(s.heading[a])
    dx, dy = np.int64(s.x[b]) - s.x[a], np.int64(s.y[b]) - s.y[a]
    ahead, aside = dx * DX[heading] + dy * DY[heading], dy * DX[heading] - dx * DY[heading]
    if ahead < 0 or ahead > w.sight or abs(aside) > min(ahead, MIDDLE):
        return False
    column, eye, level = OWN - SIDE * ahead + aside, np.int64(s.z[a]), np.int64(s.z[b])
    view = IN_VIEW[s.pitch[a], s.roll[a], eye, level]
    if view >> np.uint64(column) & _1 == _0:
        return False
    lines = clear_lines(eye, level, s.one[a], s.two[a], s.three[a])
    return lines >> np.uint64(column) & _1 != _0


@inline
def hears(s, w, a, b):
    """Return whether agent `a` gets what agent `b` has reported."""
    if b == a or b >= w.agents or not s.told[ROOM * b] or not np.int64(w.heard[b]) >> a & 1:
        return False
    far = max(abs(np.int64(s.x[a]) - s.x[b]), abs(np.int64(s.y[a]) - s.y[b]))
    if far > w.reach:
        return False
    if w.loss:
        number = np.uint64((np.int64(s.t) * MAX_AGENTS + a) * MAX_AGENTS + b)
        key = stream_key(np.uint64(s.seed), np.uint64(CHANNEL))
        return mix64(key + (number + _1) * GOLDEN) >> _32 >= w.loss
    return True


@helper
def lay(s, w, cell, thing):
    """Lay an object (1 + its number, or 0 for none) into a column."""
    store(s.holds, w.holds + cell, thing)
    code = np.int64(s.cells[cell]) + (THING if thing else 0)
    paint(s, w, cell % w.side, cell // w.side, code)


@inline
def is_free(s, w, x, y, z):
    """Return whether an agent can be in a cell of a house."""
    if x < 0 or y < 0 or x >= w.width or y >= w.height or z < 0 or z >= LEVELS:
        return False
    taken = z < HEIGHT[load(s.cells, y * w.side + x)]
    for b in range(w.agents):
        taken |= (s.x[b] == x) & (s.y[b] == y) & (s.z[b] == z) & (s.alive[b] != 0)
    return not taken


assert AREA <= ROOM
