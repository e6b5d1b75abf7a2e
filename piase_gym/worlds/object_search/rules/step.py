"""The rules of ObjectSearch: agents act, one after the other; then all look. Compiled."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, hot, inline, integer, load64, store64
from piase_gym.compiled.stepping import ABSENT, NONE, share
from piase_gym.worlds.grids.codes import FLOOR
from piase_gym.worlds.grids.windows import DX, DY, locate
from piase_gym.worlds.object_search.codes import (
    ACTIONS,
    BLOCKED,
    DONE,
    ENTER,
    FINISHED,
    FOUND_ALL,
    FOUND_ONE,
    ILLEGAL,
    IN_PLAY,
    LEVEL,
    LEVELS,
    LOOK_LEFT,
    OUT_OF_TIME,
    REPORTED,
    STAYING,
    STOPPED,
    UNPARSABLE,
)
from piase_gym.worlds.object_search.rules.look import is_free, lay, look
from piase_gym.worlds.object_search.state import DYNAMICS, POSE, ROOM

TURN_OF = np.array([0, 2, 3, 1, 0, 0])
"""Where moves lead, as turns from the heading; the last two go up and down."""
STEPS, RISING = np.array([1, 1, 1, 1, 0, 0]), np.array([0, 0, 0, 0, 1, -1])
TURNING = np.array([0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 0])
PITCHING = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, -1, 0, 0])
ROLLING = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 1])


@inline
def mark(s, a, bit):
    """Note a milestone. Returns not 0 if agent `a` reached it for the first time."""
    marks = np.int64(s.marks[a])
    s.marks[a] = marks | bit
    return bit & ~marks


# -- what an agent does -------------------------------------------------------------------


@helper
def act(s, w, a, index):
    """Let agent `a` do what an index stands for. Returns the event."""
    if index < 0:
        return DONE if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index)
    if index >= ACTIONS:
        if not w.talks:
            return ILLEGAL
        report(s, w, a)
        index -= ACTIONS
    if index == STAYING:
        return DONE
    return move_head(s, w, a, index) if w.house else walk_line(s, w, a, index)


@helper
def report(s, w, a):
    """Let agent `a` report where it is and what it sees, before it acts."""
    if w.delay:
        write_report(s, w, a, s.on_way, on_way(s, w, a))
    else:
        write_report(s, w, a, s.told, ROOM * a)
    s.reports[a] += 1


@inline
def on_way(s, w, a):
    """Return where `on_way` keeps the report of agent `a` that arrives, or is sent, now."""
    return w.on_way + ROOM * (np.int64(s.t) % w.delay * len(s.x) + a)


@inline
def write_report(s, w, a, told, q):
    """Write a report of agent `a` into `told` from `q` on."""
    seen = np.int64(s.seen[a])
    told[q], told[q + 1], told[q + 2] = s.x[a] + 1, s.y[a], s.z[a]
    told[q + 3], told[q + 4], told[q + 5] = s.heading[a], s.pitch[a], s.roll[a]
    told[q + 6], told[q + 7] = seen & 255, seen >> 8
    if w.house:
        for i in range(0, ROOM - POSE, 8):
            store64(told, q + POSE + i, load64(s.look, ROOM * a + i))


@helper
def clear_reports(s, w):
    """Drop the reports of the step before, and let those arrive that are due."""
    for a in range(w.agents):
        s.told[ROOM * a] = 0
        if w.delay:
            q = on_way(s, w, a)
            if s.on_way[q]:
                for i in range(0, ROOM, 8):
                    store64(s.told, ROOM * a + i, load64(s.on_way, q + i))
                s.on_way[q] = 0


@inline
def walk_line(s, w, a, index):
    """Let agent `a` go along the line, which it cannot leave at the ends. Returns the event.

    Other actions change nothing on a line, and none changes anything before it is time to choose.
    """
    if index >= 2:
        return DONE
    if s.t <= w.recall:
        return BLOCKED
    to = np.int64(s.x[a]) + (1 if index == 0 else -1)
    if to < 0 or to >= w.width:
        return BLOCKED
    s.x[a] = to
    return DONE


@helper
def move_head(s, w, a, index):
    """Let agent `a` fly or look somewhere else in a house. Returns the event."""
    heading = np.int64(s.heading[a])
    pitch, roll = np.int64(s.pitch[a]) + PITCHING[index], np.int64(s.roll[a]) + ROLLING[index]
    if pitch < 0 or pitch > 2 * LEVEL or roll < 0 or roll > 2 * LEVEL:
        return STOPPED
    if index < LOOK_LEFT:
        way, steps = (heading + TURN_OF[index]) & 3, STEPS[index]
        x, y = s.x[a] + steps * DX[way], s.y[a] + steps * DY[way]
        z = s.z[a] + RISING[index]
        if not is_free(s, w, x, y, z):
            return BLOCKED
        s.x[a], s.y[a], s.z[a] = x, y, z
        locate(s, w, a)
    s.heading[a], s.pitch[a], s.roll[a] = (heading + TURNING[index]) & 3, pitch, roll
    return DONE


# -- what happens on its own --------------------------------------------------------------


@helper
def wander(s, w):
    """Let the first objects move to a random neighbouring column of bare floor, if there is one."""
    left = w.wandering
    for thing in range(w.names):
        if left == 0 or not s.goal >> thing & 1:
            continue
        left -= 1
        heading, cell = integer(s, DYNAMICS, 4), np.int64(s.place[thing])
        to = cell + DY[heading] * w.side + DX[heading]
        if s.cells[to] == FLOOR and s.holds[w.holds + to] == 0:
            lay(s, w, cell, 0)
            lay(s, w, to, thing + 1)
            s.place[thing] = to


@helper
def wander_line(s, w):
    """Let the first objects that there are move one position along the line."""
    left = w.wandering
    for thing in range(w.names):
        if left == 0 or not s.goal >> thing & 1:
            continue
        left -= 1
        by, bit = 2 * integer(s, DYNAMICS, 2) - 1, 1 << thing
        for x in range(w.width):
            if np.int64(s.shelf[x]) & bit:
                if 0 <= x + by < w.width:
                    s.shelf[x] = np.int64(s.shelf[x]) & ~bit
                    s.shelf[x + by] = np.int64(s.shelf[x + by]) | bit
                break


@helper
def come(s, w, a):
    """Let agent `a` enter where it starts, on the first level that is free there.

    Returns:
        Whether there was room for it.
    """
    x, y = np.int64(s.x[a]), np.int64(s.y[a])
    for i in range(LEVELS):
        level = (np.int64(s.z[a]) + i) % LEVELS
        if not w.house or is_free(s, w, x, y, level):
            s.z[a], s.alive[a] = level, 1
            return True
    return False


@helper
def let_in(s, w, o, events):
    """Let in the agents that are due, if there is room for them. Returns how many entered."""
    entered, left = 0, 0
    for a in range(w.agents):
        left += np.int64(s.alive[a])
    if left == 0:
        return 0
    for a in range(w.agents):
        due = 0 < w.join[a] <= s.t
        if due and not s.alive[a] and s.fate[a] == IN_PLAY and come(s, w, a):
            events[o + a] = ENTER
            entered += 1
    return entered


@hot
def discover(s, w, o, a, rewards):
    """Note what agent `a` sees, and reward what it is the first to see.

    Returns:
        Not 0 if it has found something for the first time.
    """
    new = np.int64(s.seen[a]) & np.int64(s.goal) & ~np.int64(s.found)
    if new == 0:
        return 0
    s.found = np.int64(s.found) | new
    count = 0
    while new:
        new &= new - 1
        count += 1
    rewards[o + a] += w.worth_found * count
    return mark(s, a, FOUND_ONE)


@hot
def tick(s, w, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        Not 0 if an agent ended, entered or reached a milestone for the first time.
    """
    notable, moved = 0, 0
    for i in range(w.slots):
        rewards[o + i], events[o + i] = 0.0, NONE
    clear_reports(s, w)
    for i in range(w.agents):
        a = np.int64(s.order[i])
        if s.alive[a]:
            sent = s.reports[a]
            event = act(s, w, a, np.int64(acts[o + a]))
            events[o + a] = event
            moved |= (event == DONE) << a
            rewards[o + a] = w.worth_step if event < ILLEGAL else w.worth_illegal
            if s.reports[a] != sent:
                rewards[o + a] += w.worth_message
                notable |= mark(s, a, REPORTED)
    s.t += 1
    if w.recall >= 0 and s.t == 1:  # the sign is taken away
        s.shelf[1], moved = 0, -1
    if w.wandering and s.t % w.wander_period == 0:
        moved = -1
        if w.house:
            wander(s, w)
        else:
            wander_line(s, w)
    if w.late:
        notable |= let_in(s, w, o, events)
        moved = -1
    for i in range(w.agents):
        a = np.int64(s.order[i])
        if s.alive[a]:
            if moved >> a & 1:  # others see what they saw before, or what a script has put there
                look(s, w, a)
            if not w.pictures:
                notable |= discover(s, w, o, a, rewards)
    if w.pictures:  # what is seen is known once they are taken; then `judge` goes on
        return notable
    return close(s, w, o, rewards, terminated, truncated, events) | notable


