"""The layouts: walls, doors and rooms. Compiled.

Each takes the free floor that `plan` left and draws its own walls into it.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, inline
from piase_gym.worlds.grid_world.cells import (
    CLOSED,
    FLOOR,
    GATE,
    KEY,
    LOCKED,
    OPEN,
    SWITCH_OFF,
    WALL,
)
from piase_gym.worlds.grid_world.config import DOORS, LAYOUTS
from piase_gym.worlds.grid_world.levels.free_cells import draw, place_at, random_free
from piase_gym.worlds.grid_world.rules.events import NO_FREE_CELL
from piase_gym.worlds.grids.windows import DX, DY, cell_at

OBSTACLES, FOUR_ROOMS = LAYOUTS.index("obstacles"), LAYOUTS.index("four_rooms")
DOOR_KEY, MULTI_ROOM = LAYOUTS.index("door_key"), LAYOUTS.index("multi_room")
MAZE, TAG_GAME = LAYOUTS.index("maze"), LAYOUTS.index("tag")
OPENINGS, CLOSED_DOORS = DOORS.index("open"), DOORS.index("closed")
LOCKED_DOORS, GATES = DOORS.index("locked"), DOORS.index("gates")
MAX_ROOMS = 16
SPLITS = 12  # tries to split a room


@inline
def build(s, w, difficulty):
    """Draw the walls of the layout. Returns the column of the wall with the door, or 0."""
    if w.layout == OBSTACLES:
        density = w.density if difficulty < 0.0 else np.int64(50 + 350 * difficulty)
        scatter_walls(s, w, density)
    elif w.layout == FOUR_ROOMS:
        four_rooms(s, w)
    elif w.layout == DOOR_KEY:
        return door_wall(s, w)
    elif w.layout == MULTI_ROOM:
        multi_room(s, w, difficulty)
    elif w.layout == MAZE:
        maze(s, w, difficulty)
    elif w.layout == TAG_GAME and difficulty > 0.0:
        scatter_walls(s, w, np.int64(250 * difficulty))
    return 0


@helper
def scatter_walls(s, w, density):
    """Turn thousandths of the free cells into walls, but never the fixed goals and starts."""
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
    """Tell whether the config puts a goal or an agent at (x, y)."""
    for g in range(w.num_goals):
        if w.goals[g, 0] == x and w.goals[g, 1] == y:
            return True
    for a in range(w.agents):
        if w.starts[a, 0] == x and w.starts[a, 1] == y:
            return True
    return False


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


@helper
def multi_room(s, w, difficulty):
    """Split the grid into rooms again and again; every wall gets one door.

    Locked doors bring one key and gates bring one switch, at random places; levels in which an
    agent cannot get at them are drawn again.
    """
    rooms = w.rooms if difficulty < 0.0 else 2 + np.int64((w.rooms - 2) * difficulty + 0.5)
    x0, y0 = np.zeros(MAX_ROOMS, np.int64), np.zeros(MAX_ROOMS, np.int64)
    x1, y1 = np.zeros(MAX_ROOMS, np.int64), np.zeros(MAX_ROOMS, np.int64)
    x0[0], y0[0] = w.border, w.border
    x1[0], y1[0] = w.width - 1 - w.border, w.height - 1 - w.border
    count, keys, switches = 1, 0, 0
    for _ in range(rooms - 1):
        i = widest(x0, y0, x1, y1, count)
        upright = x1[i] - x0[i] >= y1[i] - y0[i]
        low, high = (x0[i], x1[i]) if upright else (y0[i], y1[i])
        start, stop = (y0[i], y1[i]) if upright else (x0[i], x1[i])
        at = wall_place(s, w, upright, low, high, start, stop)
        if at < 0:
            break
        gap = start + draw(s, stop - start + 1)
        code = door_code(s, w)
        for along in range(start, stop + 1):
            x, y = (at, along) if upright else (along, at)
            place_at(s, w, x, y, code if along == gap else WALL)
        keys += code == LOCKED
        switches += code == GATE
        x0[count], y0[count], x1[count], y1[count] = x0[i], y0[i], x1[i], y1[i]
        if upright:
            x1[i], x0[count] = at - 1, at + 1
        else:
            y1[i], y0[count] = at - 1, at + 1
        count += 1
    put_somewhere(s, w, KEY, keys > 0)
    put_somewhere(s, w, SWITCH_OFF, switches > 0)


@inline
def put_somewhere(s, w, code, wanted):
    """Put an object on a random free cell, if it is wanted."""
    if not wanted:
        return
    cell = random_free(s, w, 0, w.width - 1)
    if cell < 0:
        s.fault = NO_FREE_CELL
    else:
        place_at(s, w, cell % w.side, cell // w.side, code)


@helper
def widest(x0, y0, x1, y1, count):
    """Return the room with the longest side."""
    best, length = 0, -1
    for i in range(count):
        here = max(x1[i] - x0[i], y1[i] - y0[i])
        if here > length:
            best, length = i, here
    return best


@helper
def wall_place(s, w, upright, low, high, start, stop):
    """Draw where a wall splits a room, such that it ends at no door; -1 if there is no place."""
    if high - low < 2:
        return -1
    for _ in range(SPLITS):
        at = low + 1 + draw(s, high - low - 1)
        fits = True
        for end in (start - 1, stop + 1):
            x, y = (at, end) if upright else (end, at)
            inside = 0 <= x < w.side and 0 <= y < w.side
            if inside and CLOSED_OR_LIKE[cell_at(s, w, x, y)]:
                fits = False
        if fits:
            return at
    return -1


CLOSED_OR_LIKE = np.zeros(256, np.bool_)
CLOSED_OR_LIKE[np.array([FLOOR, CLOSED, OPEN, LOCKED, GATE])] = True


@inline
def door_code(s, w):
    """Return what joins two rooms."""
    kind = w.doors
    if kind > GATES:
        kind = draw(s, GATES + 1)
    if kind == OPENINGS:
        return FLOOR
    if kind == CLOSED_DOORS:
        return CLOSED
    return LOCKED if kind == LOCKED_DOORS else GATE


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
    """Tell whether a room of the maze is there and not yet carved."""
    if cx < 0 or cy < 0 or cx >= columns or cy >= rows:
        return False
    return cell_at(s, w, w.border + 2 * cx, w.border + 2 * cy) == WALL


@helper
def loosen(s, w, columns, rows, difficulty):
    """Open walls between rooms of a maze, so that there is more than one way."""
    for _ in range(np.int64((1.0 - difficulty) * columns * rows / 2)):
        cx, cy = draw(s, columns), draw(s, rows)
        h = 1 + draw(s, 2)  # right or down
        if cx + DX[h] < columns and cy + DY[h] < rows:
            place_at(s, w, w.border + 2 * cx + DX[h], w.border + 2 * cy + DY[h], FLOOR)
