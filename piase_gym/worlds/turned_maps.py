"""Grids that agents see turned to their heading: four turned maps that follow cells and agents.

A world keeps its objects in `cells` and four copies of them in `maps`, turned so that each heading
is up, with agents painted in. A window is then a few 8-byte copies out of one of them, and `at`
says where each agent stands in each. Compiled; for the sizes see `turned_sizes`.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import device, helper, load64, peek, poke, store64
from piase_gym.worlds.cell_codes import AGENT, OUTSIDE, UNSEEN

# Arrays, because an index that is known only at run time is slow into a tuple.
DX = np.array([0, 1, 0, -1])
DY = np.array([-1, 0, 1, 0])
ALL_OUTSIDE = np.uint64(OUTSIDE * 0x0101010101010101)


@device
def place(k, x, y, r):
    """Return where the cell (x, y) lies in the maps, in the one turned by `r` quarters."""
    last = k.side - 1
    column, row = x, y
    if r == 1:
        column, row = y, last - x
    elif r == 2:
        column, row = last - x, last - y
    elif r == 3:
        column, row = last - y, x
    return r * k.area + k.ahead + k.beside + row * k.stride + column


@device
def top(s, k, x, y):
    """Return what is seen at (x, y), at most one cell outside: an agent, or else the object."""
    return peek(s.maps, place(k, np.int64(x), np.int64(y), 0))


@helper
def paint(s, k, x, y, code):
    """Show an object at (x, y) in all four maps."""
    for r in range(4):
        poke(s.maps, place(k, x, y, r), code)


@device
def paint_at(s, k, a, code):
    """Show an object where agent `a` stands, in all four maps."""
    for r in range(4):
        poke(s.maps, np.int64(s.at[4 * a + r]), code)


@device
def paint_agent(s, k, a):
    """Show an agent at its place in all four maps, turned as each map is."""
    heading, code = np.int64(s.heading[a]), AGENT + 4 * a
    for r in range(4):
        poke(s.maps, np.int64(s.at[4 * a + r]), code + ((heading - r) & 3))


@device
def locate(s, k, a):
    """Note where agent `a` stands in each map."""
    for r in range(4):
        s.at[4 * a + r] = place(k, np.int64(s.x[a]), np.int64(s.y[a]), r)


@device
def put(s, k, x, y, code):
    """Change the object at (x, y), where no agent is painted."""
    px, py, value = np.int64(x), np.int64(y), np.int64(code)
    poke(s.cells, py * k.side + px, value)
    paint(s, k, px, py, value)


@helper
def uncover(s, w, k, x, y):
    """Show what is at (x, y) after an agent has left: the lowest other agent, or the object."""
    px, py = np.int64(x), np.int64(y)
    paint(s, k, px, py, peek(s.cells, py * k.side + px))
    if w.pass_through:
        for i in range(w.agents):
            b = w.agents - 1 - i
            if s.alive[b] and s.x[b] == px and s.y[b] == py:
                paint_agent(s, k, b)


@device
def appear(s, w, k, a):
    """Show agent `a` where it stands (under an agent of lower number)."""
    if k.full and w.pass_through:
        uncover(s, w, k, s.x[a], s.y[a])
    else:
        paint_agent(s, k, a)


@helper
def repaint(s, k):
    """Draw the four turned maps anew from the cells and the agents."""
    for i in range(0, len(s.maps) - 7, 8):
        store64(s.maps, i, ALL_OUTSIDE)
    for y in range(s.height):
        for x in range(s.width):
            paint(s, k, x, y, peek(s.cells, y * k.side + x))
    s.left = 0
    for i in range(s.agents):
        a = s.agents - 1 - i
        locate(s, k, a)
        if s.alive[a]:
            paint_agent(s, k, a)
            s.left += 1


@device
def leave(s, w, k, a, heading):
    """Take agent `a` off its cell and note where it stands one step ahead."""
    x, y = np.int64(s.x[a]), np.int64(s.y[a])
    below = peek(s.cells, y * k.side + x)
    paint_at(s, k, a, below)
    s.x[a], s.y[a] = x + DX[heading], y + DY[heading]
    for r in range(4):
        s.at[4 * a + r] += w.step[(heading - r) & 3]
    if k.full and w.pass_through:
        uncover(s, w, k, x, y)


# -- windows ------------------------------------------------------------------------------


@device
def copy_rows(s, k, base, rows, columns, obs, p):
    """Copy a rectangle of the maps to ``obs[p:]``, eight bytes at a time.

    The last word of a row runs into the next row, which then overwrites it; after the last row it
    runs into the scalars, which are written later.
    """
    for row in range(rows):
        for column in range(0, columns, 8):
            word = load64(s.maps, base + row * k.stride + column)
            store64(obs, p + row * columns + column, word)


@helper
def shorten(w, obs, p):
    """Blank what lies beyond a window smaller than the envelope's."""
    middle, size = w.frame_w // 2, w.window
    for row in range(w.frame_h):
        for column in range(w.frame_w):
            near = row >= w.frame_h - size and abs(column - middle) <= size // 2
            if not near:
                obs[p + row * w.frame_w + column] = UNSEEN
