"""What agents see: the compiled writer of vectors and masks.

`piase_gym.worlds.grid_world.views` says in plain Python what each byte means; the kit holds the
two against each other.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import device, load64, store64
from piase_gym.textcode import HINT_CODE
from piase_gym.worlds.grid_world.cells import AGENT, CLOSED, GOAL, LOCKED, OUTSIDE, UNSEEN, WALL
from piase_gym.worlds.grid_world.rules import DX, DY, STAYING, interaction
from piase_gym.worlds.grid_world.state import ILLEGAL, NONE, SCALARS

U8, U16, U24, U32, U40, U48 = (np.uint64(8 * i) for i in range(1, 7))


@device
def copy_rows(s, w, base, rows, columns, obs, p):
    """Copy a rectangle of the maps to ``obs[p:]``, eight bytes at a time.

    The last word of a row runs into the next row, which then overwrites it; after the last row it
    runs into the scalars, which are written later.
    """
    for row in range(rows):
        for column in range(0, columns, 8):
            word = load64(s.maps, base + row * w.stride + column)
            store64(obs, p + row * columns + column, word)


@device
def frame(s, w, a, obs, p):
    """Copy what agent `a` sees to ``obs[p:]``: the window turned to its heading, or the grid."""
    if w.full_grid:
        copy_rows(s, w, w.place[0], w.frame_h, w.frame_w, obs, p)
        return
    cell = s.y[a] * w.side + s.x[a]
    base = w.place[4 * cell + s.heading[a]] - (w.frame_h - 1) * w.stride - w.frame_w // 2
    if w.frame_w == 7:  # the usual window: constants let the compiler unroll the loops
        copy_rows(s, w, base, 7, 7, obs, p)
    else:
        copy_rows(s, w, base, w.frame_h, w.frame_w, obs, p)


@device
def shorten(w, obs, p):
    """Blank what lies beyond a window smaller than the envelope's."""
    middle, size = w.frame_w // 2, w.window
    for row in range(w.frame_h):
        for column in range(w.frame_w):
            near = row >= w.frame_h - size and abs(column - middle) <= size // 2
            if not near:
                obs[p + row * w.frame_w + column] = UNSEEN


@device
def opaque(code):
    """Tell whether sight ends at this cell."""
    return code == WALL or code == LOCKED or code == CLOSED or code == OUTSIDE


@device
def occlude(w, obs, p):
    """Blank what is hidden: sight spreads from the viewer's cell to the sides and ahead.

    Row by row, starting with the viewer's, a seen cell that is not opaque shows its neighbours to
    both sides and the three cells ahead of it that touch it on the side the sweep goes to.
    """
    k = w.frame_w
    seen = 1 << (k // 2)
    for row in range(k - 1, -1, -1):
        ahead = 0
        for i in range(k - 1):
            if (seen >> i) & 1 and not opaque(obs[p + row * k + i]):
                seen |= 2 << i
                ahead |= 3 << i
        for i in range(k - 1, 0, -1):
            if (seen >> i) & 1 and not opaque(obs[p + row * k + i]):
                seen |= 1 << (i - 1)
                ahead |= 3 << (i - 1)
        for i in range(k):
            if not (seen >> i) & 1:
                obs[p + row * k + i] = UNSEEN
        seen = ahead


@device
def goal_sense(s, w, a, obs, p):
    """Return where the nearest visible goal is, relative to agent `a`, as a number of two bytes.

    The low byte is ahead (or down), the high one right, both offset to be positive; 0 for none.
    """
    found = 0
    nearest = 1 << 30
    h = s.heading[a]
    for g in range(s.num_goals):
        dx, dy = s.goals[g, 0] - s.x[a], s.goals[g, 1] - s.y[a]
        distance = abs(dx) + abs(dy)
        if w.full_grid:
            shown = True
            cell = s.goals[g, 1] * w.frame_w + s.goals[g, 0]
            down, right = dy + 64, dx + 64
        else:
            ahead = dx * DX[h] + dy * DY[h]
            aside = dy * DX[h] - dx * DY[h]
            half = w.frame_w // 2
            shown = 0 <= ahead < w.frame_h and abs(aside) <= half
            cell = (w.frame_h - 1 - ahead) * w.frame_w + half + aside
            down, right = ahead + 1, aside + half + 1
        if shown and distance < nearest and obs[p + cell] == GOAL:
            nearest = distance
            found = down | right << 8
    return found


@device
def sight(s, w, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``."""
    frame(s, w, a, obs, p)
    if not w.full_grid:
        if w.window < w.frame_w:
            shorten(w, obs, p)
        if w.occlude:
            occlude(w, obs, p)
    q = p + w.frame_w * w.frame_h
    x, y, heading = np.uint64(s.x[a]), np.uint64(s.y[a]), np.uint64(s.heading[a])
    word = np.uint64(s.width) | np.uint64(s.height) << U8 | x << U16 | y << U24
    word |= heading << U32 | np.uint64(s.carry[a]) << U40
    word |= np.uint64(goal_sense(s, w, a, obs, p)) << U48
    store64(obs, q, word)
    store64(obs, q + 8, load64(s.hint, HINT_CODE * a))
    if w.full_grid:
        obs[p + s.y[a] * w.frame_w + s.x[a]] = AGENT + 4 * a + s.heading[a]
    else:
        obs[q - 1 - w.frame_w // 2] = AGENT + 4 * a


@device
def legal(s, w, a, masks, m):
    """Write the mask of agent `a` to ``masks[m:m + w.num_actions]``."""
    for i in range(STAYING + 1):
        masks[m + i] = 1
    h = s.heading[a]
    event = interaction(s, w, a, s.x[a] + DX[h], s.y[a] + DY[h])
    masks[m + STAYING + 1] = event != ILLEGAL


@device
def absent(w, obs, masks, p, m):
    """Write what an agent gets that is not in play: zeros, and a mask for staying."""
    for i in range(w.length):
        obs[p + i] = 0
    for i in range(w.num_actions):
        masks[m + i] = i == STAYING


@device
def observe(s, w, o, events, obs, masks):
    """Write vectors and masks of all agents of one environment, whose rows start at `o`.

    An agent that took no part in this step sees nothing and may only stay.
    """
    for a in range(w.slots):
        p, m = (o + a) * w.length, (o + a) * w.num_actions
        if a < w.agents and events[o + a] != NONE:
            sight(s, w, a, obs, p)
            legal(s, w, a, masks, m)
        else:
            absent(w, obs, masks, p, m)


assert SCALARS >= 8  # the last word of a frame may run this far into the scalars
