"""Beams of the commons, and what they lead to: water without waste, and time-outs. Compiled."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, inline, integer
from piase_gym.worlds.grids.codes import AGENT, FLOOR, OUTSIDE
from piase_gym.worlds.grids.windows import (
    ahead,
    cell_at,
    locate,
    paint_agent,
    paint_at,
    put,
    seen_ahead,
    top,
)
from piase_gym.worlds.social_dilemma.commons.codes import (
    CLEANED,
    HAS_CLEANED,
    HIT,
    WAS_ZAPPED,
    WASTE,
    WATER,
    ZAPPED,
)
from piase_gym.worlds.social_dilemma.commons.state import DYNAMICS

ZAP_BEAM, CLEANING_BEAM = 1, 2


@inline
def mark(s, a, bit):
    """Note a milestone. Returns not 0 if agent `a` reached it for the first time."""
    marks = np.int64(s.marks[a])
    s.marks[a] = marks | bit
    return bit & ~marks


@helper
def fire(s, w, o, rewards, events):
    """Let all beams fly from where agents now stand. Returns not 0 if that is notable."""
    notable = 0
    for a in range(w.agents):
        s.struck[a] = 0
    for i in range(w.agents):
        a = np.int64(s.order[i])
        if s.beam[a] == CLEANING_BEAM and clean(s, w, a):
            events[o + a] = CLEANED
            s.cleaned[a] += 1
            notable |= mark(s, a, HAS_CLEANED)
        elif s.beam[a] == ZAP_BEAM:
            s.zaps[a] += 1
            rewards[o + a] -= w.zap_cost
            b = target(s, w, a)
            if b >= 0:
                events[o + a] = HIT
                s.struck[b] = 1
                notable |= mark(s, a, ZAPPED)
    for b in range(w.agents):
        if s.struck[b]:
            rewards[o + b] -= w.zap_fine
            s.zapped[b] += 1
            notable |= mark(s, b, WAS_ZAPPED)
            paint_at(s, b, cell_at(s, w, s.x[b], s.y[b]))
            s.out[b] = w.timeout + 1  # this step does not count
    return notable


@helper
def target(s, w, a):
    """Return the first agent ahead of agent `a`, within reach of a zap, or -1."""
    for i in range(1, w.zap_range + 1):
        seen = np.int64(seen_ahead(s, w, a, i))
        if seen >= AGENT:
            return (seen - AGENT) >> 2
        if seen == OUTSIDE:
            break
    return -1


@helper
def clean(s, w, a):
    """Turn the first waste ahead of agent `a` to water, if it is within reach; tell whether so."""
    for i in range(1, w.clean_range + 1):
        seen = seen_ahead(s, w, a, i)
        if seen == WASTE:
            x, y = ahead(s, a, i)
            put(s, w, x, y, WATER)
            s.waste -= 1
            return True
        if seen == OUTSIDE or seen >= AGENT:
            break
    return False


@helper
def wait(s, w, a):
    """Let an agent in time-out wait; at its end it comes back at a random free cell, facing up."""
    s.out[a] -= 1
    if s.out[a] == w.timeout:  # it was hit in this very step
        return
    s.away[a] += 1
    if s.out[a] > 0:
        return
    cell = free_cell(s, w, DYNAMICS)
    if cell < 0:
        s.out[a] = 1  # it has to wait for room
        return
    appear_at(s, w, a, cell)


@helper
def appear_at(s, w, a, cell):
    """Put agent `a` on a cell, facing up."""
    s.x[a], s.y[a], s.heading[a] = cell % w.side, cell // w.side, 0
    locate(s, w, a)
    paint_agent(s, a)


@helper
def free_cell(s, w, stream):
    """Draw a cell of bare floor on which nobody stands, as y * side + x; -1 if there is none."""
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            count += top(s, w, x, y) == FLOOR
    if count == 0:
        return -1
    left = integer(s, stream, count)
    for y in range(w.height):
        for x in range(w.width):
            if top(s, w, x, y) == FLOOR:
                if left == 0:
                    return y * w.side + x
                left -= 1
    return -1
