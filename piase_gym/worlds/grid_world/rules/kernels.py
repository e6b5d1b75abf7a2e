"""GridWorld's kernels: reset and step, for many environments or for one; and agents that enter."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from piase_gym.compiled import kernel
from piase_gym.compiled.stepping import Rules, compile_kernels
from piase_gym.worlds.grid_world.levels.build import begin, rebuild
from piase_gym.worlds.grid_world.observe.sight import legal, sight
from piase_gym.worlds.grid_world.rules.events import ENTER, STAY
from piase_gym.worlds.grid_world.rules.joining import come
from piase_gym.worlds.grid_world.rules.step import STAYING, tick

KERNELS = compile_kernels(
    Rules(begin, tick, sight, legal, rebuild, present=STAY, noop=STAYING), __name__
)


@kernel
def enter_one(one, a):
    """Let agent `a` of a batch of one enter now. Returns whether there was room for it."""
    x = one[0]
    entered = come(x.state, x.table, a)
    if entered:
        x.events[a] = ENTER
    return entered
