"""Sets of cells as words with one bit per column, and free cells of a new level. Compiled."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, inline, integer
from piase_gym.worlds.grid_world.cells import FLOOR

LAYOUT_STREAM = 0
ONE = np.uint64(1)
_EVERY_2 = np.uint64(0x5555555555555555)
_EVERY_4 = np.uint64(0x3333333333333333)
_EVERY_8 = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_2, _4, _56 = np.uint64(2), np.uint64(4), np.uint64(56)


@inline
def draw(s, stop):
    """Draw an integer in ``0..stop-1`` from the layout stream."""
    return _draw(s, np.int64(stop))


@helper
def _draw(s, stop):
    return integer(s, LAYOUT_STREAM, stop)


@inline
def popcount(word):
    """Return how many bits of a uint64 are set."""
    word -= (word >> ONE) & _EVERY_2
    word = (word & _EVERY_4) + ((word >> _2) & _EVERY_4)
    return np.int64((((word + (word >> _4)) & _EVERY_8) * _ONES) >> _56)


@inline
def span(first, last):
    """Return a uint64 with the bits `first` to `last` set."""
    width = np.uint64(63 - (last - first))
    return (~np.uint64(0) >> width) << np.uint64(first)


@inline
def fill(seeds, free):
    """Return all cells of a row that are in one run of free cells with a (free) seed cell."""
    right = ((seeds + free) ^ free) | seeds
    span, run = free & (free >> ONE), ONE
    left = seeds | (free & (seeds >> ONE))
    for _ in range(5):  # runs of 2, 4, 8, 16, 32 cells to the left
        run <<= ONE
        left |= span & (left >> run)
        span &= span >> run
    return (right | left) & free


@inline
def find_free(s, w, number):
    """Return the free cell with this number, row by row, as y * side + x, or -1."""
    return pick(s, w, np.int64(number), np.int64(0), np.int64(w.width - 1))


@helper
def pick(s, w, number, first, last):
    """Return the free cell with this number in columns `first` to `last`, or -1."""
    columns = span(first, last)
    left = number
    for y in range(w.height):
        bits = s.free[w.free + y] & columns
        here = popcount(bits)
        if left < here:
            for _ in range(left):
                bits &= bits - ONE
            return y * w.side + popcount((bits & (~bits + ONE)) - ONE)
        left -= here
    return -1


@inline
def random_free(s, w, first, last):
    """Draw a free floor cell in columns `first` to `last`; return y * side + x, or -1."""
    return _random_free(s, w, np.int64(first), np.int64(last))


@helper
def _random_free(s, w, first, last):
    if last < first:
        return -1
    columns = span(first, last)
    count = 0
    for y in range(w.height):
        count += popcount(s.free[w.free + y] & columns)
    if count == 0:
        return -1
    return pick(s, w, draw(s, count), first, last)


@inline
def place_at(s, w, x, y, code):
    """Put an object on a cell (`FLOOR` clears it)."""
    _place_at(s, w, np.int64(x), np.int64(y), np.int64(code))


@helper
def _place_at(s, w, x, y, code):
    s.cells[y * w.side + x] = code
    bit = ONE << np.uint64(x)
    if code == FLOOR:
        s.free[w.free + y] |= bit
    else:
        s.free[w.free + y] &= ~bit
