"""What GridWorld does on its own, and what agents do together. Compiled."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import bits, happens, helper, inline
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
from piase_gym.worlds.grid_world.rules.events import (
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
from piase_gym.worlds.grid_world.rules.tables import FULL
from piase_gym.worlds.grids.windows import DX, DY, ahead, cell_at, paint, paint_agent, put, top

DYNAMICS = 1  # the stream
_62 = np.uint64(62)


@inline
def marked(s, w, a, event):
    """Note the milestone of an event. Returns not 0 if agent `a` reached it for the first time."""
    mark, marks = np.int64(w.mark[event]), np.int64(s.marks[a])
    s.marks[a] = marks | mark
    return mark & ~marks


@inline
def uncover(s, w, x, y):
    """Show what is at (x, y) after an agent has left: the lowest other agent, or the object."""
    paint(s, w, x, y, cell_at(s, w, x, y))
    if w.pass_through:
        paint_again(s, w, x, y)


@inline
def appear(s, w, a):
    """Show agent `a` where it stands (under an agent of lower number)."""
    if FULL and w.pass_through:
        uncover(s, w, s.x[a], s.y[a])
    else:
        paint_agent(s, a)


@helper
def paint_again(s, w, x, y):
    """Show the agents that are at (x, y), the lowest on top."""
    for a in range(w.agents - 1, -1, -1):
        if s.alive[a] and s.x[a] == x and s.y[a] == y:
            paint_agent(s, a)


@helper
def toggle(s, w):
    """Flip every switch and every gate. Returns the event.

    An open gate with an agent in it cannot close, and then nothing is flipped.
    """
    for a in range(w.agents):
        if s.alive[a] and cell_at(s, w, s.x[a], s.y[a]) == GATE_OPEN:
            return JAMMED
    for y in range(w.height):
        for x in range(w.width):
            code = cell_at(s, w, x, y)
            if code in (SWITCH_OFF, GATE):
                put(s, w, x, y, code + 1)
            elif code in (SWITCH_ON, GATE_OPEN):
                put(s, w, x, y, code - 1)
    return TOGGLE


@inline
def target(s, w, a):
    """Return the place of the cell ahead of agent `a`."""
    x, y = ahead(s, a, 1)
    return y * w.side + x


@helper
def gather(s, w, o, rewards, events):
    """Let agents that lift the same food join forces; if strong enough, they share its reward.

    As in level-based foraging, food of weight n is worth n parts of the reward of all food, and
    the agents that lift it share them by strength.

    Returns:
        Not 0 if somebody lifted something for the first time.
    """
    notable = 0
    for a in range(w.agents):
        if events[o + a] != TOO_HEAVY:
            continue
        cell = target(s, w, a)
        weight = np.int64(s.cells[cell]) - FOOD + 1
        if weight < 1 or weight > MAX_FOOD:
            continue
        force = 0
        for b in range(w.agents):
            if events[o + b] == TOO_HEAVY and target(s, w, b) == cell:
                force += np.int64(s.level[b])
        if force < weight:
            continue
        for b in range(w.agents):
            if events[o + b] == TOO_HEAVY and target(s, w, b) == cell:
                events[o + b] = GATHER
                notable |= marked(s, w, b, GATHER)
                share = s.level[b] * weight / (force * max(1, s.all_food))
                rewards[o + b] += share * w.reward[GATHER] - w.reward[TOO_HEAVY]
        put(s, w, cell % w.side, cell // w.side, FLOOR)
        s.num_food -= 1
    return notable


@helper
def live(s, w, o, rewards):
    """Move drones, grow fruit, use up energy, and end the episode for agents that are done.

    Returns:
        Whether the episode has ended for any agent.
    """
    ended = False
    for i in range(s.num_movers):
        if (s.t + 1) % w.mover_period == 0:
            drift(s, w, i)
    for i in range(s.num_patches):
        x, y = np.int64(s.patches[i, 0]), np.int64(s.patches[i, 1])
        bare = cell_at(s, w, x, y) == BARE
        if bare and happens(s, DYNAMICS, w.regrow) and top(s, w, x, y) == BARE:
            put(s, w, x, y, FRUIT)
    if w.energy:
        for a in range(w.agents):
            if s.alive[a]:
                s.energy[a] -= 1
                if s.energy[a] == 0:
                    end(s, w, a, STARVED)
                    ended = True
                    rewards[o + a] += w.starved
    if w.clearing and s.num_food == 0:
        for a in range(w.agents):
            if s.alive[a]:
                end(s, w, a, CLEARED)
                ended = True
    if w.taggers:
        runners = 0
        for a in range(w.agents):
            coming = s.fate[a] == IN_PLAY and 0 < w.join[a] < w.max_steps
            runners += s.role[a] == RUNNER and (s.alive[a] or coming)
        if runners == 0:
            for a in range(w.agents):
                if s.alive[a] and s.role[a] == TAGGER:
                    end(s, w, a, CLEARED)
                    ended = True
    return ended


@inline
def end(s, w, a, fate):
    """Take agent `a` out of play."""
    s.alive[a] = 0
    s.fate[a] = fate
    uncover(s, w, s.x[a], s.y[a])


@helper
def drift(s, w, i):
    """Move drone `i` one cell ahead; it turns by chance, and turns back where it cannot go on."""
    if w.mover_chance and happens(s, DYNAMICS, w.mover_chance):
        s.movers[i, 2] = np.int64(bits(s, DYNAMICS) >> _62)
    x, y, heading = np.int64(s.movers[i, 0]), np.int64(s.movers[i, 1]), np.int64(s.movers[i, 2])
    if top(s, w, x + DX[heading], y + DY[heading]) != FLOOR:
        s.movers[i, 2] = (heading + 2) & 3
        return
    put(s, w, x, y, FLOOR)
    put(s, w, x + DX[heading], y + DY[heading], MOVER)
    s.movers[i, 0], s.movers[i, 1] = x + DX[heading], y + DY[heading]
