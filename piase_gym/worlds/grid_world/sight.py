"""What agents see: the compiled writer of vectors and masks.

`piase_gym.worlds.grid_world.views` says in plain Python what each byte means; the kit holds the
two against each other.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.kernels import device, helper, load64, peek, poke, rare, store64
from piase_gym.worlds.grid_world.cells import AGENT, GOAL
from piase_gym.worlds.grid_world.events import ILLEGAL, NONE
from piase_gym.worlds.grid_world.occlusion import look_around, occlude, peer, peer_7
from piase_gym.worlds.grid_world.rules import ACTIONS, INTERACTING, STAYING, interaction
from piase_gym.worlds.grid_world.state import SCALARS, STATUS
from piase_gym.worlds.grid_world.tables import MASK
from piase_gym.worlds.painted_map import (
    DX,
    DY,
    SEVEN,
    shorten,
    whole_grid,
    window,
    window_7,
)

WORD = 8
NO_GOAL = 64
"""What `frame` returns if there is no goal in sight."""
SENSED = np.zeros(65, np.int64)
"""What `goal_sense` returns for a goal in one of the 49 cells of a window of 7; else 0."""
for _row in range(SEVEN):
    for _column in range(SEVEN):
        SENSED[SEVEN * _row + _column] = (SEVEN - _row) | (_column + 1) << 8
U8, U16, U24, U32, U40, U48, U56 = (np.uint64(8 * i) for i in range(1, 8))


@device
def frame(s, w, k, a, obs, p):
    """Write what agent `a` sees to ``obs[p:]``: the window turned to its heading, or the grid.

    Returns:
        The place of the first goal in a window of 7, or 64; -1 of other frames.
    """
    if k.frame:  # a constant: 7, where there is nothing but windows of that size
        return window_7(s, w, k, a, obs, p, GOAL)
    if w.full_grid:
        whole_grid(s, w, k, obs, p)
        return -1
    if w.frame_w == SEVEN and w.window == SEVEN:
        if w.occlude:
            return peer_7(s, a, obs, p)
        return window_7(s, w, k, a, obs, p, GOAL)
    look(s, w, k, a, obs, p)
    return -1


@helper
def look(s, w, k, a, obs, p):
    """Write the window of agent `a`, less what is hidden or beyond its own size."""
    n, size = np.int64(w.frame_w), np.int64(w.window)
    if w.occlude and n < WORD:
        peer(s, w, k, a, n, size, obs, p)
        return
    window(s, w, k, a, n, obs, p)
    if w.occlude:
        occlude(n, size, obs, p)
    elif size < n:
        shorten(w, obs, p)


@device
def goal_sense(s, w, k, a, obs, p, first):
    """Return where the nearest visible goal is, relative to agent `a`, as a number of two bytes.

    The low byte is ahead (or down), the high one right, both offset to be positive; 0 for none.
    Nothing ever stands on a goal, so only what hides cells can hide it. `first` is what `frame` has
    returned.
    """
    if first >= 0 and s.num_goals == 1:
        return np.int64(SENSED[first])
    if first == NO_GOAL:
        return 0
    return nearest(s, w, k, a, obs, p)


@rare
def nearest(s, w, k, a, obs, p):
    """Look for the nearest visible goal in the list of goals; see `goal_sense`."""
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
def sight(s, w, k, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``."""
    first = frame(s, w, k, a, obs, p)
    q = p + (k.frame * k.frame if k.frame else np.int64(w.frame_w) * np.int64(w.frame_h))
    x, y, heading = np.uint64(s.x[a]), np.uint64(s.y[a]), np.uint64(s.heading[a])
    word = w.size | x << U16 | y << U24
    word |= heading << U32 | np.uint64(s.carry[a]) << U40
    word |= np.uint64(goal_sense(s, w, k, a, obs, p, first)) << U48
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


@device
def widen(s, w, a, obs, q):
    """Write what vectors hold only if the envelope says so: status and messages."""
    if w.status:
        poke(obs, q, s.energy[a])
        poke(obs, q + 1, s.level[a])
        poke(obs, q + 2, s.role[a])
        poke(obs, q + 3, min(255, s.num_food))
        q += STATUS
    if w.channel:
        for b in range(w.slots):
            poke(obs, q + b, s.said[b])
        poke(obs, q + a, 0)


@device
def legal(s, w, k, a, masks, m):
    """Write the mask of agent `a` to ``masks[m:m + w.num_actions]``."""
    can = interaction(s, w, k, a) != ILLEGAL
    s.can[a] = can
    if k.full and w.channel:
        last = np.int64(w.num_actions) - WORD
        for i in range(0, last, WORD):
            store64(masks, m + i, load64(w.mask, i + MASK * can))
        store64(masks, m + last, load64(w.mask, last + MASK * can))
        return
    for i in range(INTERACTING):
        poke(masks, m + i, 1)
    poke(masks, m + INTERACTING, can)


@device
def absent(w, k, obs, masks, p, m):
    """Write what an agent gets that is not in play: zeros, and a mask for staying."""
    if k.full:  # where agents often end long before the others
        blank(obs, p, np.int64(w.length))
        if w.channel:
            blank(masks, m, np.int64(w.num_actions))
            poke(masks, m + STAYING, 1)
        else:
            stay(masks, m)
    else:
        absent_rarely(w, obs, masks, p, m)


@rare
def absent_rarely(w, obs, masks, p, m):
    """Do what `absent` does, where agents hardly ever end before the others."""
    blank(obs, p, np.int64(w.length))
    stay(masks, m)


@device
def blank(array, start, length):
    """Write zeros, at least eight, a word at a time; the last two words may overlap."""
    last = length - WORD
    for i in range(0, last, WORD):
        store64(array, start + i, np.uint64(0))
    store64(array, start + last, np.uint64(0))


@device
def stay(masks, m):
    """Write a mask of the commands without a message that allows only to stay."""
    for i in range(ACTIONS):
        poke(masks, m + i, i == STAYING)


@device
def observe(s, w, k, o, events, obs, masks):
    """Write vectors and masks of all agents of one environment, whose rows start at `o`.

    An agent that took no part in this step sees nothing and may only stay.
    """
    length, actions = sizes(w, k)
    p, m = o * length, o * actions
    look_ahead(s, w, k, events, o, False, obs)
    for a in range(w.slots):
        row = np.uint64(o + a)  # unsigned: no need to ask whether it counts from the end
        if a < w.agents and events[row] != NONE:
            sight(s, w, k, a, obs, p)
            legal(s, w, k, a, masks, m)
        else:
            absent(w, k, obs, masks, p, m)
        p += length
        m += actions


@device
def look_ahead(s, w, k, events, o, everyone, obs):
    """Do what `frame` needs to be done for all agents together: find out what hides what."""
    if k.full and w.occlude and w.frame_w == SEVEN and w.window == SEVEN and not w.full_grid:
        look_around(s, w, k, events, o, everyone, obs)


@device
def sizes(w, k):
    """Return the length of a vector and of a mask, as constants where they are known."""
    if k.frame:
        return k.frame * k.frame + SCALARS, ACTIONS
    return np.int64(w.length), np.int64(w.num_actions)


assert SCALARS >= 8  # the last word of a frame may run this far into the scalars
assert 2 * ACTIONS >= WORD  # the shortest mask with messages
