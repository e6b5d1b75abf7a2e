"""GridWorld's rules: what each command does. Compiled, one record an environment.

Agents act one after the other, in the order of `order`; the first to claim a cell has it. What the
world then does of itself is in `dynamics`.
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
from piase_gym.worlds.grid_world.dynamics import gather, live, toggle
from piase_gym.worlds.grid_world.events import (
    ARRIVED,
    BLOCKED,
    CAUGHT,
    CLOSE_DOOR,
    DIED,
    DROP,
    EAT,
    ESCAPED,
    HURT,
    ILLEGAL,
    LATE,
    MOVE,
    NONE,
    OPEN_DOOR,
    OUT_OF_TIME,
    PICK_UP,
    PUSH,
    REACH_GOAL,
    RUNNER,
    STAY,
    TAG,
    TAGGER,
    TOGGLE,
    TOO_HEAVY,
    UNLOCK,
    UNPARSABLE,
    WAS_CAUGHT,
)
from piase_gym.worlds.grid_world.joining import let_in
from piase_gym.worlds.turned_maps import DX, DY, appear, leave, put, uncover

HEADING_OF = np.array([0, 2, 3, 1])  # up, down, left, right as headings
MOVES = 4
STAYING = 4
INTERACTING = 5
ACTIONS = 6


@device
def walk(s, w, k, a, heading, o, rewards, events):
    """Turn agent `a` and let it try to step ahead. Returns the event."""
    s.heading[a] = heading
    seen = peek(s.maps, np.int64(s.at[4 * a + heading]) - k.stride)
    ground = seen
    event = MOVE
    if k.full:
        if seen == BOX and push(s, k, a, heading):
            ground, event = FLOOR, PUSH
        elif seen >= AGENT:
            if w.taggers and chase(s, w, k, a, heading, o, rewards, events):
                appear(s, w, k, a)
                return TAG
            if w.pass_through:
                x, y = np.int64(s.x[a]) + DX[heading], np.int64(s.y[a]) + DY[heading]
                ground = peek(s.cells, y * k.side + x)
    free = ground == FLOOR or ground == GOAL or ground == OPEN
    if k.full:
        free = free or ground == GATE_OPEN or (ground >= HAZARD and ground <= BARE)
    if not free:
        appear(s, w, k, a)
        return BLOCKED
    leave(s, w, k, a, heading)
    if ground == GOAL:
        s.alive[a] = 0
        s.fate[a] = ARRIVED
        return REACH_GOAL
    if k.full:
        event = arrive(s, w, k, a, ground, event)
        if not s.alive[a]:
            return event
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
def push(s, k, a, heading):
    """Push the box ahead of agent `a` onto free floor. Returns whether it moved."""
    beyond = peek(s.maps, np.int64(s.at[4 * a + heading]) - 2 * k.stride)
    if beyond != FLOOR:
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
    ahead = peek(s.maps, np.int64(s.at[4 * a + s.heading[a]]) - k.stride)
    return w.interaction[1 if s.carry[a] != 0 else 0, ahead]


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
def act(s, w, k, a, index, o, rewards, events):
    """Carry out the command with this index. Returns the event."""
    if index < 0:
        return STAY if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index)
    if index < MOVES:
        return walk(s, w, k, a, HEADING_OF[index] & 3, o, rewards, events)
    return STAY if index == STAYING else interact(s, w, k, a)


@device
def act_and_say(s, w, k, a, index, o, rewards, events):
    """Carry out the command with this index, which may have a message. Returns the event."""
    symbol = index // ACTIONS if index > 0 else 0
    if symbol > w.symbols:
        return ILLEGAL
    event = act(s, w, k, a, index - symbol * ACTIONS, o, rewards, events)
    if event != ILLEGAL:
        s.said[a] = symbol
    return event


@device
def tick(s, w, k, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        Not 0 if an agent ended or reached a milestone for the first time.
    """
    if k.full:
        notable = tick_full(s, w, k, o, acts, rewards, terminated, truncated, events)
    else:
        notable = tick_plain(s, w, k, o, acts, rewards, terminated, truncated, events)
    s.t += 1
    if s.t >= w.max_steps:
        for a in range(w.agents):
            if s.alive[a]:
                truncated[o + a] = True
                s.alive[a] = 0
                s.fate[a] = OUT_OF_TIME
                if k.full and (s.role[a] == RUNNER or w.survive):
                    s.fate[a] = ESCAPED
        s.left = 0
        return 1
    return notable


@device
def tick_plain(s, w, k, o, acts, rewards, terminated, truncated, events):
    """Let every agent act, where nothing moves but agents. Returns whether it was notable."""
    notable, left = 0, 0
    for i in range(w.agents):
        a = np.int64(s.order[i])
        row = np.uint64(o + a)  # unsigned: no need to ask whether it counts from the end
        event = NONE
        if s.alive[a]:
            event = act(s, w, k, a, np.int64(acts[row]), o, rewards, events)
        number = np.uint64(event)
        notable |= marked(s, w, a, number)
        left += np.int64(s.alive[a])
        events[row] = event
        rewards[row] = w.reward[number]
        terminated[row] = event == REACH_GOAL
        truncated[row] = False
    notable |= left != s.left
    s.left = left
    return notable


@device
def marked(s, w, a, event):
    """Note the milestone of an event. Returns not 0 if agent `a` reached it for the first time."""
    mark, marks = np.int64(w.mark[event]), np.int64(s.marks[a])
    s.marks[a] = marks | mark
    return mark & ~marks


@helper
def tick_full(s, w, k, o, acts, rewards, terminated, truncated, events):
    """Let every agent act, then the world. Returns not 0 if anything was notable."""
    notable, left, lifting = 0, 0, False
    for a in range(w.agents):
        events[o + a] = NONE
        rewards[o + a] = 0.0
        s.said[a] = 0
    for i in range(w.agents):
        a = np.int64(s.order[i])
        if s.alive[a]:
            events[o + a] = STAY  # it takes part, so it can no longer be caught unawares
            event = act_and_say(s, w, k, a, np.int64(acts[o + a]), o, rewards, events)
            lifting |= event == TOO_HEAVY
            events[o + a] = event
            rewards[o + a] += w.reward[event]
    if lifting:
        gather(s, w, k, o, rewards, events)
    live(s, w, k, o, rewards)
    for a in range(w.agents):
        event = np.int64(events[o + a])
        notable |= marked(s, w, a, event)
        left += np.int64(s.alive[a])
        terminated[o + a] = event != NONE and not s.alive[a]
        truncated[o + a] = False
    if w.shared:
        share(w, o, rewards, events)
    if w.latecomers and left > 0 and s.t + 1 < w.max_steps:
        left += let_in(s, w, k, o, events)
    notable |= left != s.left
    s.left = left
    return notable


@helper
def share(w, o, rewards, events):
    """Give every agent that took part the mean reward of those that did."""
    total, count = 0.0, 0
    for a in range(w.agents):
        if events[o + a] != NONE:
            total += rewards[o + a]
            count += 1
    for a in range(w.agents):
        if events[o + a] != NONE:
            rewards[o + a] = total / count
