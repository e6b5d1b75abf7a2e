"""GridWorld's kernels: reset and step, for many environments or for one."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from piase_gym.kernels import device, helper, prefetch_record
from piase_gym.worlds.grid_world import levels
from piase_gym.worlds.grid_world.events import STAY
from piase_gym.worlds.grid_world.sight import absent, legal, look_ahead, observe, sight
from piase_gym.worlds.grid_world.ticks import tick
from piase_gym.worlds.painted_map import repaint
from piase_gym.worlds.stepping import Rules, compile_kernels

LINE = 64  # bytes that a processor loads at once
NEAR = 2048
"""How much of a map is brought near; of larger ones agents see but a small part."""


@helper
def greet(s, w, k, o, events, obs, masks):
    """Write the first observations of an episode; the events stay those of the last step."""
    look_ahead(s, w, k, events, o, True, obs)
    for a in range(w.slots):
        p, m = (o + a) * w.length, (o + a) * w.num_actions
        if a < w.agents and s.alive[a]:
            sight(s, w, k, a, obs, p)
            legal(s, w, k, a, masks, m)
        else:
            absent(w, k, obs, masks, p, m)


@device
def reach(states, k, soon):
    """Bring near what a step of one environment needs: many do not fit into the caches."""
    for line in range(0, k.hint, LINE):
        prefetch_record(states, soon, line)
    prefetch_record(states, soon, k.hint)
    prefetch_record(states, soon, k.at)
    for line in range(0, min(k.map_size, NEAR), LINE):
        prefetch_record(states, soon, k.painted + line)


@helper
def rebuild(s, w, k):
    """Draw the map anew."""
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
