"""How a place is made and where agents start. Compiled; all draws are from the layout stream.

A house is cut in two by a wall with a doorway, and so are its parts, until no room that can be cut
is longer than `room`; no wall ends at a doorway. Then furniture is put up, objects are laid down on
it or on the floor, and agents come in. They can rise above all furniture, so everything can be
seen.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, inline, integer, store64, stream_key
from piase_gym.worlds.grids.codes import FLOOR, OUTSIDE, WALL
from piase_gym.worlds.grids.windows import locate, paint_cells
from piase_gym.worlds.object_search.codes import (
    HEIGHT,
    LEVEL,
    LEVELS,
    LOW,
    MAX_OBJECTS,
    NO_ROOM,
    TALL,
)
from piase_gym.worlds.object_search.rules.look import is_free, lay, look
from piase_gym.worlds.object_search.state import LAYOUT

STACK = 64
"""The most parts of a house that can wait to be cut."""
TRIES = 64


@helper
def begin(s, w, seed):
    """Start the episode with effective seed `seed` (uint64); `s.fault` says what failed."""
    s.seed, s.fault, s.t, s.area = seed, 0, 0, 0
    s.found, s.covered, s.repeats, s.open = 0, 0, 0, 0
    for stream in range(2):
        s.keys[stream] = stream_key(seed, np.uint64(stream))
        s.counters[stream] = 0
    s.width, s.height, s.agents = w.width, w.height, w.agents
    forget(s, w)
    choose(s, w)
    if w.house:
        wall_in(s, w)
        divide(s, w)
        furnish(s, w)
        paint_cells(s, w)
        lay_down(s, w)
        settle(s, w)
    else:
        lay_out_line(s, w)
    for a in range(w.agents):
        s.alive[a] = w.join[a] == 0
    for a in range(np.int64(w.agents)):  # as actors are numbered: helpers are compiled once
        if s.alive[a]:
            look(s, w, a)
            s.found = np.int64(s.found) | np.int64(s.seen[a]) & np.int64(s.goal)


@helper
def forget(s, w):
    """Reset all fields about agents and objects."""
    for a in range(len(s.x)):
        s.x[a], s.y[a], s.z[a], s.heading[a], s.pitch[a], s.roll[a] = 0, 0, 0, 0, LEVEL, LEVEL
        s.alive[a], s.fate[a], s.marks[a], s.order[a], s.reports[a], s.seen[a] = 0, 0, 0, a, 0, 0
        store64(s.hint, 8 * a, np.uint64(0))
    for i in range(0, len(s.told), 8):
        store64(s.told, i, np.uint64(0))
        store64(s.look, i, np.uint64(0))
    for i in range(w.inspected, w.maps_start, 8):  # what is on its way or known, too
        store64(s.inspected, i, np.uint64(0))
    for i in range(len(s.place)):
        s.place[i] = -1
    for i in range(len(s.shelf)):
        s.shelf[i] = 0


@helper
def choose(s, w):
    """Draw which objects there are."""
    left, goal = w.objects, 0
    for thing in range(w.names):  # all that are left are equally likely
        if integer(s, LAYOUT, w.names - thing) < left:
            goal |= 1 << thing
            left -= 1
    s.goal = goal


@helper
def lay_out_line(s, w):
    """Lay objects down on a line; agents start at its lower end, if there is no `recall`."""
    s.open = w.width
    if w.recall >= 0:
        lay_out_recall(s, w)
        return
    goal = 0
    for x in range(w.width):
        s.shelf[x] = w.shelf[x]
        goal |= np.int64(w.shelf[x])
    if w.line:
        s.goal = goal
        return
    for thing in range(w.names):
        if np.int64(s.goal) >> thing & 1:
            x = integer(s, LAYOUT, w.width)
            s.shelf[x] = np.int64(s.shelf[x]) | 1 << thing


@helper
def lay_out_recall(s, w):
    """Put one of two signs where the agent starts, and lay the last object where it leads."""
    sign, goal = integer(s, LAYOUT, 2), 1 << (w.names - 1)
    s.goal, s.x[0] = goal, 1
    s.shelf[1], s.shelf[2 - 2 * sign] = 1 << sign, goal


# -- a house ------------------------------------------------------------------------------


@helper
def wall_in(s, w):
    """Draw one large room."""
    for i in range(w.side * w.side):
        s.cells[i] = OUTSIDE
    for y in range(w.height):
        for x in range(w.width):
            rim = x == 0 or y == 0 or x == w.width - 1 or y == w.height - 1
            s.cells[y * w.side + x] = WALL if rim else FLOOR


@helper
def divide(s, w):
    """Cut the house into rooms."""
    parts = np.zeros((STACK, 4), np.int64)  # the inside of each: left, top, right, bottom
    parts[0, 0], parts[0, 1], parts[0, 2], parts[0, 3] = 1, 1, w.width - 2, w.height - 2
    count = 1
    while count:
        count -= 1
        left, top, right, bottom = parts[count]
        wide, high = right - left + 1, bottom - top + 1
        if max(wide, high) <= w.room or count > STACK - 3:
            continue
        across = wide > high or (wide == high and integer(s, LAYOUT, 2) == 0)
        at = cut(s, w, left, top, right, bottom, across)
        if at < 0:
            continue
        for part in range(2):
            parts[count, 0], parts[count, 1] = left, top
            parts[count, 2], parts[count, 3] = right, bottom
            if part == 0:
                parts[count, 2 if across else 3] = at - 1
            else:
                parts[count, 0 if across else 1] = at + 1
            count += 1


@helper
def cut(s, w, left, top, right, bottom, across):
    """Put a wall with a doorway through a part of the house.

    Args:
        s: The record.
        w: The table.
        left: An edge of the part, inside its walls; `top`, `right` and `bottom` are the others.
        across: Whether the wall stands in a column, rather than in a row.

    Returns:
        Where it stands, or -1 if there is no room for it, or every place is at a doorway.
    """
    first, last = (left, right) if across else (top, bottom)
    low, high = (top, bottom) if across else (left, right)
    to_next, along = (1, np.int64(w.side)) if across else (np.int64(w.side), 1)
    room = last - first - 3  # walls leave at least two cells to either side
    if room < 1:
        return -1
    start = integer(s, LAYOUT, room)
    for i in range(room):
        at = first + 2 + (start + i) % room
        line = at * to_next
        if s.cells[line + (low - 1) * along] == WALL and s.cells[line + (high + 1) * along] == WALL:
            door = low + integer(s, LAYOUT, high - low + 1)
            for place in range(low, high + 1):
                if place != door:
                    s.cells[line + place * along] = WALL
            return at
    return -1


@inline
def is_doorway(s, w, cell):
    """Return whether a cell of the floor lies between two walls."""
    beside = s.cells[cell - 1] == WALL and s.cells[cell + 1] == WALL
    return beside or (s.cells[cell - w.side] == WALL and s.cells[cell + w.side] == WALL)


@helper
def furnish(s, w):
    """Put up furniture: low or tall, each piece one cell or up to four in a line."""
    for _ in range(w.pieces):
        x, y = 1 + integer(s, LAYOUT, w.width - 2), 1 + integer(s, LAYOUT, w.height - 2)
        shape = integer(s, LAYOUT, 8)
        code = LOW if shape & 1 else TALL
        to_next = 1 if shape & 2 else np.int64(w.side)
        for i in range(1 + (shape >> 1 & 2 | shape >> 2 & 1)):
            cell = y * w.side + x + i * to_next
            if s.cells[cell] != FLOOR or is_doorway(s, w, cell):
                break
            s.cells[cell] = code


@helper
def lay_down(s, w):
    """Lay every object into a random column that is not full, one per column."""
    for y in range(w.height):
        for x in range(w.width):
            s.open += HEIGHT[s.cells[y * w.side + x]] < LEVELS
    if s.open < w.objects:
        s.fault = NO_ROOM
        return
    for thing in range(w.names):
        if np.int64(s.goal) >> thing & 1:
            cell = draw_cell(s, w)
            while s.holds[w.holds + cell]:
                cell = draw_cell(s, w)
            lay(s, w, cell, thing + 1)
            s.place[thing] = cell


@helper
def draw_cell(s, w):
    """Draw a column that is not full."""
    while True:
        x, y = 1 + integer(s, LAYOUT, w.width - 2), 1 + integer(s, LAYOUT, w.height - 2)
        cell = y * w.side + x
        if HEIGHT[s.cells[cell]] < LEVELS:
            return cell


@helper
def settle(s, w):
    """Let agents start on the middle level, near the first or anywhere, with random headings."""
    for a in range(np.int64(w.agents)):
        for i in range(TRIES * (2 * MAX_OBJECTS)):
            cell, near = draw_cell(s, w), 1 + i // TRIES
            x, y = cell % w.side, cell // w.side
            far = max(abs(x - s.x[0]), abs(y - s.y[0]))
            if (a == 0 or not w.together or far <= near) and is_free(s, w, x, y, LEVEL):
                break
        else:
            s.fault = NO_ROOM
            return
        s.x[a], s.y[a], s.z[a], s.alive[a] = x, y, LEVEL, 1
        s.heading[a] = integer(s, LAYOUT, 4)
        locate(s, w, a)


@helper
def rebuild(s, w):
    """Derive everything that follows from the state: maps, what lies in columns, what is seen."""
    if w.house:
        paint_cells(s, w)
        for i in range(w.holds, w.maps_start, 8):  # and what is known
            store64(s.holds, i, np.uint64(0))
        for thing in range(w.names):
            if np.int64(s.goal) >> thing & 1:
                lay(s, w, np.int64(s.place[thing]), thing + 1)
        for a in range(np.int64(w.agents)):
            locate(s, w, a)
    for a in range(np.int64(w.agents)):  # as actors are numbered: helpers are compiled once
        if s.alive[a]:
            look(s, w, a)
