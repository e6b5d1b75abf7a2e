"""What agents see: the compiled writer of vectors and masks.

`piase_gym.worlds.grid_world.views` says in plain Python what each byte means; the kit holds the
two against each other.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import device, helper, load64, peek, poke, store64
from piase_gym.textcode import HINT_CODE
from piase_gym.worlds.grid_world.cells import AGENT, GOAL
from piase_gym.worlds.grid_world.events import ILLEGAL, NONE
from piase_gym.worlds.grid_world.occlusion import occlude, peer
from piase_gym.worlds.grid_world.rules import ACTIONS, INTERACTING, STAYING, interaction
from piase_gym.worlds.grid_world.state import SCALARS, STATUS
from piase_gym.worlds.turned_maps import DX, DY, copy_rows, shorten

USUAL = 7
"""The width of windows whose loops are unrolled, even where all rules hold."""
WORD = 8
LEGAL = np.uint64(0x0101010101)
"""The mask of the five commands that always are."""
U8, U16, U24, U32, U40, U48, U56 = (np.uint64(8 * i) for i in range(1, 8))


@device
def frame(s, w, k, a, obs, p):
    """Write what agent `a` sees to ``obs[p:]``: the window turned to its heading, or the grid."""
    here = np.int64(s.at[4 * a + s.heading[a]])
    if k.frame:  # a constant, which lets the compiler unroll the loops
        base = here - (k.frame - 1) * k.stride - k.frame // 2
        copy_rows(s, k, base, k.frame, k.frame, obs, p)
    elif w.full_grid:
        copy_rows(s, k, k.ahead + k.beside, w.frame_h, w.frame_w, obs, p)
    else:
        look(s, w, k, here, obs, p)


@device
def look(s, w, k, here, obs, p):
    """Write the window of one that stands at `here`, less what is hidden or beyond its own size."""
    n, window = np.int64(w.frame_w), np.int64(w.window)
    base = here - (n - 1) * k.stride - n // 2
    if n == USUAL and window == USUAL:  # as constants
        if w.occlude:
            peer(s, k, base, USUAL, USUAL, obs, p)
        else:
            copy_rows(s, k, base, USUAL, USUAL, obs, p)
    elif w.occlude and n < WORD:
        peer(s, k, base, n, window, obs, p)
    else:
        copy_rows(s, k, base, n, n, obs, p)
        if w.occlude:
            occlude(n, window, obs, p)
        elif window < n:
            shorten(w, obs, p)


@device
def goal_sense(s, w, k, a, obs, p):
    """Return where the nearest visible goal is, relative to agent `a`, as a number of two bytes.

    The low byte is ahead (or down), the high one right, both offset to be positive; 0 for none.
    Nothing ever stands on a goal, so only what hides cells can hide it.
    """
    if k.frame and s.num_goals == 1:
        return sense_one(s, k, a)
    found = 0
    nearest = 1 << 30
    h = s.heading[a]
    for g in range(s.num_goals):
        dx = np.int64(s.goals[g, 0]) - np.int64(s.x[a])
        dy = np.int64(s.goals[g, 1]) - np.int64(s.y[a])
        distance = abs(dx) + abs(dy)
        if not k.frame and w.full_grid:
            code, shown = (dy + 64) | (dx + 64) << 8, True
        else:
            rows = k.frame if k.frame else np.int64(w.frame_w)
            half = rows // 2
            ahead = dx * DX[h] + dy * DY[h]
            right = dy * DX[h] - dx * DY[h] + half
            shown = (ahead >= 0) & (ahead < rows) & (right >= 0) & (right < rows)
            code = (ahead + 1) | (right + 1) << 8
            if not k.frame:
                cell = (rows - 1 - ahead) * rows + right if shown else 0
                shown = shown and peek(obs, p + cell) == GOAL
        near = shown & (distance < nearest)
        found = code if near else found
        nearest = distance if near else nearest
    return found


@device
def sense_one(s, k, a):
    """Do what `goal_sense` does, where there is one goal and nothing hides it."""
    dx = np.int64(s.goals[0, 0]) - np.int64(s.x[a])
    dy = np.int64(s.goals[0, 1]) - np.int64(s.y[a])
    h = s.heading[a]
    ahead = dx * DX[h] + dy * DY[h]
    right = dy * DX[h] - dx * DY[h] + k.frame // 2
    shown = (np.uint64(ahead) < np.uint64(k.frame)) & (np.uint64(right) < np.uint64(k.frame))
    return ((ahead + 1) | (right + 1) << 8) & -np.int64(shown)


@device
def sight(s, w, k, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``."""
    frame(s, w, k, a, obs, p)
    q = p + (k.frame * k.frame if k.frame else np.int64(w.frame_w) * np.int64(w.frame_h))
    x, y, heading = np.uint64(s.x[a]), np.uint64(s.y[a]), np.uint64(s.heading[a])
    word = np.uint64(w.width) | np.uint64(w.height) << U8 | x << U16 | y << U24
    word |= heading << U32 | np.uint64(s.carry[a]) << U40
    word |= np.uint64(goal_sense(s, w, k, a, obs, p)) << U48
    store64(obs, q, word)
    store64(obs, q + 8, load64(s.hint, HINT_CODE * a))
    if not k.frame and w.full_grid:
        own = p + np.int64(s.y[a]) * w.frame_w + s.x[a]
        poke(obs, own, AGENT + 4 * a + np.int64(s.heading[a]))
    else:
        half = k.frame // 2 if k.frame else np.int64(w.frame_w) // 2
        poke(obs, q - 1 - half, AGENT + 4 * a)
    if k.full:
        widen(s, w, a, obs, q + SCALARS)


