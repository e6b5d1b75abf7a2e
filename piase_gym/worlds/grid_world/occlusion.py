"""What walls and doors hide from those who do not see through them. Compiled.

Sight spreads row by row, starting with the viewer's: a seen cell that is not opaque shows its
neighbours to both sides, and the cells ahead of it that touch it on the side the sweep goes to.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import device, helper, load64, store64
from piase_gym.worlds.grid_world.cells import (
    CLOSED,
    GATE,
    GOAL,
    LOCKED,
    OPAQUE,
    OUTSIDE,
    UNSEEN,
    WALL,
)
from piase_gym.worlds.grid_world.events import NONE
from piase_gym.worlds.painted_map import turn_block
from piase_gym.worlds.turning import matcher, reveal_7, reveal_8

WIDTH = 7
"""The widest row that `SEEN` and `ONWARDS` know, in bits."""
ROW = (1 << WIDTH) - 1
opaque_cells = matcher(sorted(OPAQUE))


def _spread(seen: int, clear: int) -> int:
    """Say how sight spreads in a row and from it, a bit a cell.

    Args:
        seen: What is seen of the row from the row before.
        clear: What can be seen through.

    Returns:
        What is seen of the row, and from bit `WIDTH` on what that shows of the next row.
    """
    onwards = 0
    for i in range(WIDTH - 1):
        if (seen & clear) >> i & 1:
            seen |= 2 << i
            onwards |= 3 << i
    for i in range(WIDTH - 1, 0, -1):
        if (seen & clear) >> i & 1:
            seen |= 1 << (i - 1)
            onwards |= 3 << (i - 1)
    return seen | onwards << WIDTH


_BOTH = np.array([_spread(i & ROW, i >> WIDTH) for i in range(1 << 2 * WIDTH)])
SEEN, ONWARDS = (_BOTH & ROW).astype(np.uint8), (_BOTH >> WIDTH).astype(np.uint8)
"""Both halves of `_spread`, of every ``seen | clear << WIDTH``.

A row has to wait for the row before it, so what it waits for is a small table of its own.
"""


@device
def look_around(s, w, k, events, o, everyone, obs):
    """Write the blocks of all agents' windows of 7 to `obs`, and note in ``s.shown`` what they see.

    A row of a window has to wait for the row before it. So that processors have something else to
    do meanwhile, the rows of all agents are gone through with nothing in between.

    Args:
        s: The environment's record.
        w: Its table.
        k: Statics.
        events: Who takes part, from row `o` on.
        o: The row of the first agent there.
        everyone: Whether all do, whatever `events` says.
        obs: Vectors.
    """
    for a in range(w.agents):
        if everyone or events[np.uint64(o + a)] != NONE:
            p = (o + a) * np.int64(w.length)
            turn_block(s, w, k, a, obs, p)
            s.shown[a] = ~opaque_cells(obs, p)
    for a in range(w.agents):
        s.shown[a] = visible(s.shown[a], WIDTH, WIDTH)


@device
def visible(clear, n, window):
    """Return the bits of the cells that are not hidden, given those that can be seen through."""
    middle = n // 2
    inside = ((1 << window) - 1) << (middle - window // 2)
    found, seen = np.uint64(0), 1 << middle
    for i in range(window):
        shift = np.uint64(8 * (n - 1 - i))
        row = seen | (np.int64(clear >> shift) & inside) << WIDTH
        seen = np.int64(ONWARDS[row]) & inside
        found |= np.uint64(np.int64(SEEN[row]) & inside) << shift
    return found


@device
def peer_7(s, a, obs, p):
    """Hide what agent `a` does not see in its block. Returns the place of the first goal, or 64."""
    return reveal_7(obs, p, s.shown[a], obs, p, GOAL)


@helper
def peer(s, w, k, a, n, window, obs, p):
    """Write what agent `a` sees of a window of fewer than seven rows and columns, or in one."""
    turn_block(s, w, k, a, s.block, 0)
    shown = visible(~opaque_cells(s.block, 0), n, window)
    reveal_8(s.block, 0, shown, s.block, 0, GOAL)
    for row in range(n):
        store64(obs, p + row * n, load64(s.block, 8 * row))


@helper
def opaque(code):
    """Tell whether sight ends at this cell."""
    return code in (WALL, LOCKED, CLOSED, GATE, OUTSIDE)


@helper
def occlude(n, window, obs, p):
    """Blank what is hidden in a frame of any size, cell by cell."""
    first, last = n // 2 - window // 2, n // 2 + window // 2
    seen = 1 << (n // 2)
    for row in range(n - 1, -1, -1):
        ahead, start = 0, p + row * n
        for i in range(first, last):
            if (seen >> i) & 1 and not opaque(obs[start + i]):
                seen |= 2 << i
                ahead |= 3 << i
        for i in range(last, first, -1):
            if (seen >> i) & 1 and not opaque(obs[start + i]):
                seen |= 1 << (i - 1)
                ahead |= 3 << (i - 1)
        for i in range(n):
            if not (seen >> i) & 1:
                obs[start + i] = UNSEEN
        seen = ahead if row > n - window else 0
