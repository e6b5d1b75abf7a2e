"""Whether a level can be solved: a flood fill that learns to open doors. Compiled.

It errs on the safe side: boxes, hazards, drones and food count as walls, and so does the
cell of a key or switch, since it is enough to reach a cell next to it. Keys are kept after use, so
one key in reach opens every locked door in reach; a switch in reach opens every gate (and closes
those that were open, so only one kind counts as open at a time: open gates until a switch is
reached, then closed ones).

A set of cells is one uint64 per row, with a bit for each column, so that a row is filled at once.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, inline
from piase_gym.worlds.grid_world.cells import (
    CELLS,
    FOOD,
    GATES,
    KEY,
    KEYS,
    LOCKS,
    MAX_FOOD,
    OPEN_GATES,
    PASSABLE,
    REACHES,
    SHUT,
    SWITCHES,
)
from piase_gym.worlds.grid_world.levels.free_cells import ONE, fill
from piase_gym.worlds.grids.windows import DX, DY, cell_at

REACH = CELLS.array("reach")
"""How the search treats a kind of cell, by code: an index of `sort`'s boards."""

HAS_KEY, HAS_SWITCH = 1, 2
_DOWN, _UP = np.int64(1), np.int64(-1)


@helper
def solvable(s, w):
    """Return whether every agent can do its task, as if it were alone.

    The task is to reach a goal, every piece of food or, in tag, every other agent.
    """
    boards = np.zeros((REACHES, w.side), np.uint64)
    reached, free = np.zeros(w.side, np.uint64), np.zeros(w.side, np.uint64)
    first = np.zeros(w.side, np.uint64)
    sort(s, w, boards)
    for a in range(w.agents):
        # An agent in both areas of the previous one (`first`, `reached`) can reach the same cells.
        alike = a > 0 and (s.carry[a] == KEY) == (s.carry[a - 1] == KEY)
        if alike and holds(s, first, a) and holds(s, reached, a):
            continue
        flood(s, w, a, boards, free, first, reached)
        if w.taggers:
            for b in range(w.agents):
                if not holds(s, reached, b):
                    return False
        elif w.clearing:
            if not all_food_in_reach(s, w, reached):
                return False
        elif not a_goal_in_reach(s, reached):
            return False
    return True


@inline
def has(board, x, y):
    """Return whether a cell is in a set."""
    return (board[np.int64(y)] >> np.uint64(x)) & ONE != np.uint64(0)


@inline
def holds(s, board, a):
    """Return whether agent `a` stands in a set."""
    return has(board, s.x[a], s.y[a])


@helper
def sort(s, w, boards):
    """Set the bit of every cell in the board of its kind."""
    for y in range(w.height):
        passable = np.uint64(0)
        for x in range(w.width):
            kind, bit = REACH[cell_at(s, w, x, y)], ONE << np.uint64(x)
            if kind == PASSABLE:
                passable |= bit
            elif kind != SHUT:
                boards[kind, y] |= bit
        boards[PASSABLE, y] = passable


@helper
def a_goal_in_reach(s, reached):
    """Return whether some goal was reached, or there is none to reach."""
    found = s.num_goals == 0
    for g in range(s.num_goals):
        found |= has(reached, s.goals[g, 0], s.goals[g, 1])
    return found


@helper
def all_food_in_reach(s, w, reached):
    """Return whether enough cells were reached next to each food, and agents are strong enough."""
    force = 0
    for a in range(w.agents):
        force += np.int64(s.level[a])
    for y in range(w.height):
        for x in range(w.width):
            weight = np.int64(cell_at(s, w, x, y)) - FOOD + 1
            if weight < 1 or weight > MAX_FOOD:
                continue
            beside = 0
            for h in range(4):
                beside += is_reached(w, reached, x + DX[h], y + DY[h])
            if weight > force or beside < fewest(s, w, weight):
                return False
    return True


@helper
def fewest(s, w, weight):
    """Return the smallest number of agents that can lift a weight (5 if it takes more than 4)."""
    used, count, left = np.zeros(32, np.uint8), 0, weight
    while left > 0:
        best = -1
        for a in range(w.agents):
            if not used[a] and (best < 0 or s.level[a] > s.level[best]):
                best = a
        if best < 0 or count == 4:
            return 5
        used[best] = 1
        left -= np.int64(s.level[best])
        count += 1
    return count


@helper
def is_reached(w, reached, x, y):
    """Return whether a cell lies in the grid and was reached."""
    inside = x >= 0 and y >= 0 and x < w.width and y < w.height
    return inside and has(reached, x, y)


@helper
def flood(s, w, a, boards, free, first, reached):
    """Find what agent `a` can reach; start again whenever it has found a key or a switch.

    Args:
        s: The environment's record.
        w: Its table.
        a: The agent.
        boards: The boards that `sort` has filled.
        free: Scratch space.
        first: Output: what the agent reaches with what it has at the start.
        reached: Output: what the agent reaches in the end.
    """
    means = HAS_KEY if s.carry[a] == KEY else 0
    x, y = np.int64(s.x[a]), np.int64(s.y[a])
    found = spread(w, x, y, means, boards, free, reached)
    for row in range(w.height):
        first[row] = reached[row]
    while found | means != means:
        means |= found
        found = spread(w, x, y, means, boards, free, reached)


@helper
def spread(w, x, y, means, boards, free, reached):
    """Find what can be reached from a cell with some means; return the means that are found."""
    for row in range(w.height):
        free[row] = boards[PASSABLE, row]
        if means & HAS_KEY:
            free[row] |= boards[KEYS, row] | boards[LOCKS, row]
        free[row] |= boards[GATES, row] if means & HAS_SWITCH else boards[OPEN_GATES, row]
    reached[:] = np.uint64(0)
    reached[y] = ONE << np.uint64(x)
    reached[y] |= fill(around(reached, w, y) & free[y], free[y])
    grown = True
    while grown:  # down, then up, until nothing is new
        grown = sweep(w, free, reached, _DOWN) or sweep(w, free, reached, _UP)
    found = 0
    for row in range(w.height):
        beside = around(reached, w, row)
        found |= HAS_KEY if beside & boards[KEYS, row] else 0
        found |= HAS_SWITCH if beside & boards[SWITCHES, row] else 0
    return found


@helper
def sweep(w, free, reached, step):
    """Let each row grow from its neighbours, in one direction; return whether any has grown."""
    grown = False
    for i in range(w.height):
        y = i if step > 0 else w.height - 1 - i
        new = around(reached, w, y) & free[y] & ~reached[y]
        if new:
            reached[y] |= fill(new, free[y])
            grown = True
    return grown


@inline
def around(reached, w, y):
    """Return the cells of row `y` that lie next to those of a set."""
    row = reached[y]
    found = (row << ONE) | (row >> ONE)
    if y > 0:
        found |= reached[y - 1]
    if y + 1 < w.height:
        found |= reached[y + 1]
    return found
