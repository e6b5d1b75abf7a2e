"""The kernels that Python calls: reset and step, for many environments or for one.

The outputs of many are flat arrays with a row an agent, environments first; a batch of one keeps
everything in one record (`state.single`).
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from piase_gym.kernels import helper, kernel
from piase_gym.worlds.grid_world import layouts
from piase_gym.worlds.grid_world.rules import readable, tick
from piase_gym.worlds.grid_world.sight import observe
from piase_gym.worlds.grid_world.state import NONE, STAY


@helper
def show(s, w, o, events, obs, masks):
    """Do what `observe` does, without being inlined, where speed does not matter."""
    observe(s, w, o, events, obs, masks)


@kernel
def reset(states, tables, seeds, obs, masks, events):
    """Reset every environment to its effective seed. Returns how many could not be made."""
    faults = 0
    for e in range(states.shape[0]):
        s = states[e]
        w = tables[s.config]
        layouts.reset(s, w, seeds[e])
        faults += s.fault != 0
        o = e * w.slots
        for a in range(w.slots):
            events[o + a] = STAY if a < w.agents else NONE
        show(s, w, o, events, obs, masks)
    return faults


@kernel
def step(states, tables, acts, obs, masks, rewards, terminated, truncated, events):
    """Advance every environment by one step.

    Returns:
        How many agents ended or reached something, or ``-1 - e`` if an act of environment e is not
        in the table; nothing has changed then.
    """
    for e in range(states.shape[0]):
        w = tables[states[e].config]
        if not readable(states[e], w, e * w.slots, acts, False):
            return -1 - e
    notable = 0
    for e in range(states.shape[0]):
        s = states[e]
        w = tables[s.config]
        o = e * w.slots
        notable += tick(s, w, o, acts, rewards, terminated, truncated, events)
        observe(s, w, o, events, obs, masks)
    return notable


@kernel
def reset_one(one, seed):
    """Reset a batch of one. Returns its fault, 0 for none."""
    x = one[0]
    layouts.reset(x.state, x.table, seed)
    for a in range(x.table.slots):
        x.events[a] = STAY if a < x.table.agents else NONE
    show(x.state, x.table, 0, x.events, x.obs, x.masks)
    return x.state.fault


@kernel
def step_one(one):
    """Advance a batch of one by a step.

    Returns:
        How many agents ended or reached something, or -1 if an act is not in the table; nothing
        has changed then.
    """
    x = one[0]
    s, w, events = x.state, x.table, x.events
    if not readable(s, w, 0, x.acts, x.coded):
        return -1
    notable = tick(s, w, 0, x.acts, x.rewards, x.terminated, x.truncated, events)
    observe(s, w, 0, events, x.obs, x.masks)
    return notable


@kernel
def refresh_one(one):
    """Rebuild everything that is derived from the canonical state of a batch of one."""
    x = one[0]
    layouts.repaint(x.state, x.table)
    show(x.state, x.table, 0, x.events, x.obs, x.masks)
