"""A coverage planner: it knows the map of the house, but not where the objects lie.

It plans for the whole team, given what any agent has looked at: every agent gets the next best
view, and what one agent is on the way to look at is worth little to the others.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.object_search.codes import HEIGHT, LEVELS, STAYING
from piase_gym.worlds.object_search.players.scripted import FAITH, Atlas, head_for
from piase_gym.worlds.object_search.world import ObjectSearch

RESERVED: Final = 0.1
"""What a column is worth when another agent is on the way to look at it."""


class CoveragePlanner:
    """Plays all agents of a house; it reads nothing about the objects.

    Args:
        world: The world to read.
    """

    def __init__(self, world: ObjectSearch) -> None:
        self.world = world
        self._key: tuple[int, int] | None = None
        self._actions: list[int] = []
        self._aims: dict[int, NDArray[np.int64]] = {}

    def act(self, agent: int) -> int:
        """Return the index of an agent's next action."""
        record = self.world.states[0]
        key = int(record["seed"]), int(record["t"])
        if key != self._key:
            self._key, self._actions = key, self._plan()
        return self._actions[agent]

    def _plan(self) -> list[int]:
        """Return everybody's next action."""
        world, record = self.world, self.world.states[0]
        size, side, count = world.config, world.side, world.config.agents
        atlas = Atlas((size.width, size.height), size.sight)
        cells = record["cells"].reshape(side, side)[: size.height, : size.width]
        looked = record["inspected"].reshape(side, side)[: size.height, : size.width]
        atlas.heights[...] = HEIGHT[cells]
        weights = ((atlas.heights < LEVELS) & (looked == 0)).astype(np.float64)
        poses = [
            tuple(int(record[name][a]) for name in ("x", "y", "z", "heading", "pitch"))
            for a in range(count)
        ]
        actions = [STAYING] * count
        for a in range(count):
            if not record["alive"][a]:
                continue
            worth = weights.copy()
            for b, aim in self._aims.items():
                worth.ravel()[aim] *= FAITH if b == a else RESERVED
            taken = np.zeros((*atlas.heights.shape, LEVELS), np.bool_)
            for b, (x, y, z, *_) in enumerate(poses):
                taken[y, x, z] = b != a and bool(record["alive"][b])
            actions[a], self._aims[a] = head_for(atlas, worth, taken, poses[a])
        return actions
