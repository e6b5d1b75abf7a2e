"""What GridWorld does of itself, and what agents do together. Compiled."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import bits, device, helper, peek
from piase_gym.worlds.grid_world.cells import (
    BARE,
    FLOOR,
    FOOD,
    FRUIT,
    GATE,
    GATE_OPEN,
    MAX_FOOD,
    MOVER,
    SWITCH_OFF,
    SWITCH_ON,
)
from piase_gym.worlds.grid_world.events import (
    CLEARED,
    GATHER,
    IN_PLAY,
    JAMMED,
    RUNNER,
    STARVED,
    TAGGER,
    TOGGLE,
    TOO_HEAVY,
)
from piase_gym.worlds.painted_map import DX, DY, put, top, uncover

DYNAMICS = 1  # the stream
_32 = np.uint64(32)


@device
def marked(s, w, a, event):
    """Note the milestone of an event. Returns not 0 if agent `a` reached it for the first time."""
    mark, marks = np.int64(w.mark[event]), np.int64(s.marks[a])
    s.marks[a] = marks | mark
    return mark & ~marks


@helper
def chance(s, threshold):
    """Draw whether something happens whose chance is ``threshold / 2**32``."""
    return (bits(s.keys, s.counters, DYNAMICS) >> _32) < np.uint64(threshold)


@helper
def toggle(s, w, k):
    """Turn every switch and every gate over. Returns the event.

    An open gate that an agent stands in cannot close, and then nothing turns.
    """
    for a in range(w.agents):
        if s.alive[a] and s.cells[np.int64(s.y[a]) * k.side + s.x[a]] == GATE_OPEN:
            return JAMMED
    for y in range(w.height):
        for x in range(w.width):
            code = peek(s.cells, y * k.side + x)
            if code in (SWITCH_OFF, GATE):
                put(s, k, x, y, code + 1)
            elif code in (SWITCH_ON, GATE_OPEN):
                put(s, k, x, y, code - 1)
    return TOGGLE


@helper
def target(s, k, a):
    """Return the place of the cell ahead of agent `a`."""
    heading = s.heading[a]
    x, y = np.int64(s.x[a]) + DX[heading], np.int64(s.y[a]) + DY[heading]
    return y * k.side + x


@helper
def gather(s, w, k, o, rewards, events):
    """Let agents that lift the same food join forces; who is strong enough shares its reward.

    As in level-based foraging, food of weight n is worth n parts of the reward of all food, and
    those who lift it share them by strength.
    """
    for a in range(w.agents):
        if events[o + a] != TOO_HEAVY:
            continue
        cell = target(s, k, a)
        weight = peek(s.cells, cell) - FOOD + 1
        if weight < 1 or weight > MAX_FOOD:
            continue
        force = 0
        for b in range(w.agents):
            if events[o + b] == TOO_HEAVY and target(s, k, b) == cell:
                force += np.int64(s.level[b])
        if force < weight:
            continue
        for b in range(w.agents):
            if events[o + b] == TOO_HEAVY and target(s, k, b) == cell:
                events[o + b] = GATHER
                s.news |= marked(s, w, b, GATHER)
                share = s.level[b] * weight / (force * max(1, s.all_food))
                rewards[o + b] += share * w.reward[GATHER] - w.reward[TOO_HEAVY]
        put(s, k, cell % k.side, cell // k.side, FLOOR)
        s.num_food -= 1


@helper
def live(s, w, k, o, rewards):
    """Move drones, grow fruit, use up energy, and end the episode for those who are done."""
    for i in range(s.num_movers):
        if (s.t + 1) % w.mover_period == 0:
            drift(s, w, k, i)
    for i in range(s.num_patches):
        x, y = np.int64(s.patches[i, 0]), np.int64(s.patches[i, 1])
        if (
            peek(s.cells, y * k.side + x) == BARE
            and chance(s, w.regrow)
            and top(s, k, x, y) == BARE
        ):
            put(s, k, x, y, FRUIT)
    if w.energy:
        for a in range(w.agents):
            if s.alive[a]:
                s.energy[a] -= 1
                if s.energy[a] == 0:
                    end(s, w, k, a, STARVED)
                    rewards[o + a] += w.starved
    if w.clearing and s.num_food == 0:
        for a in range(w.agents):
            if s.alive[a]:
                end(s, w, k, a, CLEARED)
    if w.taggers:
        runners = 0
        for a in range(w.agents):
            coming = s.fate[a] == IN_PLAY and 0 < w.join[a] < w.max_steps
            runners += s.role[a] == RUNNER and (s.alive[a] or coming)
        if runners == 0:
            for a in range(w.agents):
                if s.alive[a] and s.role[a] == TAGGER:
                    end(s, w, k, a, CLEARED)


@helper
def end(s, w, k, a, fate):
    """Take agent `a` out of play."""
    s.alive[a] = 0
    s.fate[a] = fate
    uncover(s, w, k, s.x[a], s.y[a])


@helper
def drift(s, w, k, i):
    """Move drone `i` one cell ahead; it turns by chance, and turns back where it cannot go on."""
    if w.mover_chance and chance(s, w.mover_chance):
        s.movers[i, 2] = np.int64(bits(s.keys, s.counters, DYNAMICS) >> np.uint64(62))
    x, y, heading = np.int64(s.movers[i, 0]), np.int64(s.movers[i, 1]), np.int64(s.movers[i, 2])
    if top(s, k, x + DX[heading], y + DY[heading]) != FLOOR:
        s.movers[i, 2] = (heading + 2) & 3
        return
    put(s, k, x, y, FLOOR)
    put(s, k, x + DX[heading], y + DY[heading], MOVER)
    s.movers[i, 0], s.movers[i, 1] = x + DX[heading], y + DY[heading]
