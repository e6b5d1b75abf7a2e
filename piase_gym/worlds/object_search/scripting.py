"""What scripts can ask of a search."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script.observables import Observable, named


def _positions(world: Any, states: NDArray[Any], _of: Any) -> NDArray[Any]:
    slots = len(world.agents)
    return np.stack([states[name][:, :slots] for name in "xyz"], -1).astype(np.int64)


def _bits(*names: str) -> Any:
    """Return what counts the bits of the first field that are not in the second."""

    def count(_world: Any, states: NDArray[Any], _of: Any) -> NDArray[Any]:
        bits = states[names[0]]
        if len(names) > 1:
            bits = bits & ~states[names[1]]
        return np.asarray(np.bitwise_count(bits)[:, None])

    return count


OBSERVABLES: Final = named(
    Observable(name="position", about="x, y and level", read=_positions, kind="place"),
    Observable(
        name="found", about="objects that the team has found", read=_bits("found"), shared=True
    ),
    Observable(
        name="left",
        about="objects that are still to be found",
        read=_bits("goal", "found"),
        shared=True,
    ),
    Observable(
        name="coverage",
        about="the share of columns that somebody has looked at",
        read=lambda _world, states, _of: (
            states["covered"][:, None] / np.maximum(states["open"][:, None], 1)
        ),
        shared=True,
    ),
    Observable(
        name="repeats",
        about="columns looked at by one who was not the first",
        read=lambda _world, states, _of: states["repeats"][:, None],
        shared=True,
    ),
    Observable(
        name="reports",
        about="its reports",
        read=lambda world, states, _of: states["reports"][:, : len(world.agents)],
    ),
)
"""What conditions can be about."""
