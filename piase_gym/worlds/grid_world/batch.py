"""GridWorld's kernels: reset and step, for many environments or for one."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import device, helper, prefetch, prefetch_record
from piase_gym.worlds.grid_world import levels
from piase_gym.worlds.grid_world.events import STAY
from piase_gym.worlds.grid_world.rules import tick
from piase_gym.worlds.grid_world.sight import USUAL, absent, legal, observe, sight
from piase_gym.worlds.stepping import Rules, compile_kernels
from piase_gym.worlds.turned_maps import repaint

LINE = 64  # bytes that a processor loads at once


@helper
def greet(s, w, k, o, obs, masks):
    """Write the first observations of an episode; the events stay those of the last step."""
    for a in range(w.slots):
        p, m = (o + a) * w.length, (o + a) * w.num_actions
        if a < w.agents and s.alive[a]:
            sight(s, w, k, a, obs, p)
            legal(s, w, k, a, masks, m)
        else:
            absent(w, obs, masks, p, m)


@device
def reach(states, k, soon, later):
    """Bring near what the next steps need: many environments do not fit into the caches.

    Of the one after the next that is its agents' places; of the next, whose places are here by
    now, what its agents see.
    """
    prefetch_record(states, later, k.x)
    prefetch_record(states, later, k.at)
    rows = k.frame if k.frame else USUAL
    s = states[soon]
    for a in range(s.agents):
        here = np.int64(s.at[4 * a + np.int64(s.heading[a])])
        first = here - (rows - 1) * k.stride - rows // 2
        for line in range(0, rows * k.stride, LINE):
            prefetch(s.maps, first + line)


@helper
def rebuild(s, w, k):
    """Draw the turned maps anew."""
    repaint(s, k)


KERNELS = compile_kernels(
    Rules(
        begin=levels.reset,
        tick=tick,
        observe=observe,
        greet=greet,
        rebuild=rebuild,
        present=STAY,
        reach=reach,
    ),
    __file__,
)
