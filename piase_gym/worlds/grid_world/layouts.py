"""How levels are made: compiled generators, so that a batch can reset inside its kernel."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import helper, integer, store64, stream_key
from piase_gym.worlds.grid_world.cells import AGENT, FLOOR, GOAL, KEY, LOCKED, OUTSIDE, WALL
from piase_gym.worlds.grid_world.config import MAX_SIDE
from piase_gym.worlds.grid_world.rules import DX, DY, paint, paint_agent, put, top
from piase_gym.worlds.grid_world.state import NO_FREE_CELL, NO_WAY, NUM_STREAMS

OBSTACLES, FOUR_ROOMS, DOOR_KEY = 1, 2, 3
LAYOUT_STREAM = 0
TRIES = 100
ALL_OUTSIDE = np.uint64(OUTSIDE * 0x0101010101010101)


@helper
def place_at(s, w, x, y, code):
    """Do what `put` does, without being inlined: levels are rarely made, code is often compiled."""
    put(s, w, x, y, code)


@helper
def draw(s, stop):
    """Draw an integer in ``0..stop-1`` from the layout stream."""
    return integer(s.keys, s.counters, LAYOUT_STREAM, stop)


@helper
def reset(s, w, seed):
    """Start the episode with effective seed `seed` (uint64); `s.fault` says what failed."""
    s.seed = seed
    for stream in range(NUM_STREAMS):
        s.keys[stream] = stream_key(seed, np.uint64(stream))
        s.counters[stream] = 0
    s.t = 0
    s.width, s.height, s.agents = w.width, w.height, w.agents
    for a in range(len(s.x)):
        s.x[a] = s.y[a] = 0
        s.heading[a] = s.carry[a] = s.alive[a] = s.marks[a] = 0
        s.order[a] = a
    s.hint[:] = 0
    for _ in range(TRIES if w.search else 1):
        generate(s, w)
        if s.fault == 0 and w.search and not all_can_arrive(s, w):
            s.fault = NO_WAY
        if s.fault == 0:
            break


@helper
def generate(s, w):
    """Build the map, then place key, goals and agents."""
    s.fault = 0
    for a in range(w.agents):
        s.alive[a] = 0
    split = build(s, w)
    x0, x1 = 0, w.width - 1
    if split > 0:
        place(s, w, KEY, x0, split - 1)
    s.num_goals = max(1, w.num_goals)
    s.goals[:] = 0
    for g in range(s.num_goals):
        if g < w.num_goals:
            s.goals[g, 0], s.goals[g, 1] = w.goals[g, 0], w.goals[g, 1]
            place_at(s, w, s.goals[g, 0], s.goals[g, 1], GOAL)
        else:
            cell = place(s, w, GOAL, split + 1 if split > 0 else x0, x1)
            s.goals[g, 0], s.goals[g, 1] = cell % w.side, cell // w.side
    for a in range(w.agents):
        if w.starts[a, 0] >= 0:
            enter(s, w, a, fixed_start(s, w, a))
    for a in range(w.agents):
        if w.starts[a, 0] < 0:
            enter(s, w, a, random_free(s, w, x0, split - 1 if split > 0 else x1))


@helper
def repaint(s, w):
    """Draw the four turned maps anew from the cells and the agents."""
    for i in range(0, len(s.maps) - 7, 8):
        store64(s.maps, i, ALL_OUTSIDE)
    for y in range(s.height):
        for x in range(s.width):
            paint(s, w, x, y, s.cells[y * w.side + x])
    for k in range(s.agents):
        a = s.agents - 1 - k
        if s.alive[a]:
            paint_agent(s, w, a)


@helper
def build(s, w):
    """Draw floor, border and walls. Returns the column of the wall with the door, or 0."""
    for y in range(w.side):
        for x in range(w.side):
            code = OUTSIDE
            if x < w.width and y < w.height:
                edge = x == 0 or y == 0 or x == w.width - 1 or y == w.height - 1
                fixed = w.walls[y * MAX_SIDE + x] != 0
                code = WALL if fixed or (w.border and edge) else FLOOR
            s.cells[y * w.side + x] = code
    repaint(s, w)
    if w.layout == OBSTACLES:
        scatter(s, w)
    elif w.layout == FOUR_ROOMS:
        four_rooms(s, w)
    elif w.layout == DOOR_KEY:
        return door_wall(s, w)
    return 0


@helper
def scatter(s, w):
    """Turn a share of the free cells into walls, but never the fixed goals and starts."""
    free = 0
    for y in range(w.height):
        for x in range(w.width):
            free += s.cells[y * w.side + x] == FLOOR
    for _ in range(free * w.density // 1000):
        cell = random_free(s, w, 0, w.width - 1)
        if cell >= 0 and not reserved(w, cell % w.side, cell // w.side):
            place_at(s, w, cell % w.side, cell // w.side, WALL)


@helper
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
def random_free(s, w, first, last):
    """Draw a free floor cell in columns `first` to `last`. Returns y * side + x, or -1."""
    count = 0
    for y in range(w.height):
        for x in range(first, last + 1):
            count += top(s, w, x, y) == FLOOR
    if count == 0:
        return -1
    left = draw(s, count)
    for y in range(w.height):
        for x in range(first, last + 1):
            if top(s, w, x, y) == FLOOR:
                if left == 0:
                    return y * w.side + x
                left -= 1
    return -1


@helper
def place(s, w, code, first, last):
    """Put an object on a random free cell in a range of columns. Returns the cell."""
    cell = random_free(s, w, first, last)
    if cell < 0:
        s.fault = NO_FREE_CELL
        return 0
    place_at(s, w, cell % w.side, cell // w.side, code)
    return cell


@helper
def fixed_start(s, w, a):
    """Return the start that the config gives, or the first free cell, row by row."""
    x, y = w.starts[a, 0], w.starts[a, 1]
    there = s.cells[y * w.side + x]
    if there == FLOOR and (w.pass_through or top(s, w, x, y) < AGENT):
        return y * w.side + x
    for y in range(w.height):
        for x in range(w.width):
            if top(s, w, x, y) == FLOOR:
                return y * w.side + x
    return -1


@helper
def enter(s, w, a, cell):
    """Put agent `a`, facing right, on a cell; -1 stands for none."""
    if cell < 0:
        s.fault = NO_FREE_CELL
        return
    s.x[a], s.y[a] = cell % w.side, cell // w.side
    s.heading[a] = 1
    s.alive[a] = 1
    paint_agent(s, w, a)


@helper
def all_can_arrive(s, w):
    """Tell whether every agent has a way to a goal, if doors and keys do not hinder it."""
    reached = np.zeros(w.side * w.side, np.uint8)
    queue = np.zeros(w.side * w.side, np.int32)
    head, tail = 0, 0
    for g in range(s.num_goals):
        cell = s.goals[g, 1] * w.side + s.goals[g, 0]
        if not reached[cell]:
            reached[cell] = 1
            queue[tail] = cell
            tail += 1
    while head < tail:
        x, y = queue[head] % w.side, queue[head] // w.side
        head += 1
        for h in range(4):
            to_x, to_y = x + DX[h], y + DY[h]
            if to_x < 0 or to_y < 0 or to_x >= w.width or to_y >= w.height:
                continue
            cell = to_y * w.side + to_x
            if not reached[cell] and s.cells[cell] != WALL:
                reached[cell] = 1
                queue[tail] = cell
                tail += 1
    for a in range(w.agents):
        if not reached[s.y[a] * w.side + s.x[a]]:
            return False
    return True
