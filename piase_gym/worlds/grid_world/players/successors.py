"""What can follow from a state of GridWorld, by the world's own compiled rules.

All planners use this module, so all players know a rule as soon as the world has it. It considers
one agent as if it were alone: maps are bytes, row by row with a rim of outside, and a place is an
index into a map (see `Ground`). Other agents, and what is worth doing, are up to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from piase_gym.compiled import readable
from piase_gym.compiled.stepping import kernel_type, starts
from piase_gym.worlds.grid_world.cells import OUTSIDE
from piase_gym.worlds.grid_world.limits import MAX_SIDE
from piase_gym.worlds.grid_world.rules.events import HURT, PUSH
from piase_gym.worlds.grid_world.rules.kernels import follow
from piase_gym.worlds.grid_world.rules.tables import new_table
from piase_gym.worlds.grid_world.state import VARYING, layout
from piase_gym.worlds.grid_world.world import GridWorld

MOVE_OF: Final = (0, 3, 1, 2)
"""The action that moves along each heading."""
STAY: Final = 4
INTERACT: Final = 5
MARGIN: Final = 3
"""The smallest window that shows what lies behind a box that is pushed."""
RECORD: Final = layout(MAX_SIDE, MARGIN, 4)
"""A record with room for all grids, and for a few agents."""
KEPT: Final = 10_000
"""How many maps the answers are cached for."""


@dataclass(frozen=True)
class Ground:
    """A map, row by row, with a rim around it: places are indices into it and never leave it."""

    cells: bytes
    stride: int

    @property
    def steps(self) -> tuple[int, int, int, int]:
        """What each heading adds to a place."""
        return -self.stride, 1, self.stride, -1

    def heading(self, place: int, to: int) -> int:
        """Return the heading from a place to another one of its row or column."""
        if abs(to - place) < self.stride:
            return 1 if to > place else 3
        return 2 if to > place else 0


class Outcomes(NamedTuple):
    """What follows at a place from moving along each heading, and from interacting with each side.

    Attributes:
        places: Where the agent is afterwards: four after moves, four after interactions.
        events: What became of each act.
        carries: What the agent carries afterwards.
        maps: The map afterwards; ``None`` where it stays the same.
    """

    places: list[int]
    events: list[int]
    carries: list[int]
    maps: list[bytes | None]


class Successors:
    """Computes what follows from acts.

    Args:
        world: The world that gives the rules; only its config is read.
    """

    def __init__(self, world: GridWorld) -> None:
        self.world = world
        self._config: Any = None
        self._states = np.zeros(1, kernel_type(RECORD, VARYING, whole=True))
        self._states["cells"] = OUTSIDE
        self._known: dict[tuple[bytes, int], dict[int, Outcomes]] = {}
        self._walks: dict[bytes, list[list[int]]] = {}

    def _follow(self, cells: bytes, carry: int, first: int, last: int) -> tuple[Any, Any]:
        """Let the rules compute what follows at each of some places."""
        config = self.world.config
        if config is not self._config:
            self._config = config
            envelope = config.fixed_envelope()
            tables = new_table(config, envelope, MAX_SIDE, MARGIN, starts(RECORD, VARYING))
            tables["agents"], tables["taggers"] = 1, 0
            self._tables, self._stride = readable(tables), config.width + 2
            self._walks.clear()
            self._found = np.zeros((1, 4, 8), np.int32)
            self._after = np.full((8, len(cells)), OUTSIDE, np.uint8)
        found, after = self._found, self._after
        if last - first > 1:  # the maps are not needed then
            found, after = np.zeros((last - first, 4, 8), np.int32), after[:0]
        given = np.frombuffer(cells, np.uint8)
        follow(readable(self._states), self._tables, given, carry, first, last, found, after)
        return found, after

    def of(self, cells: bytes, carry: int, place: int) -> Outcomes:
        """Return what follows on a map, at a place, with something in hand (or 0)."""
        if self.world.config is not self._config or len(self._known) > KEPT:
            self._known.clear()
        known = self._known.setdefault((cells, carry), {})
        outcomes = known.get(place)
        if outcomes is None:
            found, after = self._follow(cells, carry, place, place + 1)
            places, events, carries, rows = found[0].tolist()
            maps = [None if row < 0 else after[row].tobytes() for row in rows]
            outcomes = known[place] = Outcomes(places, events, carries, maps)
        return outcomes

    def walks(self, cells: bytes) -> list[list[int]]:
        """Return where each of the four moves leads from every place, without harm or pushing."""
        known = self._walks.get(cells) if self.world.config is self._config else None
        if known is None:
            found = self._follow(cells, 0, 0, len(cells))[0]
            stays = np.isin(found[:, 1, :4], (HURT, PUSH))
            here = np.arange(len(cells))[:, None]
            if len(self._walks) * len(cells) >= KEPT:
                self._walks.clear()
            known = self._walks[cells] = np.where(stays, here, found[:, 0, :4]).tolist()
        return known
