"""Obstacles: random walls, a share of `obstacle_density` of the free cells."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from piase_gym.compiled import helper, inline
from piase_gym.worlds.grid_world.cells import FLOOR, WALL
from piase_gym.worlds.grid_world.levels.free_cells import place_at, random_free
from piase_gym.worlds.grids.windows import cell_at

LAYOUT = 1
TASKS = {
    "Obstacles-8x8-v1": {"square": 8, "layout": "obstacles"},
    "Obstacles-16x16-v1": {"square": 16, "layout": "obstacles"},
}


@helper
def scatter_walls(s, w, density):
    """Turn `density` thousandths of the free cells into walls, but never fixed goals and starts."""
    free = 0
    for y in range(w.height):
        for x in range(w.width):
            free += cell_at(s, w, x, y) == FLOOR
    for _ in range(free * density // 1000):
        cell = random_free(s, w, 0, w.width - 1)
        if cell >= 0 and not reserved(w, cell % w.side, cell // w.side):
            place_at(s, w, cell % w.side, cell // w.side, WALL)


@inline
def reserved(w, x, y):
    """Return whether the config puts a goal or an agent at (x, y)."""
    for g in range(w.num_goals):
        if w.goals[g, 0] == x and w.goals[g, 1] == y:
            return True
    for a in range(w.agents):
        if w.starts[a, 0] == x and w.starts[a, 1] == y:
            return True
    return False
