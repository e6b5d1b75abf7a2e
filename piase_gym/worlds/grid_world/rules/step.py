"""GridWorld's rules: what each command does, and what a step is. Compiled.

Agents act one after the other, in the order of ``s.order``; the first to claim a cell has it. What
the world does on its own is in `rules.world`.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, hot, inline, load
from piase_gym.compiled.stepping import ABSENT, share
from piase_gym.worlds.channel.kernels import deliver, first_symbol, may_say, post
from piase_gym.worlds.grid_world.cells import (
    AGENT,
    ARRIVES,
    BARE,
    BOX,
    CELLS,
    CLOSED,
    EATS,
    FLOOR,
    KEY,
    OPEN,
    PUSHED,
    STANDS,
)
from piase_gym.worlds.grid_world.rules.events import (
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
    TURN,
    UNLOCK,
    UNPARSABLE,
    WAS_CAUGHT,
)
from piase_gym.worlds.grid_world.rules.joining import let_in
from piase_gym.worlds.grid_world.rules.memory import grow_old
from piase_gym.worlds.grid_world.rules.tables import FULL
from piase_gym.worlds.grid_world.rules.world import appear, gather, live, marked, toggle, uncover
from piase_gym.worlds.grids.windows import advance, ahead, cell_at, paint_at, put, seen_ahead

HEADING_OF = np.array([0, 2, 3, 1])  # up, down, left, right as headings
TURN_OF = np.array([0, 2, 3, 1])  # forward, turn around, left, right as quarters
MOVES = 4
STAYING = 4
INTERACTING = 5
ACTIONS = 6
ENTERING = CELLS.array("entering")
"""What follows from walking into what is seen, by code; agents block."""


# -- what an agent does -------------------------------------------------------------------


@inline
def act(s, w, a, index, o, rewards, events):
    """Carry out the command with this index, without a message. Returns the event."""
    if index < 0:
        return STAY if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index)
    if index < MOVES:
        if FULL and w.agent_frame:
            return stride(s, w, a, index, o, rewards, events)
        return walk(s, w, a, HEADING_OF[index], o, rewards, events)
    return STAY if index == STAYING else interact(s, w, a)


@helper
def stride(s, w, a, index, o, rewards, events):
    """Let agent `a` step ahead, or turn on the spot. Returns the event."""
    heading = (np.int64(s.heading[a]) + TURN_OF[index]) & 3
    if index == 0:
        return walk(s, w, a, heading, o, rewards, events)
    s.heading[a] = heading
    appear(s, w, a)
    return TURN


@hot
def walk(s, w, a, heading, o, rewards, events):
    """Turn agent `a` and let it try to step ahead. Returns the event."""
    s.heading[a] = heading
    ground, event = np.int64(seen_ahead(s, w, a, 1)), MOVE
    if FULL and ground >= AGENT:
        if w.taggers and chase(s, w, a, o, rewards, events):
            appear(s, w, a)
            return TAG
        if w.pass_through:
            x, y = ahead(s, a, 1)
            ground = np.int64(cell_at(s, w, x, y))
    entering = load(ENTERING, ground)
    if FULL and entering == PUSHED and push(s, w, a):
        entering, event = STANDS, PUSH
    if entering < STANDS:
        appear(s, w, a)
        return BLOCKED
    x, y = np.int64(s.x[a]), np.int64(s.y[a])
    paint_at(s, a, cell_at(s, w, x, y))
    advance(s, w, a)
    if FULL and w.pass_through:
        uncover(s, w, x, y)
    if entering == ARRIVES:
        s.alive[a] = 0
        s.fate[a] = ARRIVED
        return REACH_GOAL
    if FULL and entering > ARRIVES:
        event = meet(s, w, a, entering)
    if not FULL or s.alive[a]:
        appear(s, w, a)
    return event


@helper
def meet(s, w, a, entering):
    """Do what entering its cell does to agent `a`, beyond standing there. Returns the event."""
    if entering == EATS:
        put(s, w, s.x[a], s.y[a], BARE)
        if w.energy:
            s.energy[a] = min(255, np.int64(s.energy[a]) + w.fruit_energy)
        return EAT
    if w.hazard_ends:
        s.alive[a] = 0
        s.fate[a] = DIED
        uncover(s, w, s.x[a], s.y[a])
    return HURT


@helper
def push(s, w, a):
    """Push the box ahead of agent `a` onto free floor. Returns whether it moved."""
    if seen_ahead(s, w, a, 2) != FLOOR:
        return False
    x, y = ahead(s, a, 1)
    put(s, w, x, y, FLOOR)
    x, y = ahead(s, a, 2)
    put(s, w, x, y, BOX)
    return True


@helper
def chase(s, w, a, o, rewards, events):
    """Let agent `a` tag the first runner ahead, if that is its game. Returns whether it did."""
    if s.role[a] != TAGGER:
        return False
    x, y = ahead(s, a, 1)
    for b in range(w.agents):  # not who is seen: agents that pass each other can share a cell
        if s.alive[b] and s.role[b] == RUNNER and s.x[b] == x and s.y[b] == y:
            s.alive[b] = 0
            s.fate[b] = WAS_CAUGHT
            if events[o + b] == NONE:  # it has not acted yet, and now cannot
                events[o + b] = CAUGHT
            rewards[o + b] += w.reward[CAUGHT]
            uncover(s, w, x, y)
            return True
    return False


@inline
def interaction(s, w, a):
    """Return the event of agent `a` interacting with the cell ahead."""
    return np.int64(w.interaction[1 if s.carry[a] else 0, seen_ahead(s, w, a, 1)])


@hot
def interact(s, w, a):
    """Let agent `a` act on the cell ahead. Returns the event.

    Whether that is legal was settled by the last observation; an agent that is too late only fails.
    """
    if not s.can[a]:
        return ILLEGAL
    event = interaction(s, w, a)
    x, y = ahead(s, a, 1)
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
    elif FULL and event == TOGGLE:
        event = toggle(s, w)
    elif event == ILLEGAL:
        event = LATE
    return event


# -- a step -------------------------------------------------------------------------------


@hot
def tick(s, w, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        Not 0 if an agent ended, entered or reached a milestone for the first time.
    """
    if FULL and w.taggers:
        for a in range(w.agents):
            events[o + a], rewards[o + a] = NONE, 0.0
    notable = act_all(s, w, o, acts, rewards, terminated, events)
    if FULL:
        notable |= gather(s, w, o, rewards, events)
        if live(s, w, o, rewards):
            notable |= see_off(s, w, o, terminated, events)
        if w.shared:
            share(w, o, rewards, events)
        if w.recall:
            grow_old(s, w)
    notable |= pass_time(s, w, o, truncated, events)
    if FULL and w.mail >= 0:
        deliver(s.cells, w, s.t - 1, o, events, s.x, s.y)
    return notable


