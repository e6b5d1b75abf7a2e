"""The kernels that Python calls: reset and step, for many environments or for one.

The outputs of many are flat arrays with a row an agent, environments first; a batch of one keeps
everything in one record (`state.single`).
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import device, episode_seed, helper, kernel
from piase_gym.worlds.grid_world import levels
from piase_gym.worlds.grid_world.events import NONE, STAY
from piase_gym.worlds.grid_world.paint import repaint
from piase_gym.worlds.grid_world.rules import readable, tick
from piase_gym.worlds.grid_world.sight import absent, legal, observe, sight


@helper
def show(s, w, k, o, events, obs, masks):
    """Do what `observe` does, without being inlined, where speed does not matter."""
    observe(s, w, k, o, events, obs, masks)


@helper
def renew(s, tables, k):
    """Start the next episode of an environment. Returns 1 if no level could be made."""
    s.config = s.next_config
    s.over = 0
    levels.reset(s, tables[s.config], k, episode_seed(s.base, s.episode))
    return 1 if s.fault != 0 else 0


@device
def enter_all(w, o, events):
    """Note that every agent of the config is in play."""
    for a in range(w.slots):
        events[o + a] = STAY if a < w.agents else NONE


@device
def clear(w, o, rewards, terminated, truncated):
    """Write that nothing happened to anyone."""
    for a in range(w.slots):
        rewards[o + a] = 0.0
        terminated[o + a] = False
        truncated[o + a] = False


@device
def is_over(s, focal):
    """Tell whether the episode is over: for the focal agent, or for all if it is -1."""
    return s.left == 0 if focal < 0 else s.alive[focal] == 0


@kernel
def reset(states, tables, k, which, obs, masks, rewards, terminated, truncated, events):
    """Start the next episode of the environments in `which`. Returns how many could not be made."""
    faults = 0
    for e in which:
        s = states[e]
        faults += renew(s, tables, k)
        w = tables[s.config]
        o = e * w.slots
        clear(w, o, rewards, terminated, truncated)
        enter_all(w, o, events)
        show(s, w, k, o, events, obs, masks)
    return faults


@helper
def first_stray(acts, num_actions):
    """Return the place of the first act that is not in the table."""
    for i in range(acts.shape[0]):
        if np.uint32(acts[i]) >= num_actions:
            return i
    return -1


@kernel
def step(
    states,
    tables,
    k,
    mode,
    focal,
    acts,
    obs,
    masks,
    rewards,
    terminated,
    truncated,
    events,
    final_obs,
):
    """Advance every environment by one step, and reset those that are over.

    Args:
        mode: 0 leaves environments that are over alone, 1 resets them in the next step, 2 in the
            same step (their last observations are then in `final_obs`).
        focal: The agent whose end ends the episode; -1 if it goes on to the last one's.

    Returns:
        How many environments could not be reset, or ``-1 - i`` if act i is not in the table
        (those of agents that are not in play count too); nothing has changed then.
    """
    num_actions = np.uint32(tables[0].num_actions)
    stray = False
    for i in range(acts.shape[0]):  # without a way out, which would keep it from being vectorised
        stray |= np.uint32(acts[i]) >= num_actions
    if stray:
        return -1 - first_stray(acts, num_actions)
    faults = 0
    for e in range(states.shape[0]):
        s = states[e]
        w = tables[s.config]
        o = e * w.slots
        s.ended = 0
        if s.over:
            clear(w, o, rewards, terminated, truncated)
            if mode == 1:
                s.episode += np.uint64(1)
                faults += renew(s, tables, k)
                w = tables[s.config]
                enter_all(w, o, events)
            else:
                for a in range(w.slots):
                    events[o + a] = NONE
        else:
            tick(s, w, k, o, acts, rewards, terminated, truncated, events)
            if is_over(s, focal):
                s.over = 1
                s.ended = 1
                if mode == 2:
                    show(s, w, k, o, events, final_obs, masks)
                    s.episode += np.uint64(1)
                    faults += renew(s, tables, k)
                    w = tables[s.config]
                    observe_all(s, w, k, o, obs, masks)
                    continue
        observe(s, w, k, o, events, obs, masks)
    return faults


@kernel
def look(states, tables, k, obs, masks, events):
    """Write vectors and masks of all agents in play again, after a snapshot was restored."""
    for e in range(states.shape[0]):
        s = states[e]
        w = tables[s.config]
        o = e * w.slots
        for a in range(w.slots):
            events[o + a] = STAY if a < w.agents and s.alive[a] else NONE
        show(s, w, k, o, events, obs, masks)


@helper
def observe_all(s, w, k, o, obs, masks):
    """Write the first observations of an episode; the events stay those of the last step."""
    for a in range(w.slots):
        p, m = (o + a) * w.length, (o + a) * w.num_actions
        if a < w.agents:
            sight(s, w, k, a, obs, p)
            legal(s, w, k, a, masks, m)
        else:
            absent(w, obs, masks, p, m)


@kernel
def reset_one(one, k, seed):
    """Reset a batch of one. Returns its fault, 0 for none."""
    x = one[0]
    levels.reset(x.state, x.table, k, seed)
    for a in range(x.table.slots):
        x.events[a] = STAY if a < x.table.agents else NONE
    show(x.state, x.table, k, 0, x.events, x.obs, x.masks)
    return x.state.fault


@kernel
def step_one(one, k):
    """Advance a batch of one by a step.

    Returns:
        How many agents ended or reached something, or -1 if an act is not in the table; nothing
        has changed then.
    """
    x = one[0]
    s, w, events = x.state, x.table, x.events
    if not readable(s, w, 0, x.acts, x.coded):
        return -1
    notable = tick(s, w, k, 0, x.acts, x.rewards, x.terminated, x.truncated, events)
    observe(s, w, k, 0, events, x.obs, x.masks)
    return notable


@kernel
def refresh_one(one, k):
    """Rebuild everything that is derived from the canonical state of a batch of one."""
    x = one[0]
    repaint(x.state, k)
    show(x.state, x.table, k, 0, x.events, x.obs, x.masks)
