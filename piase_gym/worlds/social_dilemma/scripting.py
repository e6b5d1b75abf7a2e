"""What scripts can ask of the dilemmas, and put into a commons."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script.observables import Observable, named, of_agents, of_episode
from piase_gym.worlds.grids.codes import FLOOR
from piase_gym.worlds.grids.places import HEADING, SAID, cell_observables, grid_of, no_cell
from piase_gym.worlds.social_dilemma.commons.codes import APPLE, WASTE, WATER
from piase_gym.worlds.social_dilemma.games import UNIT

CELLS: Final = {"floor": FLOOR, "apple": APPLE, "waste": WASTE, "water": WATER}
SPAWNABLE: Final = ("apple", "waste")


def _rate(world: Any, states: NDArray[Any], _of: Any) -> NDArray[Any]:
    """Return the share of rounds in which each agent cooperated."""
    times = states["cooperated"][:, : len(world.agents)]
    return np.asarray(times / np.maximum(states["played"][:, None], 1))


def _last(world: Any, states: NDArray[Any], _of: Any) -> NDArray[Any]:
    """Return 1 for `cooperate`, 2 for `defect`, 0 before the first round."""
    bits = states["past"][:, : len(world.agents)] & np.uint64(1)
    return (2 - bits.astype(np.int8)) * (states["played"][:, None] > 0)


MATRIX: Final = named(
    Observable(
        name="round",
        about="rounds that are over",
        read=of_episode("played"),
        shared=True,
    ),
    Observable(
        name="score",
        about="the sum of payoffs",
        read=lambda world, states, _of: states["score"][:, : len(world.agents)] / UNIT,
    ),
    Observable(name="cooperations", about="rounds of cooperation", read=of_agents("cooperated")),
    Observable(name="cooperation_rate", about="the share of these rounds", read=_rate),
    Observable(
        name="choice",
        about="what it chose in the last round",
        read=_last,
        kind="word",
        codes={"none": 0, "cooperate": 1, "defect": 2},
    ),
    SAID,
)
"""What conditions can be about in a matrix game; payoffs are the common fact `reward`."""


def _positions(world: Any, states: NDArray[Any], _of: Any) -> NDArray[Any]:
    """Return columns and rows; -1 in time-out."""
    slots = len(world.agents)
    found = np.stack([states["x"][:, :slots], states["y"][:, :slots]], -1).astype(np.int64)
    found[states["out"][:, :slots] > 0] = -1
    return found


COMMONS: Final = named(
    Observable(
        name="position", about="column and row", read=_positions, kind="place", bounds=grid_of
    ),
    HEADING,
    Observable(name="eaten", about="apples eaten", read=of_agents("eaten")),
    Observable(name="cleaned", about="cells of waste cleaned", read=of_agents("cleaned")),
    Observable(name="zaps", about="zaps fired", read=of_agents("zaps")),
    Observable(name="zapped", about="how often it was hit", read=of_agents("zapped")),
    Observable(name="out", about="steps of time-out that are left", read=of_agents("out")),
    SAID,
    *cell_observables(CELLS, "what is on a cell")[::-1],
)
"""What conditions can be about in a commons."""


def spawn(
    world: Any, states: NDArray[Any], envs: NDArray[np.int64], thing: str, place: Any
) -> None:
    """Let an apple hang where one can grow, or waste float where there is water."""
    x, y = (int(part) for part in place)
    side, cells = world.side, states["cells"]
    grows = (states["spots"][envs, y] >> np.uint64(x)) & np.uint64(1) != 0
    room = (cells[envs, y * side + x] == FLOOR) & grows
    if thing == "waste":
        room = cells[envs, y * side + x] == WATER
    there = (states["x"][envs] == x) & (states["y"][envs] == y)
    there &= (states["alive"][envs] != 0) & (states["out"][envs] == 0)
    cells[envs[room & ~there.any(1)], y * side + x] = CELLS[thing]


def remove(
    world: Any, states: NDArray[Any], envs: NDArray[np.int64], thing: str | None, place: Any
) -> None:
    """Take apples and waste away: at a place, or everywhere."""
    cells = states["cells"][envs]
    for name, left in (("apple", FLOOR), ("waste", WATER)):
        if thing in (None, name):
            gone = cells == CELLS[name]
            if place is not None:
                x, y = (int(part) for part in place)
                gone &= np.arange(cells.shape[1]) == y * world.side + x
            cells[gone] = left
    states["cells"][envs] = cells


def place_problem(config: Any, thing: str | None, place: Any) -> str | None:
    """Say why there is no such place, or nothing can appear there in any episode."""
    message = no_cell(config.width, config.height, place)
    if message or thing is None:
        return message
    x, cleanup = int(place[0]), config.game == "cleanup"
    if thing == "waste" and not cleanup:
        return "waste floats on water, and there is none in this game"
    if thing == "waste" and x >= config.river:
        return f"waste floats on water, and the river is columns 0 to {config.river - 1}"
    if thing == "apple" and cleanup and x < config.width - config.orchard:
        first, last = config.width - config.orchard, config.width - 1
        return f"apples grow in the orchard, and that is columns {first} to {last}"
    return None
