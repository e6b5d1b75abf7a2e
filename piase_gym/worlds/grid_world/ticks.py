"""A step of GridWorld: every agent acts, then the world. Compiled.

Agents act one after the other, in the order of `order`. Most of what they do is one path without
branches (`tread`); for the rest there are `rules`.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import ABSENT, device, helper, peek, poke, rare
from piase_gym.worlds.cell_codes import AGENT
from piase_gym.worlds.grid_world.cells import (
    BARE,
    BOX,
    FLOOR,
    FRUIT,
    GATE_OPEN,
    GOAL,
    HAZARD,
    OPEN,
    WALKABLE,
)
from piase_gym.worlds.grid_world.dynamics import gather, live, marked
from piase_gym.worlds.grid_world.events import (
    ARRIVED,
    BLOCKED,
    CAUGHT,
    ESCAPED,
    ILLEGAL,
    MOVE,
    NONE,
    OUT_OF_TIME,
    REACH_GOAL,
    RUNNER,
    STAY,
    TOO_HEAVY,
)
from piase_gym.worlds.grid_world.joining import let_in
from piase_gym.worlds.grid_world.rules import ACTIONS, INTERACTING, MOVES, act, interact, misread

# What comes of the command with index i, at ``2 * i``, or at ``2 * i + 1`` if the way is free.
PACE_X = np.array([0, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0], np.int16)
PACE_Y = np.array([0, -1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], np.int16)
EVENT_OF = np.array([BLOCKED, MOVE] * MOVES + [STAY] * 2 + [ILLEGAL] * 2, np.uint8)
FREE = np.zeros(256, np.uint8)
FREE[np.array([FLOOR, GOAL, OPEN, GATE_OPEN, BARE])] = 1
"""Whether an agent can step onto what it sees ahead; where it stands it sees itself."""
STRANGE = np.zeros(256, np.bool_)
STRANGE[np.array([BOX, HAZARD, FRUIT])] = True
"""What something happens to, or what something happens on, when an agent walks into it."""
assert set(WALKABLE) == set(np.flatnonzero(FREE)) | {HAZARD, FRUIT}
TURNED = np.array([[0] * 4, [2] * 4, [3] * 4, [1] * 4, range(4), range(4)], np.uint8).ravel()
"""The heading after a command, at four times its index plus the heading before."""


@device
def tick(s, w, k, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        Not 0 if an agent ended or reached a milestone for the first time.
    """
    if k.full:
        notable = tick_full(s, w, k, o, acts, rewards, terminated, events)
    else:
        notable = tick_plain(s, w, k, o, acts, rewards, terminated, events)
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
def tread(s, w, k, a, index, o, rewards, terminated, events):
    """Carry out a command without a message. Returns the event.

    What agents do can hardly be foreseen, and a branch that a processor has guessed wrong costs as
    much as all of this. So moving, being blocked, staying and an illegal command are one path.
    """
    if index < 0 or (index == INTERACTING and s.can[a]):
        return act_rarely(s, w, k, a, index, o, rewards, events)
    here = np.int64(s.at[a])
    ground = peek(s.painted, here + w.pace[2 * index + 1])
    if k.full and (w.careful or STRANGE[ground]):
        return act_rarely(s, w, k, a, index, o, rewards, events)
    free = np.int64(FREE[ground])
    what = 2 * index + free
    heading = np.int64(TURNED[4 * index + s.heading[a]])
    now = here + w.pace[what]
    below = np.int64(s.under[a])
    s.under[a] = ground if free else below
    poke(s.painted, here, below)
    s.heading[a] = heading
    s.x[a] += PACE_X[what]
    s.y[a] += PACE_Y[what]
    s.at[a] = now
    if ground == GOAL:
        s.alive[a] = 0
        s.fate[a] = ARRIVED
        if not k.full:  # with all rules `tick_full` finds it out at the end
            s.left -= 1
            s.news |= 1 | marked(s, w, a, REACH_GOAL)
            terminated[np.uint64(o + a)] = True
        return REACH_GOAL
    poke(s.painted, now, AGENT + 4 * a + heading)
    return np.int64(EVENT_OF[what])


