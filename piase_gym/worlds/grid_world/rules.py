"""GridWorld's rules: what each command does. Compiled, one record an environment.

Agents act one after the other, as `ticks` calls them; the first to claim a cell has it. What the
world does of itself is in `dynamics`.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import ABSENT, device, helper, peek
from piase_gym.worlds.grid_world.cells import (
    AGENT,
    BARE,
    BOX,
    CLOSED,
    FLOOR,
    FRUIT,
    GATE_OPEN,
    GOAL,
    HAZARD,
    KEY,
    OPEN,
)
from piase_gym.worlds.grid_world.dynamics import toggle
from piase_gym.worlds.grid_world.events import (
    ARRIVED,
    BLOCKED,
    CAUGHT,
    CLOSE_DOOR,
    DIED,
    DROP,
    EAT,
    HURT,
    ILLEGAL,
    LATE,
    MOVE,
    NONE,
    OPEN_DOOR,
    PICK_UP,
    PUSH,
    REACH_GOAL,
    RUNNER,
    STAY,
    TAG,
    TAGGER,
    TOGGLE,
    UNLOCK,
    UNPARSABLE,
    WAS_CAUGHT,
)
from piase_gym.worlds.painted_map import DX, DY, ahead_of, appear, leave, put, uncover

HEADING_OF = np.array([0, 2, 3, 1])  # up, down, left, right as headings
MOVES = 4
STAYING = 4
INTERACTING = 5
ACTIONS = 6


@device
def walk(s, w, k, a, heading, o, rewards, events):
    """Turn agent `a` and let it try to step ahead. Returns the event."""
    s.heading[a] = heading
    seen = ahead_of(s, w, a, 1)
    ground = seen
    event = MOVE
    if seen == BOX and push(s, w, k, a, heading):
        ground, event = FLOOR, PUSH
    elif seen >= AGENT:
        if w.taggers and chase(s, w, k, a, heading, o, rewards, events):
            appear(s, w, k, a)
            return TAG
        if w.pass_through:
            x, y = np.int64(s.x[a]) + DX[heading], np.int64(s.y[a]) + DY[heading]
            ground = peek(s.cells, y * k.side + x)
    free = ground == FLOOR or ground == GOAL or ground == OPEN or ground == GATE_OPEN
    if not free and (ground < HAZARD or ground > BARE):
        appear(s, w, k, a)
        return BLOCKED
    leave(s, w, k, a, heading)
    if ground == GOAL:
        s.alive[a] = 0
        s.fate[a] = ARRIVED
        return REACH_GOAL
    event = arrive(s, w, k, a, ground, event)
    if s.alive[a]:
        appear(s, w, k, a)
    return event


@helper
def arrive(s, w, k, a, ground, event):
    """Let agent `a` meet what is on the cell that it entered. Returns the event."""
    if ground == FRUIT:
        put(s, k, s.x[a], s.y[a], BARE)
        if w.energy:
            s.energy[a] = min(255, np.int64(s.energy[a]) + w.fruit_energy)
        return EAT
    if ground == HAZARD:
        if w.hazard_ends:
            s.alive[a] = 0
            s.fate[a] = DIED
            uncover(s, w, k, s.x[a], s.y[a])
        return HURT
    return event


@helper
def push(s, w, k, a, heading):
    """Push the box ahead of agent `a` onto free floor. Returns whether it moved."""
    if ahead_of(s, w, a, 2) != FLOOR:
        return False
    x, y = np.int64(s.x[a]) + DX[heading], np.int64(s.y[a]) + DY[heading]
    put(s, k, x, y, FLOOR)
    put(s, k, x + DX[heading], y + DY[heading], BOX)
    return True


@helper
def chase(s, w, k, a, heading, o, rewards, events):
    """Let agent `a` tag the first runner ahead, if that is its game. Returns whether it did."""
    if s.role[a] != TAGGER:
        return False
    x, y, b = np.int64(s.x[a]) + DX[heading], np.int64(s.y[a]) + DY[heading], -1
    for i in range(w.agents):  # not who is seen: agents that pass each other can share a cell
        if b < 0 and s.alive[i] and s.role[i] == RUNNER and s.x[i] == x and s.y[i] == y:
            b = i
    if b < 0:
        return False
    s.alive[b] = 0
    s.fate[b] = WAS_CAUGHT
    if events[o + b] == NONE:  # it has not acted yet, and now cannot
        events[o + b] = CAUGHT
    rewards[o + b] += w.reward[CAUGHT]
    uncover(s, w, k, s.x[b], s.y[b])
    return True


@device
def interaction(s, w, k, a):
    """Return the event of agent `a` interacting with the cell ahead."""
    return w.interaction[1 if s.carry[a] != 0 else 0, ahead_of(s, w, a, 1)]


@device
def interact(s, w, k, a):
    """Let agent `a` act on the cell ahead. Returns the event.

    Whether that is legal was settled by the last observation; who comes too late only fails.
    """
    if not s.can[a]:
        return ILLEGAL
    event = np.int64(interaction(s, w, k, a))
    heading = s.heading[a]
    x, y = np.int64(s.x[a]) + DX[heading], np.int64(s.y[a]) + DY[heading]
    if event == PICK_UP:
        s.carry[a] = KEY
        put(s, k, x, y, FLOOR)
    elif event == DROP:
        put(s, k, x, y, s.carry[a])
        s.carry[a] = 0
    elif event == UNLOCK or event == OPEN_DOOR:
        put(s, k, x, y, OPEN)
    elif event == CLOSE_DOOR:
        put(s, k, x, y, CLOSED)
    elif event == ILLEGAL:
        return LATE
    elif k.full and event == TOGGLE:
        return toggle(s, w, k)
    return event


@device
def misread(index):
    """Return the event of no command, or of one that could not be read."""
    return STAY if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index)


@device
def act(s, w, k, a, index, o, rewards, events):
    """Carry out the command with this index, without a message. Returns the event."""
    if index < 0:
        return misread(index)
    if index < MOVES:
        return walk(s, w, k, a, HEADING_OF[index] & 3, o, rewards, events)
    return STAY if index == STAYING else interact(s, w, k, a)
