"""Door and key: a wall with a locked door between the agents and the goal.

The key and the agents are on its left, the goal is on its right.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from piase_gym.compiled import helper
from piase_gym.worlds.grid_world.cells import LOCKED, WALL
from piase_gym.worlds.grid_world.levels.free_cells import draw, place_at
from piase_gym.worlds.grid_world.rules.events import NO_FREE_CELL

LAYOUT = 3
LEAST_INSIDE = (4, 2)
MAY_FAIL = False
AIM = "find the key, unlock the door, and step onto a goal."
TASKS = {
    "DoorKey-6x6-v1": {"square": 6, "max_steps": 360, "layout": "door_key", "goal_pos": (4, 4)},
    "DoorKey-8x8-v1": {"square": 8, "max_steps": 640, "layout": "door_key", "goal_pos": (6, 6)},
    "DoorKey-16x16-v1": {
        "square": 16,
        "max_steps": 2560,
        "layout": "door_key",
        "goal_pos": (14, 14),
    },
}


@helper
def door_wall(s, w):
    """Draw a wall from top to bottom with a locked door; the left side has room for all."""
    x0, y0 = w.border, w.border
    x1, y1 = w.width - 1 - w.border, w.height - 1 - w.border
    rows = y1 - y0 + 1
    first = x0 + (w.agents + rows) // rows  # left of it: the agents and the key
    if first > x1 - 1:
        s.fault = NO_FREE_CELL
        first = x1 - 1
    split = first + draw(s, x1 - first)
    for y in range(y0, y1 + 1):
        place_at(s, w, split, y, WALL)
    place_at(s, w, split, y0 + draw(s, rows), LOCKED)
    return split
