"""Agents that enter a GridWorld after the reset. Compiled.

Where they start is settled with the level, as if they were there, so that a solvable level is one
for them too. When their step has come they appear there; if the cell is taken, at the nearest free
floor that can be walked to from it; and if there is none, they wait.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import helper, kernel, peek, scratch
from piase_gym.worlds.grid_world.cells import BARE, CLOSED, FLOOR, FRUIT, GOAL, OPEN
from piase_gym.worlds.grid_world.events import ENTER, IN_PLAY
from piase_gym.worlds.painted_map import DX, DY, appear, locate, top, uncover

WALKED = np.zeros(256, np.bool_)
WALKED[np.array([FLOOR, GOAL, CLOSED, OPEN, FRUIT, BARE])] = True
"""What everybody can walk over, with nothing in hand; a search for room goes over it."""


@helper
def hold_back(s, w, k):
    """Take agents that enter later off the grid again; their places stay noted."""
    for a in range(w.agents):
        if w.join[a] != 0:
            s.alive[a] = 0
            uncover(s, w, k, s.x[a], s.y[a])
            s.left -= 1


@helper
def let_in(s, w, k, o, events):
    """Let agents in whose step has come and for whom there is room. Returns how many entered."""
    entered = 0
    for a in range(w.agents):
        due = 0 < w.join[a] <= s.t + 1
        if due and not s.alive[a] and s.fate[a] == IN_PLAY and come(s, w, k, a):
            events[o + a] = ENTER
            entered += 1
    return entered


@helper
def come(s, w, k, a):
    """Put agent `a` on the grid. Returns whether there was room for it."""
    cell = room(s, w, k, np.int64(s.x[a]), np.int64(s.y[a]))
    if cell < 0:
        return False
    s.x[a], s.y[a] = cell % k.side, cell // k.side
    s.alive[a] = 1
    locate(s, k, a)
    appear(s, w, k, a)
    return True


@helper
def is_free(s, w, k, x, y):
    """Tell whether an agent can appear on a cell."""
    if peek(s.cells, y * k.side + x) != FLOOR:
        return False
    return w.pass_through != 0 or top(s, k, x, y) == FLOOR


@scratch
def room(s, w, k, x, y):
    """Return the nearest free cell, as y * side + x, or -1; first up, right, down, left."""
    seen = np.zeros(k.side * k.side, np.uint8)
    queue = np.zeros(k.side * k.side, np.int64)
    queue[0] = y * k.side + x
    seen[queue[0]] = 1
    head, tail = 0, 1
    while head < tail:
        x, y = queue[head] % k.side, queue[head] // k.side
        head += 1
        if is_free(s, w, k, x, y):
            return y * k.side + x
        for h in range(4):
            to_x, to_y = x + DX[h], y + DY[h]
            if to_x < 0 or to_y < 0 or to_x >= w.width or to_y >= w.height:
                continue
            cell = to_y * k.side + to_x
            if seen[cell] == 0 and WALKED[peek(s.cells, cell)]:
                seen[cell] = 1
                queue[tail] = cell
                tail += 1
    return -1


@kernel
def enter_one(one, k, a):
    """Let agent `a` of a batch of one enter now. Returns whether there was room for it."""
    x = one[0]
    entered = come(x.state, x.table, k, a)
    if entered:
        x.events[a] = ENTER
    return entered
