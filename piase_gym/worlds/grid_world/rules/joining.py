"""Agents that enter a GridWorld after the reset. Compiled.

Their starts are set with the level, as if they were there already, so a solvable level can be
solved by them too. When their step has come, they appear there or, if the cell is taken, on the
nearest free floor that can be walked to from it; if there is none, they wait.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper
from piase_gym.worlds.grid_world.cells import CELLS, FLOOR, PASSABLE
from piase_gym.worlds.grid_world.rules.events import ENTER, IN_PLAY
from piase_gym.worlds.grid_world.rules.world import appear
from piase_gym.worlds.grids.windows import DX, DY, cell_at, locate, top

WALKED = CELLS.array("reach") == PASSABLE
"""By code: whether all agents can walk over it, even with empty hands; a search for room does."""


@helper
def hold_back(s, w):
    """Take agents that enter later off the grid again; their places are kept."""
    for a in range(w.agents):
        if w.join[a] != 0:
            s.alive[a] = 0


@helper
def let_in(s, w, o, events):
    """Let in the agents that are due, if there is room for them. Returns how many entered."""
    entered, left = 0, 0
    for a in range(w.agents):
        left += np.int64(s.alive[a])
    if left == 0:
        return 0  # the episode is over
    for a in range(w.agents):
        due = 0 < w.join[a] <= s.t
        if due and not s.alive[a] and s.fate[a] == IN_PLAY and come(s, w, a):
            events[o + a] = ENTER
            entered += 1
    return entered


@helper
def come(s, w, a):
    """Put agent `a` on the grid. Returns whether there was room for it."""
    cell = room(s, w, s.x[a], s.y[a])
    if cell < 0:
        return False
    s.x[a], s.y[a] = cell % w.side, cell // w.side
    s.alive[a] = 1
    locate(s, w, a)
    appear(s, w, a)
    return True


@helper
def is_free(s, w, x, y):
    """Return whether an agent can appear on a cell."""
    return (cell_at(s, w, x, y) if w.pass_through else top(s, w, x, y)) == FLOOR


@helper
def room(s, w, x, y):
    """Return the nearest free cell, as y * side + x, or -1; ways go up, right, down, then left."""
    seen = np.zeros(w.side * w.side, np.uint8)
    queue = np.zeros(w.side * w.side, np.int64)
    queue[0] = y * w.side + x
    seen[queue[0]] = 1
    head, tail = 0, 1
    while head < tail:
        x, y = queue[head] % w.side, queue[head] // w.side
        head += 1
        if is_free(s, w, x, y):
            return y * w.side + x
        for h in range(4):
            to_x, to_y = x + DX[h], y + DY[h]
            if to_x < 0 or to_y < 0 or to_x >= w.width or to_y >= w.height:
                continue
            cell = to_y * w.side + to_x
            if seen[cell] == 0 and WALKED[s.cells[cell]]:
                seen[cell] = 1
                queue[tail] = cell
                tail += 1
    return -1
