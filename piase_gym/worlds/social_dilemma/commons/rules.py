"""The rules of the commons: agents walk and eat, beams fly, and the commons grows. Compiled.

In a step agents walk one after the other, in the order of `order`; then all beams fly at once, so
two can zap each other; then time-outs run off, and last what grows grows.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, hot, inline
from piase_gym.compiled.stepping import ABSENT
from piase_gym.worlds.grids.codes import AGENT, FLOOR, OUTSIDE
from piase_gym.worlds.grids.windows import advance, cell_at, paint_agent, paint_at, put, seen_ahead
from piase_gym.worlds.social_dilemma.commons.beams import CLEANING_BEAM, ZAP_BEAM, fire, mark, wait
from piase_gym.worlds.social_dilemma.commons.codes import (
    APPLE,
    ATE,
    BLOCKED,
    CLEANING,
    EAT,
    ILLEGAL,
    MISSED,
    MOVE,
    MOVES,
    NOTHING_TO_CLEAN,
    STAY,
    STAYING,
    UNPARSABLE,
    ZAPPING,
)
from piase_gym.worlds.social_dilemma.commons.growth import bear, pollute, regrow
from piase_gym.worlds.social_dilemma.end_reasons import OUT_OF_TIME, PLAYED

HEADING_OF = np.array([0, 2, 3, 1])  # up, down, left, right as headings


@hot
def walk(s, w, a, heading):
    """Turn agent `a` and let it try to step ahead. Returns the event."""
    s.heading[a] = heading
    ground = seen_ahead(s, w, a, 1)
    if ground >= AGENT or ground == OUTSIDE:
        paint_agent(s, a)
        return BLOCKED
    paint_at(s, a, cell_at(s, w, s.x[a], s.y[a]))
    advance(s, w, a)
    event = MOVE
    if ground == APPLE:
        put(s, w, s.x[a], s.y[a], FLOOR)
        s.ripe[s.y[a]] &= ~(_1 << np.uint64(s.x[a]))
        s.eaten[a] += 1
        s.when[a] += s.t + 1
        event = EAT
    paint_agent(s, a)
    return event


@inline
def legal_act(s, w, a, action):
    """Tell whether agent `a` may do an action (without a message) now."""
    if s.out[a] > 0:
        return action == STAYING
    if action == ZAPPING:
        return w.timeout > 0
    return action != CLEANING or w.cleanup > 0


@inline
def act(s, w, a, index):
    """Let agent `a` walk, or note that it fires. Returns the event, so far."""
    s.beam[a] = 0
    s.said[a] = 0
    if index < 0:
        return STAY if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index)
    symbol = index // np.int64(w.actions)
    action = index - symbol * w.actions
    if symbol > w.symbols or not legal_act(s, w, a, action):
        return ILLEGAL
    s.said[a] = symbol
    if action < MOVES:
        return walk(s, w, a, HEADING_OF[action])
    if action == ZAPPING:
        s.beam[a] = ZAP_BEAM
        return MISSED
    if action == CLEANING:
        s.beam[a] = CLEANING_BEAM
        return NOTHING_TO_CLEAN
    return STAY


@hot
def tick(s, w, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        Not 0 if an agent ended or reached a milestone for the first time.
    """
    firing, notable = 0, 0
    for i in range(w.agents):
        a = np.int64(s.order[i])
        row = np.uint64(o + a)  # unsigned: no need to ask whether it counts from the end
        event = act(s, w, a, np.int64(acts[row]))
        events[row] = event
        rewards[row] = w.apple if event == EAT else 0.0
        firing |= np.int64(s.beam[a])
        if event == EAT:
            notable |= mark(s, a, ATE)
    if firing:
        notable |= fire(s, w, o, rewards, events)
    for a in range(w.agents):
        if s.out[a] > 0:
            wait(s, w, a)
    if w.cleanup:
        pollute(s, w)
        bear(s, w)
    else:
        regrow(s, w)
    if w.shared:
        share(w, o, rewards)
    s.t += 1
    return finish(s, w, o, terminated, truncated) | notable


@helper
def finish(s, w, o, terminated, truncated):
    """Write who has ended. Returns whether all have."""
    ended = s.t >= w.rounds
    late = s.t >= w.max_steps and not ended
    for a in range(w.agents):
        terminated[o + a], truncated[o + a] = ended, late
    if ended or late:
        for a in range(w.agents):
            s.alive[a] = 0
            s.fate[a] = PLAYED if ended else OUT_OF_TIME
    return 1 if ended or late else 0


@helper
def share(w, o, rewards):
    """Give everybody the mean reward."""
    total = 0.0
    for a in range(w.agents):
        total += rewards[o + a]
    for a in range(w.agents):
        rewards[o + a] = total / w.agents
