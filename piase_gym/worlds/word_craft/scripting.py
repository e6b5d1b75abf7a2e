"""What scripts can ask of the tables."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script.observables import Observable, named, of_agents, of_episode


def _things(world: Any, states: NDArray[Any]) -> NDArray[Any]:
    """Return what lies on each agent's table, shape (envs, agents, slots)."""
    agents = len(world.agents)
    capacity = states["used"].shape[1]
    rows = states["tables"].reshape(len(states), capacity, -1)
    return rows[:, :agents] if world.config.trade else np.repeat(rows[:, :1], agents, 1)


def _has(world: Any, states: NDArray[Any], of: str) -> NDArray[Any]:
    names = list(world.form.names)
    number = names.index(of) if of in names else -1
    return np.asarray((_things(world, states) == number).any(-1))


OBSERVABLES: Final = named(
    Observable(
        name="has",
        about="1 if a thing lies on its table",
        read=_has,
        of="word",
        subjects=lambda _config: None,
    ),
    Observable(
        name="things",
        about="how many things lie on its table",
        read=lambda world, states, _of: (_things(world, states) > 0).sum(-1),
    ),
    Observable(name="mixes", about="how often it has mixed", read=of_agents("used")),
    Observable(
        name="depth",
        about="how many mixes the task takes",
        read=of_episode("depth"),
        shared=True,
    ),
)
"""What conditions can be about."""
