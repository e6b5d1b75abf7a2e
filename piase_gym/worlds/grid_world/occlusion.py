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
    LOCKED,
    OPAQUE,
    OUTSIDE,
    UNSEEN,
    WALL,
)

# One byte a cell, eight cells a word.
ONES = np.uint64(0x0101010101010101)
SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
TOPS = np.uint64(0x8080808080808080)
FULL = np.uint64(255)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_7, _8, _16, _32 = (np.uint64(n) for n in (7, 8, 16, 32))

# Opaque codes of which two differ in one bit are found together.
assert sorted(OPAQUE) == sorted((WALL, OUTSIDE, LOCKED, CLOSED, GATE))
assert (WALL ^ OUTSIDE).bit_count() == 1
assert (LOCKED ^ CLOSED).bit_count() == 1
assert UNSEEN == 0
WALLS = ONES * np.uint64(WALL | OUTSIDE)
DOORS = ONES * np.uint64(LOCKED | CLOSED)
GATES = ONES * np.uint64(GATE)
WALL_BIT = ONES * np.uint64(WALL ^ OUTSIDE)
DOOR_BIT = ONES * np.uint64(LOCKED ^ CLOSED)


@device
def differs(word, codes):
    """Return the top bit of each byte that differs from that of `codes`; other bits are noise."""
    odd = word ^ codes
    return ((odd & SEVENS) + SEVENS) | odd


@device
def clear(word):
    """Return 255 for each byte whose cell can be seen through, 0 for others."""
    free = differs(word | WALL_BIT, WALLS) & differs(word | DOOR_BIT, DOORS)
    free &= differs(word, GATES) & TOPS
    return (free - (free >> _7)) | free


@device
def peer(s, k, base, n, window, obs, p):
    """Write a window of `n` rows of `n` cells, fewer than 8, from the maps to ``obs[p:]``.

    A row is a word, a cell a byte. A sum carries sight to the right through all clear cells
    at once, because their bytes are 255; to the left it takes three steps. What is seen to the
    left is the same before and after the sweep to the right.

    Args:
        s: The environment's record.
        k: Statics.
        base: Where the first row starts in the maps.
        n: Rows and columns.
        window: How many of them are seen at all; the viewer stands in the middle of the last row.
        obs: Vectors.
        p: Where the window starts in them.
    """
    width, middle = np.uint64(8 * n), n // 2
    inside = (ONES >> np.uint64(64 - 8 * window)) << np.uint64(8 * (middle - window // 2))
    seen = np.uint64(1) << np.uint64(8 * middle)
    below = np.uint64(0)
    for i in range(n):
        row = n - 1 - i
        word = load64(s.maps, base + row * k.stride)
        open_1 = clear(word)
        open_2 = open_1 & (open_1 >> _8)
        open_4 = open_2 & (open_2 >> _16)
        source = seen & open_1
        right = (((source + open_1) ^ open_1) | seen) & inside
        left = source | (open_1 & (source >> _8))
        left |= open_2 & (left >> _16)
        left |= open_4 & (left >> _32)
        seen = (right | left | (left >> _8)) & inside
        # The word runs into the rows below, which it writes again.
        below = (word & (seen * FULL)) | (below << width)
        store64(obs, p + row * n, below)
        onwards = seen & open_1
        seen = (onwards | (onwards >> _8) | ((right & open_1) << _8)) & inside
        if i == window - 1:
            seen = np.uint64(0)


@helper
def opaque(code):
    """Tell whether sight ends at this cell."""
    return code in (WALL, LOCKED, CLOSED, GATE, OUTSIDE)


@helper
def occlude(n, window, obs, p):
    """Blank what is hidden in a frame of any size, cell by cell; see `peer`."""
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
