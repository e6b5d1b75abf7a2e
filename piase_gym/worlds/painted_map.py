"""Grids that agents see turned to their heading: one painted map, and windows cut out of it.

A world keeps its objects in `cells`. In `painted` the same cells lie with the outside around them
and agents on top, and `at` says where each agent stands there. A window is then eight words out of
the map, turned as one vector (see `turning`). Compiled; for the sizes see `painted_sizes`.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import device, helper, load64, peek, poke, store64
from piase_gym.worlds.cell_codes import AGENT, OUTSIDE, UNSEEN
from piase_gym.worlds.painted_sizes import BLOCK
from piase_gym.worlds.turning import CELLS, turn_7, turn_8

# Arrays, because an index that is known only at run time is slow into a tuple.
DX = np.array([0, 1, 0, -1])
DY = np.array([-1, 0, 1, 0])
ALL_OUTSIDE = np.uint64(OUTSIDE * 0x0101010101010101)
SEVEN = 7
"""The width of windows that one vector holds."""


@device
def place(k, x, y):
    """Return where the cell (x, y) lies in the map."""
    return k.origin + y * k.stride + x


@device
def top(s, k, x, y):
    """Return what is seen at (x, y), at most one cell outside: an agent, or else the object."""
    return peek(s.painted, place(k, np.int64(x), np.int64(y)))


@device
def paint(s, k, x, y, code):
    """Show an object at (x, y)."""
    poke(s.painted, place(k, np.int64(x), np.int64(y)), code)


@device
def paint_at(s, k, a, code):
    """Show an object where agent `a` stands."""
    poke(s.painted, np.int64(s.at[a]), code)


@device
def paint_agent(s, k, a):
    """Show an agent at its place."""
    poke(s.painted, np.int64(s.at[a]), AGENT + 4 * a + np.int64(s.heading[a]))


@device
def ahead_of(s, w, a, steps):
    """Return what is seen so many steps ahead of agent `a`."""
    return peek(s.painted, np.int64(s.at[a]) + steps * np.int64(w.step[s.heading[a]]))


@device
def locate(s, k, a):
    """Note where agent `a` stands in the map."""
    x, y = np.int64(s.x[a]), np.int64(s.y[a])
    s.at[a] = place(k, x, y)
    s.under[a] = peek(s.cells, y * k.side + x)


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
    """Draw the map anew from the cells and the agents."""
    for i in range(0, len(s.painted), 8):
        store64(s.painted, i, ALL_OUTSIDE)
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
    s.at[a] += w.step[heading]
    if k.full and w.pass_through:
        uncover(s, w, k, x, y)


# -- windows ------------------------------------------------------------------------------


@device
def window_7(s, w, k, a, obs, p, code):
    """Write the seven by seven cells that agent `a` sees; 15 bytes after them are noise.

    Returns:
        The place of the first cell that is `code`, or 64.
    """
    heading = np.int64(s.heading[a])
    first = np.int64(s.at[a]) + np.int64(w.corner[heading])
    return turn_7(s.painted, first, k.stride, heading, obs, p, code)


@device
def turn_block(s, w, k, a, out, p):
    """Put what agent `a` sees into ``out[p:p + 64]``, a word a row, from its far left cell on."""
    heading = np.int64(s.heading[a])
    first = np.int64(s.at[a]) + np.int64(w.corner[heading])
    turn_8(s.painted, first, k.stride, heading, out, p, UNSEEN)


@helper
def window(s, w, k, a, n, obs, p):
    """Write the `n` rows of `n` cells that agent `a` sees, up to two blocks wide.

    The last word of a row runs into the next row, which then overwrites it; after the last row it
    runs up to seven bytes into what follows.
    """
    heading, blocks = np.int64(s.heading[a]), (n + BLOCK - 1) // BLOCK
    first = np.int64(s.at[a]) + np.int64(w.corner[heading])
    down, right = -np.int64(w.step[heading]), np.int64(w.step[(heading + 1) & 3])
    for i in range(blocks * blocks):
        there = first + i // blocks * BLOCK * down + i % blocks * BLOCK * right
        turn_8(s.painted, there, k.stride, heading, s.block, i * CELLS, UNSEEN)
    for row in range(n):
        for column in range(blocks):
            block = row // BLOCK * blocks + column
            word = load64(s.block, block * CELLS + row % BLOCK * BLOCK)
            store64(obs, p + row * n + column * BLOCK, word)


@helper
def whole_grid(s, w, k, obs, p):
    """Write the grid as it lies, of the envelope's size; beyond its own it shows the outside."""
    for row in range(w.frame_h):
        for column in range(0, w.frame_w, BLOCK):
            word = load64(s.painted, k.origin + row * k.stride + column)
            store64(obs, p + row * w.frame_w + column, word)


@helper
def shorten(w, obs, p):
    """Blank what lies beyond a window smaller than the envelope's."""
    middle, size = w.frame_w // 2, w.window
    for row in range(w.frame_h):
        for column in range(w.frame_w):
            near = row >= w.frame_h - size and abs(column - middle) <= size // 2
            if not near:
                obs[p + row * w.frame_w + column] = UNSEEN
