"""Maze: paths carved by a random walk that backtracks; easier levels have more walls opened."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, inline
from piase_gym.worlds.grid_world.cells import FLOOR, WALL
from piase_gym.worlds.grid_world.levels.free_cells import draw, place_at
from piase_gym.worlds.grids.windows import DX, DY, cell_at

LAYOUT = 5
LEAST_INSIDE = (3, 3)
TASKS = {
    "Maze-9x9-v1": {"square": 9, "layout": "maze"},
    "Maze-15x15-v1": {"square": 15, "layout": "maze"},
}


@helper
def maze(s, w, difficulty):
    """Carve a maze by a random walk that backtracks, then open some of its walls.

    Rooms of the maze are the cells at even distances from the top left corner inside the border.
    The harder the level, the fewer walls are opened: none at difficulty 1 (or without one).
    """
    b = w.border
    columns, rows = (w.width - 2 * b + 1) // 2, (w.height - 2 * b + 1) // 2
    for y in range(b, w.height - b):
        for x in range(b, w.width - b):
            place_at(s, w, x, y, WALL)
    stack = np.zeros(columns * rows, np.int64)
    stack[0], depth = draw(s, columns * rows), 1
    place_at(s, w, b + 2 * (stack[0] % columns), b + 2 * (stack[0] // columns), FLOOR)
    while depth > 0:
        cx, cy = stack[depth - 1] % columns, stack[depth - 1] // columns
        ways, picked = 0, -1
        for h in range(4):
            if closed_room(s, w, cx + DX[h], cy + DY[h], columns, rows):
                ways += 1
                if draw(s, ways) == 0:
                    picked = h
        if picked < 0:
            depth -= 1
            continue
        place_at(s, w, b + 2 * cx + DX[picked], b + 2 * cy + DY[picked], FLOOR)
        cx, cy = cx + DX[picked], cy + DY[picked]
        place_at(s, w, b + 2 * cx, b + 2 * cy, FLOOR)
        stack[depth] = cy * columns + cx
        depth += 1
    if difficulty >= 0.0:
        loosen(s, w, columns, rows, difficulty)


@inline
def closed_room(s, w, cx, cy, columns, rows):
    """Return whether a room of the maze exists and is not yet carved."""
    if cx < 0 or cy < 0 or cx >= columns or cy >= rows:
        return False
    return cell_at(s, w, w.border + 2 * cx, w.border + 2 * cy) == WALL


@helper
def loosen(s, w, columns, rows, difficulty):
    """Open walls between rooms of a maze, so that there is more than one path."""
    for _ in range(np.int64((1.0 - difficulty) * columns * rows / 2)):
        cx, cy = draw(s, columns), draw(s, rows)
        h = 1 + draw(s, 2)  # right or down
        if cx + DX[h] < columns and cy + DY[h] < rows:
            place_at(s, w, w.border + 2 * cx + DX[h], w.border + 2 * cy + DY[h], FLOOR)
