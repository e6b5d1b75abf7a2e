"""GridWorld's kernels: reset and step; agents that enter; and what would follow, for planners."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, kernel, load, with_constants
from piase_gym.compiled.stepping import Rules, compile_kernels
from piase_gym.worlds.grid_world.cells import STANDS
from piase_gym.worlds.grid_world.levels import build
from piase_gym.worlds.grid_world.levels.build import begin, rebuild
from piase_gym.worlds.grid_world.observe.sight import legal, legal_plain, sight, sight_plain
from piase_gym.worlds.grid_world.rules import step, world
from piase_gym.worlds.grid_world.rules.events import BLOCKED, ENTER, ILLEGAL, IN_PLAY, STAY
from piase_gym.worlds.grid_world.rules.joining import come
from piase_gym.worlds.grid_world.rules.step import (
    ENTERING,
    STAYING,
    interact,
    interaction,
    tick,
    walk,
)
from piase_gym.worlds.grid_world.rules.world import uncover
from piase_gym.worlds.grids.windows import cell_at, locate, paint_agent, put

_RULES = Rules(begin, tick, sight, legal, rebuild, present=STAY, noop=STAYING)
KERNELS = compile_kernels(_RULES, __name__)
_plain = with_constants([world, step, build], FULL=False, SEARCH=False)
_ONLY_PLAIN = _RULES._replace(
    begin=_plain.begin, tick=_plain.tick, sight=sight_plain, legal=legal_plain
)
PLAIN = compile_kernels(_ONLY_PLAIN, __name__)
"""The same for configs with plain rules (see `FULL`) whose levels need no search (see `SEARCH`):
faster, and compiled sooner."""
_searched = with_constants([world, step, build], FULL=False)
SEARCHED = compile_kernels(_ONLY_PLAIN._replace(begin=_searched.begin), __name__)._replace(
    step=PLAIN.step, step_one=PLAIN.step_one
)
"""The same for configs with plain rules whose levels are searched for a solution."""


@kernel
def enter_one(one, a):
    """Let agent `a` of a batch of one enter now. Returns whether there was room for it."""
    x = one[0]
    entered = come(x.state, x.table, a)
    if entered:
        x.events[a] = ENTER
    return entered


@helper
def lay(s, w, cells):
    """Replace the present map by a given one."""
    for y in range(w.height):
        row = (y + 1) * (w.width + 2) + 1
        for x in range(w.width):
            code = cells[row + x]
            if cell_at(s, w, x, y) != code:
                put(s, w, x, y, code)


@helper
def copy_map(s, w, out):
    """Write the map row by row into `out`, which already has its rim."""
    for y in range(w.height):
        row = (y + 1) * (w.width + 2) + 1
        for x in range(w.width):
            out[row + x] = cell_at(s, w, x, y)


@helper
def differs(s, w, cells):
    """Return whether the map differs from the given one."""
    found = np.uint8(0)
    for y in range(w.height):
        row, own = (y + 1) * (w.width + 2) + 1, y * w.side
        for x in range(w.width):
            found |= s.cells[own + x] ^ cells[row + x]
    return found != 0


@helper
def stand(s, w, place, heading, carry):
    """Let the one agent stand on a place."""
    stride = np.int64(w.width) + 2
    s.x[0], s.y[0] = place % stride - 1, place // stride - 1
    s.heading[0], s.carry[0], s.energy[0] = heading, carry, 255
    s.alive[0], s.fate[0], s.can[0] = 1, IN_PLAY, 1
    locate(s, w, 0)
    paint_agent(s, 0)


@kernel
def follow(states, tables, cells, carry, first, last, found, after):
    """Write what follows from each act of a lone agent at each of some places.

    Acts are to move along each heading, and to interact while facing each.

    Args:
        states: One record, with room for one agent.
        tables: Its table, for one agent.
        cells: The map, row by row with a rim.
        carry: What the agent carries.
        first: The first place, as an index of `cells`.
        last: The place after the last one.
        found: Four rows by act are written here for each place: where the agent is then, the event,
            what it carries, and the row of `after` with the map as it is then, or -1 if the map
            stays the same.
        after: Maps that differ are written here, while there is room.
    """
    s, w = states[0], tables[0]
    stride, rows = np.int64(w.width) + 2, 0
    rewards, events = np.zeros(1), np.zeros(1, np.uint8)
    lay(s, w, cells)
    for place in range(first, last):
        for act in range(8):
            out, heading = found[place - first], act & 3
            out[0, act], out[1, act], out[2, act], out[3, act] = place, BLOCKED, carry, -1
            if load(ENTERING, cells[place]) < STANDS:
                continue
            stand(s, w, place, heading, carry)
            if act < 4:
                out[1, act] = walk(s, w, 0, heading, 0, rewards, events)
            elif interaction(s, w, 0) == ILLEGAL:
                out[1, act] = ILLEGAL
            else:
                out[1, act] = interact(s, w, 0)
            uncover(s, w, s.x[0], s.y[0])
            out[0, act] = (np.int64(s.y[0]) + 1) * stride + s.x[0] + 1
            out[2, act] = s.carry[0]
            if differs(s, w, cells):
                if rows < len(after):
                    copy_map(s, w, after[rows])
                    out[3, act] = rows
                    rows += 1
                lay(s, w, cells)