@helper
def judge(s, w, o, rewards, terminated, truncated, events):
    """End a step of agents that see in pictures, once these are taken. Returns what `tick` does."""
    notable = 0
    for i in range(w.agents):
        a = np.int64(s.order[i])
        if s.alive[a]:
            notable |= discover(s, w, o, a, rewards)
    return close(s, w, o, rewards, terminated, truncated, events) | notable


@hot
def close(s, w, o, rewards, terminated, truncated, events):
    """End a step: count what is covered, share rewards, write which agents have ended."""
    s.area += s.covered
    if w.shared:
        share(w, o, rewards, events)
    return finish(s, w, o, terminated, truncated, events)


@helper
def finish(s, w, o, terminated, truncated, events):
    """Write which agents have ended. Returns not 0 if an agent did, or reached a milestone."""
    notable, complete = 0, s.found == s.goal
    if complete:
        for a in range(w.agents):
            if s.alive[a]:
                notable |= mark(s, a, FOUND_ALL)
    chosen = w.recall >= 0 and s.x[0] != 1
    ended = (complete and w.ends != 0) or chosen
    late = s.t >= w.max_steps and not ended
    if not ended and not late:
        return notable
    for a in range(w.agents):
        if s.alive[a]:
            terminated[o + a], truncated[o + a] = ended, late
            s.alive[a] = 0
            s.fate[a] = FINISHED if complete else OUT_OF_TIME
    return 1
