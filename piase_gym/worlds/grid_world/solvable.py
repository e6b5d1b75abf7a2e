"""Whether a level can be solved: a flood fill that learns to open doors. Compiled.

It errs on the safe side: boxes, hazards, drones and food count as walls, and so does the
cell of a key or switch, which need only be reached from beside. Keys are kept after use, so one
key in reach opens every locked door in reach; a switch in reach opens every gate (and closes those
that were open, so gates of both kinds count as closed until a switch is reached, and then only
one kind is counted on).
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import helper, peek, scratch
from piase_gym.worlds.grid_world.cells import (
    BARE,
    CLOSED,
    FLOOR,
    FOOD,
    FRUIT,
    GATE,
    GATE_OPEN,
    GOAL,
    KEY,
    LOCKED,
    OPEN,
    SWITCH_OFF,
    SWITCH_ON,
)
from piase_gym.worlds.turned_maps import DX, DY

PASSABLE = np.zeros(256, np.bool_)
PASSABLE[np.array([FLOOR, GOAL, CLOSED, OPEN, FRUIT, BARE])] = True
HAS_KEY, HAS_SWITCH = 1, 2


@scratch
def solvable(s, w, k):
    """Tell whether every agent can do its task, as if it were alone.

    That is to reach a goal; to get at every piece of food; or, in tag, to get at every other agent.
    """
    reached = np.zeros(k.side * k.side, np.uint8)
    queue = np.zeros(k.side * k.side, np.int64)
    for a in range(w.agents):
        flood(s, w, k, a, reached, queue)
        if w.taggers:
            for b in range(w.agents):
                if not reached[np.int64(s.y[b]) * k.side + s.x[b]]:
                    return False
        elif w.clearing:
            if not all_food_in_reach(s, w, k, reached):
                return False
        elif not a_goal_in_reach(s, k, reached):
            return False
    return True


@helper
def a_goal_in_reach(s, k, reached):
    """Tell whether some goal was reached, or there is none to reach."""
    if s.num_goals == 0:
        return True
    for g in range(s.num_goals):
        if reached[np.int64(s.goals[g, 1]) * k.side + s.goals[g, 0]]:
            return True
    return False


@helper
def all_food_in_reach(s, w, k, reached):
    """Tell whether every piece of food has enough reached cells beside it, and enough force."""
    force = 0
    for a in range(w.agents):
        force += np.int64(s.level[a])
    for y in range(w.height):
        for x in range(w.width):
            weight = peek(s.cells, y * k.side + x) - FOOD + 1
            if weight < 1:
                continue
            beside = 0
            for h in range(4):
                beside += is_reached(w, k, reached, x + DX[h], y + DY[h])
            if weight > force or beside < fewest(s, w, weight):
                return False
    return True


@scratch
def fewest(s, w, weight):
    """Return the fewest agents that can lift a weight (5 if all together cannot)."""
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
def is_reached(w, k, reached, x, y):
    """Tell whether a cell lies in the grid and was reached."""
    inside = x >= 0 and y >= 0 and x < w.width and y < w.height
    return inside and reached[y * k.side + x] != 0


@helper
def flood(s, w, k, a, reached, queue):
    """Mark what agent `a` can reach; start again whenever it has found a key or a switch."""
    means = HAS_KEY if s.carry[a] == KEY else 0
    while True:
        found = spread(s, w, k, a, means, reached, queue)
        if found | means == means:
            return
        means |= found


@helper
def spread(s, w, k, a, means, reached, queue):
    """Mark what agent `a` can reach with some means. Returns the means that it finds."""
    reached[:] = 0
    start = np.int64(s.y[a]) * k.side + s.x[a]
    reached[start] = 1
    queue[0] = start
    head, tail, found = 0, 1, 0
    while head < tail:
        x, y = queue[head] % k.side, queue[head] // k.side
        head += 1
        for h in range(4):
            to_x, to_y = x + DX[h], y + DY[h]
            if to_x < 0 or to_y < 0 or to_x >= w.width or to_y >= w.height:
                continue
            cell = to_y * k.side + to_x
            code = peek(s.cells, cell)
            if reached[cell]:
                continue
            if code == KEY:
                found |= HAS_KEY
            elif code in (SWITCH_OFF, SWITCH_ON):
                found |= HAS_SWITCH
            opened = (code == LOCKED and means & HAS_KEY) or (code == GATE and means & HAS_SWITCH)
            still_open = code == GATE_OPEN and not means & HAS_SWITCH
            if PASSABLE[code] or opened or still_open or (code == KEY and means & HAS_KEY):
                reached[cell] = 1
                queue[tail] = cell
                tail += 1
    return found
