"""What agents remember with `recall="map"`: what they saw, and how long ago. Compiled.

The memory of agent a lies in ``s.cells`` after the cells of the grid: one byte per cell with the
code that was last seen there (agents as they face on the grid; 0 for never), and as many with the
steps since then, at most `OLDEST`. What is in view now was seen 0 steps ago.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

from typing import Final

import numpy as np

from piase_gym.compiled import helper, inline, load, store
from piase_gym.worlds.grid_world.cells import AGENT, OUTSIDE, UNSEEN
from piase_gym.worlds.grids.windows import DX, DY, cell_at

OLDEST: Final = 255
PLANES: Final = 2
"""How many bytes an agent remembers per cell."""


@inline
def memory_of(w, a):
    """Return where the codes that agent `a` remembers begin in ``s.cells``."""
    return np.int64(w.memory) + a * PLANES * w.side * w.side


@helper
def forget_all(s, w):
    """Let all agents forget everything: an episode begins."""
    start = np.int64(w.memory)
    for i in range(start, start + len(s.x) * PLANES * w.side * w.side):
        store(s.cells, i, 0)


@helper
def grow_old(s, w):
    """Let everything that is remembered age by one step."""
    area = np.int64(w.side) * w.side
    for a in range(w.agents):
        codes = memory_of(w, a)
        for y in range(w.height):
            for i in range(codes + y * w.side, codes + y * w.side + w.width):
                if load(s.cells, i) and load(s.cells, i + area) < OLDEST:
                    store(s.cells, i + area, load(s.cells, i + area) + 1)


@helper
def remember(s, w, a, n, obs, p):
    """Let agent `a` remember the window of `n` by `n` cells at ``obs[p:]``; its own cell is last.

    Doing so again changes nothing.
    """
    codes, area = memory_of(w, a), np.int64(w.side) * w.side
    heading = np.int64(s.heading[a])
    for row in range(n):
        for column in range(n):
            code = np.int64(load(obs, p + row * n + column))
            ahead, aside = n - 1 - row, column - n // 2
            if code == UNSEEN or code == OUTSIDE:
                continue
            x = np.int64(s.x[a]) + ahead * DX[heading] - aside * DY[heading]
            y = np.int64(s.y[a]) + ahead * DY[heading] + aside * DX[heading]
            i = codes + y * w.side + x
            if ahead == 0 and aside == 0:
                code = cell_at(s, w, x, y)  # what it stands on, which it need not have seen
            elif code >= AGENT:
                code = (code & ~3) | ((code + heading) & 3)
            store(s.cells, i, code)
            store(s.cells, i + area, 0)


@helper
def recall(s, w, a, columns, rows, obs, q):
    """Write what agent `a` remembers but does not see now to ``obs[q:]``: codes, then ages."""
    codes, area = memory_of(w, a), np.int64(w.side) * w.side
    for y in range(rows):
        for x in range(columns):
            i, at = codes + y * w.side + x, q + y * columns + x
            age = load(s.cells, i + area) if w.recall else 0
            store(obs, at, load(s.cells, i) if age else 0)
            store(obs, at + columns * rows, age)