@hot
def pass_time(s, w, o, truncated, events):
    """Let a step be over. Returns not 0 if time is up, or if an agent enters."""
    s.t += 1
    if s.t >= w.max_steps:
        run_out(s, w, o, truncated)
        return 1
    return let_in(s, w, o, events) if FULL and w.latecomers else 0


@hot
def act_all(s, w, o, acts, rewards, terminated, events):
    """Let every agent act, with a message or without. Returns not 0 if it was notable.

    An agent that is caught before its turn keeps the event and reward of being caught; if its
    command was wrong before anybody acted, it gets that event instead, and that reward too.
    """
    notable, ended = 0, False
    for i in range(w.agents):
        a = np.int64(s.order[i])
        row = np.uint64(o + a)  # unsigned: no check for indices from the end
        event, said = NONE, 0
        if s.alive[a]:
            index = np.int64(acts[row])
            if FULL:
                if w.taggers:
                    events[row] = STAY  # it takes part, so it can no longer be caught unawares
                said = index // ACTIONS if index > 0 else 0
                index -= said * ACTIONS
            event = ILLEGAL
            if not FULL or may_say(w, a, said):
                event = act(s, w, a, index, o, rewards, events)
            if event == ILLEGAL:
                said = 0
            ended |= event == REACH_GOAL or (FULL and (event == TAG or not s.alive[a]))
            notable |= marked(s, w, a, event)
        elif FULL and w.taggers and events[row] == CAUGHT:
            event = wrong(s, w, a, np.int64(acts[row]))
        if FULL:
            s.said[a] = first_symbol(w, said)
            if w.mail >= 0:
                post(s.cells, w, a, said, s.t)
        if not FULL or not w.taggers:
            events[row], rewards[row] = event, w.reward[event]
        elif event != NONE:
            events[row] = event
            rewards[row] += w.reward[event]
        if FULL and said > 0 and w.say_cost > 0.0:
            rewards[row] -= w.say_cost
    if ended:
        notable |= see_off(s, w, o, terminated, events)
    return notable


@helper
def wrong(s, w, a, index):
    """Return the event of a command that is illegal or cannot be read, else `NONE`."""
    if index < 0:
        return NONE if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index)
    if not may_say(w, a, index // ACTIONS) or (index % ACTIONS == INTERACTING and not s.can[a]):
        return ILLEGAL
    return NONE


@helper
def see_off(s, w, o, terminated, events):
    """Write which agents have ended in this step, given that one has. Returns 1."""
    for a in range(w.agents):
        terminated[o + a] = events[o + a] != NONE and not s.alive[a]
    return 1


@helper
def run_out(s, w, o, truncated):
    """End the episode for all agents in play, because time is up."""
    for a in range(w.agents):
        if s.alive[a]:
            truncated[o + a] = True
            s.alive[a] = 0
            s.fate[a] = ESCAPED if s.role[a] == RUNNER or w.survive else OUT_OF_TIME
