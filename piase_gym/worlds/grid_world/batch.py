"""GridWorld's kernels: reset and step, for many environments or for one."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from piase_gym.kernels import helper
from piase_gym.worlds.grid_world import levels
from piase_gym.worlds.grid_world.events import STAY
from piase_gym.worlds.grid_world.paint import repaint
from piase_gym.worlds.grid_world.rules import tick
from piase_gym.worlds.grid_world.sight import absent, legal, observe, sight
from piase_gym.worlds.stepping import Rules, compile_kernels


@helper
def greet(s, w, k, o, obs, masks):
    """Write the first observations of an episode; the events stay those of the last step."""
    for a in range(w.slots):
        p, m = (o + a) * w.length, (o + a) * w.num_actions
        if a < w.agents:
            sight(s, w, k, a, obs, p)
            legal(s, w, k, a, masks, m)
        else:
            absent(w, obs, masks, p, m)


@helper
def rebuild(s, w, k):
    """Draw the turned maps anew."""
    repaint(s, k)


KERNELS = compile_kernels(
    Rules(
        begin=levels.reset, tick=tick, observe=observe, greet=greet, rebuild=rebuild, present=STAY
    ),
    __file__,
)
