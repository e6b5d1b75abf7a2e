"""Four rooms: a cross of walls with one random gap in each of its four arms."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from piase_gym.compiled import helper
from piase_gym.worlds.grid_world.cells import FLOOR, WALL
from piase_gym.worlds.grid_world.levels.free_cells import draw, place_at

LAYOUT = 2
LEAST_INSIDE = (5, 5)
MAY_FAIL = False
TASKS = {
    "FourRooms-8x8-v1": {"square": 8, "layout": "four_rooms"},
    "FourRooms-16x16-v1": {"square": 16, "layout": "four_rooms"},
}


@helper
def four_rooms(s, w):
    """Draw a cross of walls with one random gap in each of its four arms."""
    x0, y0 = w.border, w.border
    x1, y1 = w.width - 1 - w.border, w.height - 1 - w.border
    mx, my = (x0 + x1 + 1) // 2, (y0 + y1 + 1) // 2
    for x in range(x0, x1 + 1):
        place_at(s, w, x, my, WALL)
    for y in range(y0, y1 + 1):
        place_at(s, w, mx, y, WALL)
    place_at(s, w, mx, y0 + draw(s, my - y0), FLOOR)
    place_at(s, w, mx, my + 1 + draw(s, y1 - my), FLOOR)
    place_at(s, w, x0 + draw(s, mx - x0), my, FLOOR)
    place_at(s, w, mx + 1 + draw(s, x1 - mx), my, FLOOR)
