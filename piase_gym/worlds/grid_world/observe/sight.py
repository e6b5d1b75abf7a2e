"""What agents see: the compiled writer of vectors and masks.

`piase_gym.worlds.grid_world.facts` says in plain Python what each byte means; the kit compares
the two.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, hot, inline, load, load64, store, store64
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.channel.kernels import may_say, write_heard
from piase_gym.worlds.grid_world.cells import AGENT, CELLS, GOAL, UNSEEN
from piase_gym.worlds.grid_world.levels.free_cells import ONE, fill, span
from piase_gym.worlds.grid_world.rules.events import ILLEGAL
from piase_gym.worlds.grid_world.rules.memory import recall, remember
from piase_gym.worlds.grid_world.rules.step import ACTIONS, INTERACTING, interaction
from piase_gym.worlds.grid_world.state import SCALARS, STATUS
from piase_gym.worlds.grids.windows import DX, DY, blank_rim, whole_grid, window

CLEAR = np.uint64(1) - CELLS.array("opaque")
"""By code: 1 for what can be seen through, else 0."""
U8, U16, U24, U32, U40, U48, U56 = (np.uint64(8 * i) for i in range(1, 8))


@helper
def sight(s, w, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``, under any config."""
    n = np.int64(w.frame_w)
    q = p + n * w.frame_h
    if w.full_grid:
        whole_grid(s, w, obs, p)
        own, code = s.y[a] * n + s.x[a], AGENT + 4 * a + np.int64(s.heading[a])
    else:
        window(s, w, a, n, obs, p)
        if w.occlude:
            hide(w, obs, p)
        elif w.window < n:
            blank_rim(w, n, obs, p)
        own, code = n * n - 1 - n // 2, AGENT + 4 * a
    scalars(s, w, a, n, obs, p, q)
    store(obs, p + own, code)
    if w.recall:
        remember(s, w, a, n, obs, p)
    q += SCALARS
    if w.status:
        store(obs, q, s.energy[a])
        store(obs, q + 1, s.level[a])
        store(obs, q + 2, s.role[a])
        store(obs, q + 3, min(255, s.num_food))
        q += STATUS
    if w.mail >= 0:
        q = write_heard(s.cells, w, a, obs, q)
    elif w.channel:
        for b in range(w.slots):
            store(obs, q + b, 0 if b == a else s.said[b])
        q += w.slots
    if w.remembers:
        recall(s, w, a, np.int64(w.sight_w), np.int64(w.sight_h), obs, q)


@hot
def sight_plain(s, w, a, obs, p):
    """Do what `sight` does, where only plain rules are in use (``w.full`` is 0)."""
    window(s, w, a, 7, obs, p)
    scalars(s, w, a, np.int64(7), obs, p, p + 7 * 7)
    store(obs, p + 7 * 7 - 1 - 7 // 2, AGENT + 4 * a)


@hot
def scalars(s, w, a, n, obs, p, q):
    """Write what follows the frame (at ``obs[p:]``, `n` columns wide) to ``obs[q:]``."""
    word = np.uint64(w.width) | np.uint64(w.height) << U8 | np.uint64(s.x[a]) << U16
    word |= np.uint64(s.y[a]) << U24 | np.uint64(s.heading[a]) << U32
    word |= np.uint64(s.carry[a]) << U40 | np.uint64(goal_sense(s, w, a, n, obs, p)) << U48
    store64(obs, q, word)
    store64(obs, q + 8, load64(s.hint, HINT_CODE * a))


@helper
def hide(w, obs, p):
    """Blank what walls and doors hide in a window, and what lies beyond its own size.

    Sight spreads row by row, starting with the viewer's: a seen cell that is not opaque shows its
    neighbours to both sides, and the cells ahead of it and of them. A set of cells in a row is a
    word with one bit per column.
    """
    n = np.int64(w.frame_w)
    middle, half = n // 2, w.window // 2
    inside = span(middle - half, middle + half)
    seen = ONE << np.uint64(middle)
    for row in range(n - 1, -1, -1):
        start, clear = p + row * n, np.uint64(0)
        for i in range(n):
            clear |= CLEAR[load(obs, start + i)] << np.uint64(i)
        clear &= inside
        lit = fill(seen & clear, clear)
        beside = (lit | lit << ONE | lit >> ONE) & inside
        seen |= beside
        for i in range(n):
            code = load(obs, start + i)
            store(obs, start + i, code if seen >> np.uint64(i) & ONE else UNSEEN)
        seen = beside if row > n - w.window else np.uint64(0)


@hot
def goal_sense(s, w, a, n, obs, p):
    """Return where the nearest visible goal is, relative to agent `a`, as a number of two bytes.

    The low byte is ahead (or down), the high one right, both offset to be positive; 0 for none.
    Nothing ever stands on a goal, so only what hides cells can hide it.
    """
    found, nearest = 0, 1 << 30
    h, half = s.heading[a], n // 2
    for g in range(s.num_goals):
        dx = np.int64(s.goals[g, 0]) - np.int64(s.x[a])
        dy = np.int64(s.goals[g, 1]) - np.int64(s.y[a])
        if w.full_grid:
            shown, code = True, (dy + 64) | (dx + 64) << 8
        else:
            ahead, right = dx * DX[h] + dy * DY[h], dy * DX[h] - dx * DY[h] + half
            shown = (ahead >= 0) & (ahead < n) & (right >= 0) & (right < n)
            cell = (n - 1 - ahead) * n + right if shown else 0
            shown &= load(obs, p + cell) == GOAL
            code = (ahead + 1) | (right + 1) << 8
        near = shown & (abs(dx) + abs(dy) < nearest)
        nearest = abs(dx) + abs(dy) if near else nearest
        found = code if near else found
    return found


@hot
def legal(s, w, a, masks, m):
    """Write the mask of agent `a` to ``masks[m:m + w.num_actions]``, under any config."""
    can = can_interact(s, w, a)
    for message in range(w.num_actions // ACTIONS):
        known = may_say(w, a, message)
        for i in range(INTERACTING):
            store(masks, m + i, known)
        store(masks, m + INTERACTING, known and can)
        m += ACTIONS


@hot
def legal_plain(s, w, a, masks, m):
    """Do what `legal` does, where only plain rules are in use (``w.full`` is 0)."""
    for i in range(INTERACTING):
        store(masks, m + i, 1)
    store(masks, m + INTERACTING, can_interact(s, w, a))


@inline
def can_interact(s, w, a):
    """Note and return whether interacting is legal for agent `a`."""
    can = interaction(s, w, a) != ILLEGAL
    s.can[a] = can
    return can