@rare
def act_rarely(s, w, k, a, index, o, rewards, events):
    """Carry out what `tread` does not: what is no move, or where more than moving happens."""
    if k.full:
        event = act(s, w, k, a, index, o, rewards, events)
        s.under[a] = peek(s.cells, np.int64(s.y[a]) * k.side + np.int64(s.x[a]))
        return event
    if index < 0:
        return misread(index)
    event = interact(s, w, k, a)
    s.news |= marked(s, w, a, event)
    return event


@device
def tick_plain(s, w, k, o, acts, rewards, terminated, events):
    """Let every agent act, where nothing moves but agents. Returns whether it was notable."""
    s.news = 0
    for i in range(w.agents):
        a = np.int64(s.order[i])
        row = np.uint64(o + a)  # unsigned: no need to ask whether it counts from the end
        event = NONE
        if s.alive[a]:
            event = tread(s, w, k, a, np.int64(acts[row]), o, rewards, terminated, events)
        events[row] = event
        rewards[row] = w.reward[np.uint64(event)]
    return s.news


@device
def tick_full(s, w, k, o, acts, rewards, terminated, events):
    """Let every agent act, then the world. Returns not 0 if anything was notable."""
    s.news = 0
    if act_all(s, w, k, o, acts, rewards, terminated, events):
        gather(s, w, k, o, rewards, events)
    live(s, w, k, o, rewards)
    left = 0
    for a in range(w.agents):
        left += np.int64(s.alive[a])
    if left != s.left:
        s.news = 1
        see_off(s, w, o, terminated, events)
    if w.shared:
        share(w, o, rewards, events)
    if w.latecomers and left > 0 and s.t + 1 < w.max_steps:
        entered = let_in(s, w, k, o, events)
        left += entered
        s.news |= entered
    s.left = left
    return s.news


@rare
def see_off(s, w, o, terminated, events):
    """Write who has ended in this step."""
    for a in range(w.agents):
        terminated[o + a] = events[o + a] != NONE and not s.alive[a]


@device
def act_all(s, w, k, o, acts, rewards, terminated, events):
    """Let every agent act, with a message or without. Returns whether anybody tried to lift.

    Who is caught before its turn has its event and its reward from the one that caught it, and from
    a command that was wrong before anybody acted.
    """
    lifting = False
    if w.taggers:
        for a in range(w.agents):
            events[o + a], rewards[o + a] = NONE, 0.0
    for i in range(w.agents):
        a = np.int64(s.order[i])
        row = np.uint64(o + a)
        event, said = NONE, 0
        if s.alive[a]:
            if w.taggers:
                events[row] = STAY  # it takes part, so it can no longer be caught unawares
            index = np.int64(acts[row])
            symbol = index // ACTIONS if index > 0 else 0
            event = ILLEGAL
            if symbol <= w.symbols:
                silent = index - symbol * ACTIONS
                event = tread(s, w, k, a, silent, o, rewards, terminated, events)
            said = symbol if event != ILLEGAL else 0
            lifting |= event == TOO_HEAVY
            s.news |= marked(s, w, a, np.uint64(event))
        elif w.taggers and events[row] == CAUGHT:
            event = wrong(s, w, a, np.int64(acts[row]))
        s.said[a] = said
        if not w.taggers:
            events[row] = event
            rewards[row] = w.reward[np.uint64(event)]
        elif event != NONE:
            events[row] = event
            rewards[row] += w.reward[event]
    return lifting


@helper
def wrong(s, w, a, index):
    """Return the event of a command that is illegal or cannot be read, else `NONE`."""
    if index < 0:
        return NONE if index == ABSENT else misread(index)
    if index // ACTIONS > w.symbols or (index % ACTIONS == INTERACTING and not s.can[a]):
        return ILLEGAL
    return NONE


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
