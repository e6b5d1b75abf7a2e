"""GridWorld's rules: what each command does. Compiled, one record an environment.

Agents act one after the other, in the order of `order`; the first to claim a cell has it.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import ABSENT, device
from piase_gym.worlds.grid_world.cells import AGENT, CLOSED, FLOOR, GOAL, KEY, OPEN
from piase_gym.worlds.grid_world.state import (
    BLOCKED,
    CLOSE_DOOR,
    DROP,
    MOVE,
    NONE,
    OPEN_DOOR,
    PICK_UP,
    REACH_GOAL,
    STAY,
    UNLOCK,
    UNPARSABLE,
)

# Arrays, because an index that is known only at run time is slow into a tuple.
HEADING_OF = np.array([0, 2, 3, 1])  # up, down, left, right as headings
DX = np.array([0, 1, 0, -1])
DY = np.array([-1, 0, 1, 0])
MOVES = 4
STAYING = 4


@device
def top(s, w, x, y):
    """Return what is seen at (x, y), at most one cell outside: an agent, or else the object."""
    return s.maps[w.place[0] + y * w.stride + x]


@device
def paint(s, w, x, y, code):
    """Show an object at (x, y) in all four maps."""
    p = 4 * (y * w.side + x)
    for r in range(4):
        s.maps[w.place[p + r]] = code


@device
def paint_agent(s, w, a):
    """Show an agent at its place in all four maps, turned as each map is."""
    p = 4 * (s.y[a] * w.side + s.x[a])
    heading, code = s.heading[a], AGENT + 4 * a
    for r in range(4):
        s.maps[w.place[p + r]] = code + ((heading - r) & 3)


@device
def put(s, w, x, y, code):
    """Change the object at (x, y), where no agent stands."""
    s.cells[y * w.side + x] = code
    paint(s, w, x, y, code)


@device
def uncover(s, w, x, y):
    """Show what is at (x, y) after an agent has left: the lowest other agent, or the object."""
    paint(s, w, x, y, s.cells[y * w.side + x])
    if w.pass_through:
        for k in range(w.agents):
            b = w.agents - 1 - k
            if s.alive[b] and s.x[b] == x and s.y[b] == y:
                paint_agent(s, w, b)


@device
def appear(s, w, a):
    """Show agent `a` where it stands (under an agent of lower number)."""
    if w.pass_through:
        uncover(s, w, s.x[a], s.y[a])
    else:
        paint_agent(s, w, a)


@device
def walk(s, w, a, heading):
    """Turn agent `a` and let it try to step ahead. Returns the event."""
    turned = s.heading[a] != heading
    s.heading[a] = heading
    x, y = s.x[a], s.y[a]
    to_x, to_y = x + DX[heading], y + DY[heading]
    seen = top(s, w, to_x, to_y)
    ground = seen
    if seen >= AGENT and w.pass_through:
        ground = s.cells[to_y * w.side + to_x]
    if ground != FLOOR and ground != GOAL and ground != OPEN:
        if turned:
            appear(s, w, a)
        return BLOCKED
    s.x[a], s.y[a] = to_x, to_y
    if ground == GOAL:
        s.alive[a] = 0
        uncover(s, w, x, y)
        return REACH_GOAL
    uncover(s, w, x, y)
    appear(s, w, a)
    return MOVE


@device
def interaction(s, w, a, x, y):
    """Return the event of agent `a` interacting with (x, y)."""
    return w.interaction[1 if s.carry[a] != 0 else 0, top(s, w, x, y)]


@device
def interact(s, w, a):
    """Let agent `a` act on the cell ahead. Returns the event."""
    heading = s.heading[a]
    x, y = s.x[a] + DX[heading], s.y[a] + DY[heading]
    event = interaction(s, w, a, x, y)
    if event == PICK_UP:
        s.carry[a] = KEY
        put(s, w, x, y, FLOOR)
    elif event == DROP:
        put(s, w, x, y, s.carry[a])
        s.carry[a] = 0
    elif event == UNLOCK or event == OPEN_DOOR:
        put(s, w, x, y, OPEN)
    elif event == CLOSE_DOOR:
        put(s, w, x, y, CLOSED)
    return event


@device
def act(s, w, a, index):
    """Carry out the command with this index. Returns the event."""
    if index < 0:
        return STAY if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index)
    if index < MOVES:
        return walk(s, w, a, HEADING_OF[index])
    return STAY if index == STAYING else interact(s, w, a)


@device
def readable(s, w, o, acts, coded):
    """Tell whether every agent in play gave an index of the table (or a code, if there are any)."""
    for a in range(w.agents):
        if s.alive[a] and (acts[o + a] >= w.num_actions or (acts[o + a] < 0 and not coded)):
            return False
    return True


@device
def tick(s, w, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        How many agents ended or reached a milestone for the first time.
    """
    notable = 0
    for k in range(w.agents):
        a = s.order[k]
        event = NONE
        if s.alive[a]:
            event = act(s, w, a, acts[o + a])
            mark = w.mark[event]
            if mark & ~s.marks[a]:
                s.marks[a] |= mark
                notable += 1
        events[o + a] = event
        rewards[o + a] = w.reward[event]
        terminated[o + a] = event == REACH_GOAL
        truncated[o + a] = False
    s.t += 1
    if s.t >= w.max_steps:
        for a in range(w.agents):
            if s.alive[a]:
                truncated[o + a] = True
                s.alive[a] = 0
                notable += 1
    if w.shared:
        share(w, o, rewards, events)
    return notable


@device
def share(w, o, rewards, events):
    """Give every agent that acted the mean reward of those that did."""
    total, count = 0.0, 0
    for a in range(w.agents):
        if events[o + a] != NONE:
            total += rewards[o + a]
            count += 1
    for a in range(w.agents):
        if events[o + a] != NONE:
            rewards[o + a] = total / count
