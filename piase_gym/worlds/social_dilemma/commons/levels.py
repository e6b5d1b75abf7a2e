"""How a commons is laid out: patches of apples, or a river and an orchard; then agents. Compiled.

Every draw is from the layout stream.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, integer, store64, stream_key
from piase_gym.worlds.channel.kernels import open_channel
from piase_gym.worlds.grids.codes import FLOOR, OUTSIDE
from piase_gym.worlds.grids.windows import cell_at, locate, paint_agent, paint_cells, put
from piase_gym.worlds.social_dilemma.commons.codes import APPLE, NO_FREE_CELL, WASTE, WATER
from piase_gym.worlds.social_dilemma.commons.rules import appear_at, foul, random_cell
from piase_gym.worlds.social_dilemma.commons.state import LAYOUT, REACH

TRIES = 100
"""Attempts to place a patch clear of the others; after that, patches may touch."""
_1 = np.uint64(1)


@helper
def begin(s, w, seed):
    """Start the episode with effective seed `seed` (uint64); `s.fault` says what failed."""
    s.seed, s.fault, s.t = seed, 0, 0
    for stream in range(2):
        s.keys[stream] = stream_key(seed, np.uint64(stream))
        s.counters[stream] = 0
    s.width, s.height, s.agents = w.width, w.height, w.agents
    forget(s, w)
    if w.mail >= 0:
        open_channel(s.mail, w, seed)
    lay_out(s, w)
    paint_cells(s, w)
    if w.cleanup:
        for _ in range(w.start_waste):
            foul(s, w, LAYOUT)
    else:
        for _ in range(w.patches):
            plant(s, w)
    for a in range(w.agents):
        cell = random_cell(s, w, LAYOUT, w.width, FLOOR)
        if cell < 0:
            s.fault = NO_FREE_CELL
            return
        s.alive[a] = 1
        appear_at(s, w, a, cell)


@helper
def forget(s, w):
    """Clear the fields of all agents, and the count of waste."""
    s.waste = 0
    for a in range(len(s.x)):
        s.x[a], s.y[a], s.heading[a], s.alive[a], s.fate[a] = 0, 0, 0, 0, 0
        s.marks[a], s.said[a], s.beam[a], s.out[a], s.order[a] = 0, 0, 0, 0, a
        s.eaten[a], s.cleaned[a], s.zaps[a], s.zapped[a] = 0, 0, 0, 0
        s.away[a], s.when[a] = 0, 0
        store64(s.hint, 8 * a, np.uint64(0))


@helper
def lay_out(s, w):
    """Draw land, and in a cleanup the river and the orchard, which is still bare."""
    for i in range(w.side * w.side):
        s.cells[i] = OUTSIDE
    for y in range(w.side):
        s.spots[w.spots + y], s.ripe[w.ripe + y] = np.uint64(0), np.uint64(0)
    for y in range(w.height):
        for x in range(w.width):
            s.cells[y * w.side + x] = WATER if w.cleanup and x < w.river else FLOOR
            if w.cleanup and x >= w.width - w.orchard:
                s.spots[w.spots + y] |= _1 << np.uint64(x)


@helper
def plant(s, w):
    """Plant a patch: the 13 cells within two of a random one; clear of others if there is room."""
    x, y = 0, 0
    for _ in range(TRIES):
        x = REACH + integer(s, LAYOUT, w.width - 2 * REACH)
        y = REACH + integer(s, LAYOUT, w.height - 2 * REACH)
        if clear(s, w, x, y):
            break
    for dy in range(-REACH, REACH + 1):
        for dx in range(-REACH, REACH + 1):
            if dx * dx + dy * dy <= REACH * REACH:
                bit = _1 << np.uint64(x + dx)
                s.spots[w.spots + y + dy] |= bit
                s.ripe[w.ripe + y + dy] |= bit
                put(s, w, x + dx, y + dy, APPLE)


@helper
def clear(s, w, x, y):
    """Return whether no place for apples is so near that a patch at (x, y) would grow with it."""
    for dy in range(-3 * REACH, 3 * REACH + 1):
        for dx in range(-3 * REACH, 3 * REACH + 1):
            px, py = x + dx, y + dy
            near = dx * dx + dy * dy <= 9 * REACH * REACH
            inside = 0 <= px < w.width and 0 <= py < w.height
            if near and inside and (s.spots[w.spots + py] >> np.uint64(px)) & _1 == _1:
                return False
    return True


@helper
def rebuild(s, w):
    """Compute what is derived from the state: maps, where apples hang, how much waste there is."""
    paint_cells(s, w)
    s.waste = 0
    for y in range(w.height):
        s.ripe[w.ripe + y] = np.uint64(0)
        for x in range(w.width):
            code = cell_at(s, w, x, y)
            s.waste += code == WASTE
            if code == APPLE:
                s.ripe[w.ripe + y] |= _1 << np.uint64(x)
    for a in range(w.agents):
        locate(s, w, a)
        if s.alive[a] and not s.out[a]:
            paint_agent(s, a)
