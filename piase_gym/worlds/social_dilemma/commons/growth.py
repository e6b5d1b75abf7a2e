"""What grows in the commons without anybody's doing: apples, and waste. Compiled."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import happens, helper, integer
from piase_gym.worlds.grids.codes import FLOOR
from piase_gym.worlds.grids.windows import put, top
from piase_gym.worlds.social_dilemma.commons.codes import APPLE, WASTE, WATER
from piase_gym.worlds.social_dilemma.commons.state import DYNAMICS

_1 = np.uint64(1)


@helper
def popcount(word):
    """Return how many of a few bits are set."""
    count = 0
    while word != np.uint64(0):
        word &= word - _1
        count += 1
    return count


@helper
def lowest(word):
    """Return the place of the lowest bit that is set."""
    place = 0
    step = 32
    while step:
        if word & ((_1 << np.uint64(step)) - _1) == np.uint64(0):
            word >>= np.uint64(step)
            place += step
        step >>= 1
    return place


@helper
def row_of(words, w, y, x, reach):
    """Return the bits of a row from column ``x - reach`` to ``x + reach``; none beyond the grid."""
    if y < 0 or y >= w.height:
        return np.uint64(0)
    word = words[y]
    shifted = word << np.uint64(reach - x) if x < reach else word >> np.uint64(x - reach)
    return shifted & ((_1 << np.uint64(2 * reach + 1)) - _1)


@helper
def apples_near(s, w, x, y):
    """Return how many apples hang within two cells of (x, y), by Euclid's distance."""
    count = popcount(row_of(s.ripe, w, y, x, 2))
    count += popcount(row_of(s.ripe, w, y - 1, x, 1)) + popcount(row_of(s.ripe, w, y + 1, x, 1))
    return count + popcount(row_of(s.ripe, w, y - 2, x, 0) | row_of(s.ripe, w, y + 2, x, 0) << _1)


@helper
def regrow(s, w):
    """Let apples grow the better, the more hang near: all at once, row by row in the dice."""
    for y in range(w.height):
        grown = np.uint64(0)
        empty = s.spots[y] & ~s.ripe[y]
        while empty != np.uint64(0):
            x = lowest(empty)
            empty &= empty - _1
            chance = w.regrowth[min(3, apples_near(s, w, x, y))]
            if chance > 0 and happens(s, DYNAMICS, chance) and top(s, w, x, y) == FLOOR:
                grown |= _1 << np.uint64(x)
        s.grown[y] = grown
    hang(s, w)


@helper
def bear(s, w):
    """Let apples grow in the orchard, the better, the less waste there is."""
    share = 1.0 - s.waste / w.most_waste
    if share <= 0.0 or w.apple_chance <= 0.0:
        return
    chance = np.int64(w.apple_chance * share * 4294967296.0)
    for y in range(w.height):
        grown = np.uint64(0)
        empty = s.spots[y] & ~s.ripe[y]
        while empty != np.uint64(0):
            x = lowest(empty)
            empty &= empty - _1
            if happens(s, DYNAMICS, chance) and top(s, w, x, y) == FLOOR:
                grown |= _1 << np.uint64(x)
        s.grown[y] = grown
    hang(s, w)


@helper
def hang(s, w):
    """Hang the apples that have grown."""
    for y in range(w.height):
        grown = s.grown[y]
        s.ripe[y] |= grown
        while grown != np.uint64(0):
            put(s, w, lowest(grown), y, APPLE)
            grown &= grown - _1


@helper
def pollute(s, w):
    """Turn a random cell of water to waste, by chance, while there is little of it."""
    if s.waste >= w.most_waste or not happens(s, DYNAMICS, w.waste_chance):
        return
    foul(s, w, DYNAMICS)


@helper
def foul(s, w, stream):
    """Turn a random cell of water, on which nobody stands, to waste."""
    count = 0
    for y in range(w.height):
        for x in range(w.river):
            count += top(s, w, x, y) == WATER
    if count == 0:
        return
    left = integer(s, stream, count)
    for y in range(w.height):
        for x in range(w.river):
            if top(s, w, x, y) == WATER:
                if left == 0:
                    put(s, w, x, y, WASTE)
                    s.waste += 1
                    return
                left -= 1
