"""Free cells and how to draw one of them, while a level is made. Compiled."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import device, helper, integer
from piase_gym.worlds.grid_world.cells import FLOOR
from piase_gym.worlds.painted_map import put

LAYOUT_STREAM = 0
ONE = np.uint64(1)
_EVERY_2 = np.uint64(0x5555555555555555)
_EVERY_4 = np.uint64(0x3333333333333333)
_EVERY_8 = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_2, _4, _56 = np.uint64(2), np.uint64(4), np.uint64(56)


@helper
def draw(s, stop):
    """Draw an integer in ``0..stop-1`` from the layout stream."""
    return integer(s.keys, s.counters, LAYOUT_STREAM, np.int64(stop))


@device
def popcount(word):
    """Return how many bits of a uint64 are set."""
    word -= (word >> ONE) & _EVERY_2
    word = (word & _EVERY_4) + ((word >> _2) & _EVERY_4)
    return np.int64((((word + (word >> _4)) & _EVERY_8) * _ONES) >> _56)


@device
def span(first, last):
    """Return a uint64 with the bits `first` to `last` set."""
    width = np.uint64(63 - (last - first))
    return (~np.uint64(0) >> width) << np.uint64(first)


@helper
def find_free(s, w, k, number):
    """Return the free cell with this number, row by row, as y * side + x, or -1."""
    return pick(s, w, k, number, 0, w.width - 1)


@helper
def pick(s, w, k, number, first, last):
    """Return the free cell with this number in columns `first` to `last`, or -1."""
    columns = span(first, last)
    left = number
    for y in range(w.height):
        bits = s.free[y] & columns
        here = popcount(bits)
        if left < here:
            for _ in range(left):
                bits &= bits - ONE
            return y * k.side + popcount((bits & (~bits + ONE)) - ONE)
        left -= here
    return -1


@helper
def random_free(s, w, k, first, last):
    """Draw a free floor cell in columns `first` to `last`. Returns y * side + x, or -1."""
    if last < first:
        return -1
    columns = span(first, last)
    count = 0
    for y in range(w.height):
        count += popcount(s.free[y] & columns)
    if count == 0:
        return -1
    return pick(s, w, k, draw(s, count), first, last)


@helper
def place_at(s, k, x, y, code):
    """Put an object on a cell (`FLOOR` clears it)."""
    px, py, value = np.int64(x), np.int64(y), np.int64(code)
    put(s, k, px, py, value)
    bit = ONE << np.uint64(px)
    if value == FLOOR:
        s.free[py] |= bit
    else:
        s.free[py] &= ~bit
