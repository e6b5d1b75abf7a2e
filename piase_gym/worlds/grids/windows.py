"""Grids on which each agent sees a window that is turned to its heading.

A world keeps what lies on its grid in ``s.cells``, one byte per cell, row by row. What is seen,
with agents on top, is kept four times in ``s.maps``: once for each heading, turned so that the
heading points up. Each map is surrounded by as much of the outside as a window can show, so a
window is a block of rows of the map of the viewer's heading, and is copied eight cells at a time.

Records have the fields `cells`, `maps`, `x`, `y`, `heading`, `alive` and `at`, which says where an
agent stands in each map (see `locate`). Tables have the fields of `MAP_FIELDS`, `frame_w`,
`frame_h` (the size of the envelope's largest window, or of its largest grid) and `window`.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, Final

import numpy as np

from piase_gym.compiled.decorators import helper, hot, inline
from piase_gym.compiled.memory import load, load64, store, store64
from piase_gym.worlds.grids.codes import AGENT, OUTSIDE, UNSEEN

# By heading: up, right, down, left.
DX = np.array([0, 1, 0, -1])
DY = np.array([-1, 0, 1, 0])
ALL_OUTSIDE = np.uint64(OUTSIDE * 0x0101010101010101)
WORD = 8
SPARE: Final = 2 * WORD
"""Room after the last map, because the last word of a window may be read from beyond its end."""

MAP_FIELDS: Final[list[Any]] = [
    # The cell (x, y) lies in map r at ``map_origin[r] + x * map_right[r] + y * map_down[r]``.
    ("map_origin", "<i4", 4),
    ("map_right", "<i4", 4),
    ("map_down", "<i4", 4),
    ("map_stride", "<i4"),  # from a row of a map to the next
    ("map_step", "<i4", 4),  # to the next cell above, right, below and left
    ("maps_start", "<i4"),  # where the maps lie in the field `maps`
    ("maps_stop", "<i4"),
    ("side", "<i4"),  # columns of `cells`
]


def _shape(side: int, margin: int) -> tuple[int, int]:
    """Return the rows and columns of a map of a grid of `side`, for windows up to `margin`."""
    return margin - 1 + side, side + 2 * (margin // 2)


def maps_size(side: int, margin: int) -> int:
    """Return the length of the field `maps`."""
    rows, stride = _shape(side, margin)
    return -(-(4 * rows * stride + SPARE) // WORD) * WORD


def map_fields(side: int, margin: int, start: int = 0) -> dict[str, Any]:
    """Return the values of `MAP_FIELDS` for maps that begin at `start`."""
    rows, stride = _shape(side, margin)
    last, size = side - 1, rows * stride
    first = start + (margin - 1) * stride + margin // 2  # of the top left cell of a map
    # By turning left, a map's top left cell is that of the grid, its top right, bottom right, ...
    return {
        "map_origin": [
            first,
            first + size + last * stride,
            first + 2 * size + last * stride + last,
            first + 3 * size + last,
        ],
        "map_right": [1, -stride, -1, stride],
        "map_down": [stride, 1, -stride, -1],
        "map_stride": stride,
        "map_step": [-stride, 1, stride, -1],
        "maps_start": start,
        "maps_stop": start + maps_size(side, margin),
        "side": side,
    }


# -- what lies where ----------------------------------------------------------------------


@inline
def cell_at(s, w, x, y):
    """Return what lies at (x, y), whoever stands on it."""
    return load(s.cells, np.int64(y) * w.side + x)


@inline
def in_map(w, r, x, y):
    """Return where the cell (x, y) lies in map `r`."""
    return w.map_origin[r] + np.int64(x) * w.map_right[r] + np.int64(y) * w.map_down[r]


@hot
def locate(s, w, a):
    """Note where agent `a` stands in the maps."""
    for r in range(4):
        s.at[a, r] = in_map(w, r, s.x[a], s.y[a])


@inline
def advance(s, w, a):
    """Move agent `a` one cell ahead, without showing it."""
    heading = np.int64(s.heading[a])
    s.x[a] += DX[heading]
    s.y[a] += DY[heading]
    for r in range(4):
        s.at[a, r] += w.map_step[(heading - r) & 3]


@inline
def top(s, w, x, y):
    """Return what is seen at (x, y), at most one cell outside: an agent, or else the object."""
    return load(s.maps, in_map(w, 0, x, y))


@inline
def seen_ahead(s, w, a, steps):
    """Return what is seen `steps` cells ahead of agent `a`."""
    return load(s.maps, s.at[a, s.heading[a]] - steps * w.map_stride)


@inline
def ahead(s, a, steps):
    """Return the column and the row of the cell `steps` cells ahead of agent `a`."""
    heading = s.heading[a]
    return s.x[a] + steps * DX[heading], s.y[a] + steps * DY[heading]


# -- painting -----------------------------------------------------------------------------


@inline
def paint(s, w, x, y, code):
    """Show an object at (x, y)."""
    _paint(s, w, np.int64(x), np.int64(y), np.int64(code))


@hot
def _paint(s, w, x, y, code):
    for r in range(4):
        store(s.maps, in_map(w, r, x, y), code)


@hot
def paint_agent(s, a):
    """Show an agent at its place."""
    heading = np.int64(s.heading[a])
    for r in range(4):
        store(s.maps, s.at[a, r], AGENT + 4 * a + ((heading - r) & 3))


@inline
def paint_at(s, a, code):
    """Show an object where agent `a` stands."""
    for r in range(4):
        store(s.maps, s.at[a, r], code)


@inline
def put(s, w, x, y, code):
    """Change the object at (x, y), where no agent is shown."""
    _put(s, w, np.int64(x), np.int64(y), np.int64(code))


@helper
def _put(s, w, x, y, code):
    store(s.cells, y * w.side + x, code)
    _paint(s, w, x, y, code)


@helper
def paint_cells(s, w):
    """Repaint the grid, without agents."""
    for i in range(w.maps_start, w.maps_stop, WORD):
        store64(s.maps, i, ALL_OUTSIDE)
    for y in range(w.height):
        for x in range(w.width):
            paint(s, w, x, y, cell_at(s, w, x, y))


# -- windows ------------------------------------------------------------------------------


@helper
def copy_rows(maps, start, stride, out, p, rows, columns):
    """Copy a block of cells, a word at a time.

    A word that runs beyond its row is overwritten by the next row; after the last row, up to seven
    extra bytes are written.
    """
    for row in range(rows):
        for column in range(0, columns, WORD):
            word = load64(maps, start + row * stride + column)
            store64(out, p + row * columns + column, word)


@inline
def window(s, w, a, n, obs, p):
    """Write the `n` rows of `n` cells that agent `a` sees to ``obs[p:]``, its own row last."""
    stride = np.int64(w.map_stride)
    start = s.at[a, s.heading[a]] - (n - 1) * stride - n // 2
    if n == 7:  # by far the most common size: the loop is unrolled
        for row in range(7):
            store64(obs, p + 7 * row, load64(s.maps, start + stride * row))
    else:
        copy_rows(s.maps, start, stride, obs, p, n, n)


@helper
def blank_rim(w, n, obs, p):
    """Hide what lies beyond a window that is smaller than the envelope's."""
    for row in range(n):
        for column in range(n):
            if row < n - w.window or abs(column - n // 2) > w.window // 2:
                store(obs, p + row * n + column, UNSEEN)


@helper
def whole_grid(s, w, obs, p):
    """Write the whole grid, north up, in the envelope's size, padded with the outside."""
    copy_rows(s.maps, w.map_origin[0], w.map_stride, obs, p, w.frame_h, w.frame_w)