@helper
def widen(s, w, a, obs, q):
    """Write what vectors hold only if the envelope says so: status and messages."""
    if w.status:
        obs[q] = s.energy[a]
        obs[q + 1] = s.level[a]
        obs[q + 2] = s.role[a]
        obs[q + 3] = min(255, s.num_food)
        q += STATUS
    if w.channel:
        for b in range(w.slots):
            obs[q + b] = s.said[b] if b != a else 0


@device
def legal(s, w, k, a, masks, m):
    """Write the mask of agent `a` to ``masks[m:m + w.num_actions]``."""
    can = interaction(s, w, k, a) != ILLEGAL
    s.can[a] = can
    for i in range(INTERACTING):
        poke(masks, m + i, 1)
    poke(masks, m + INTERACTING, can)
    if k.full and w.channel:
        spell(w, can, masks, m)


@device
def spell(w, can, masks, m):
    """Write the mask of commands with a message: for each symbol what holds without one.

    A word holds the six bytes of a symbol behind the last two of the one before it.
    """
    last = np.uint64(1) | np.uint64(can) << U8
    word = last | LEGAL << U16 | np.uint64(can) << U56
    for symbol in range(1, w.num_actions // ACTIONS):
        if symbol > w.symbols:  # the envelope has it, this config has not
            word = last if symbol == w.symbols + 1 else np.uint64(0)
        store64(masks, m + symbol * ACTIONS - 2, word)


@helper
def absent(w, obs, masks, p, m):
    """Write what an agent gets that is not in play: zeros, and a mask for staying."""
    for i in range(w.length):
        obs[p + i] = 0
    for i in range(w.num_actions):
        masks[m + i] = i == STAYING


@device
def observe(s, w, k, o, events, obs, masks):
    """Write vectors and masks of all agents of one environment, whose rows start at `o`.

    An agent that took no part in this step sees nothing and may only stay.
    """
    length, actions = sizes(w, k)
    for a in range(w.slots):
        p, m = (o + a) * length, (o + a) * actions
        if a < w.agents and events[o + a] != NONE:
            sight(s, w, k, a, obs, p)
            legal(s, w, k, a, masks, m)
        else:
            absent(w, obs, masks, p, m)


@device
def sizes(w, k):
    """Return the length of a vector and of a mask, as constants where they are known."""
    if k.frame:
        return k.frame * k.frame + SCALARS, ACTIONS
    return np.int64(w.length), np.int64(w.num_actions)


assert SCALARS >= 8  # the last word of a frame may run this far into the scalars
assert (INTERACTING, ACTIONS) == (5, 6)  # so that a word holds the mask of one symbol
