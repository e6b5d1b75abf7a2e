"""What scripts can observe in a GridWorld, and put into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script.observables import Observable, named, of_agents, of_episode
from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world.config import MAX_GOALS, MAX_PATCHES
from piase_gym.worlds.grid_world.rules.events import ROLES
from piase_gym.worlds.grids.places import HEADING, SAID, cell_observables, grid_of, no_cell

CODES: Final[Mapping[str, int]] = {
    kind.name: kind.code
    for kind in kinds.CELLS.kinds
    if kind.code not in (kinds.UNSEEN, kinds.OUTSIDE, kinds.MOVER)
}
"""The kinds of cells that scripts can name: all that lie still on a grid."""
SPAWNABLE: Final = tuple(name for name in CODES if CODES[name] not in (kinds.FLOOR, kinds.BARE))
_REMOVABLE: Final = np.isin(
    np.arange(256), [code for code in CODES.values() if code != kinds.FLOOR]
)
_PIECES: Final = np.zeros(256, np.int32)
_PIECES[list(kinds.FOODS)] = [code - kinds.FOOD + 1 for code in kinds.FOODS]


def _distance(world: Any, states: NDArray[Any], of: Any) -> NDArray[Any]:
    """Return the number of steps to a cell, or to an agent, if nothing stood in the way."""
    places = world.positions(states).astype(np.int32)
    target = np.asarray(of) if not isinstance(of, str) else None
    if target is None:
        number = world.agents.index(of)
        target = places[:, number : number + 1]
    apart = np.abs(places - target)
    return np.asarray(apart[..., 0] + apart[..., 1])


OBSERVABLES: Final = named(
    Observable(
        name="position",
        about="column and row",
        read=lambda world, states, _of: world.positions(states),
        kind="place",
        bounds=grid_of,
    ),
    HEADING,
    Observable(
        name="held",
        about="what it carries",
        read=of_agents("carry"),
        kind="word",
        codes={"nothing": 0, "key": kinds.KEY},
    ),
    Observable(name="energy", about="steps until it starves", read=of_agents("energy")),
    Observable(name="level", about="its strength", read=of_agents("level")),
    Observable(
        name="role",
        about="its part in a chase",
        read=of_agents("role"),
        kind="word",
        codes={word: code for code, word in enumerate(ROLES)},
    ),
    SAID,
    Observable(
        name="food_left",
        about="pieces of food that are left",
        read=of_episode("num_food"),
        shared=True,
    ),
    *cell_observables(CODES, "what stands on a cell"),
    Observable(
        name="distance", about="steps to a cell, or to an agent", read=_distance, of="place"
    ),
)
"""The observables that conditions can use."""


def _occupied(states: NDArray[Any], envs: NDArray[np.int64], x: int, y: int) -> NDArray[np.bool_]:
    """Return in which environments an agent or a drone stands on a cell."""
    rows = states[envs]
    there = (rows["x"] == x) & (rows["y"] == y) & (rows["alive"] != 0)
    drones = (rows["movers"][:, :, 0] == x) & (rows["movers"][:, :, 1] == y)
    drones &= np.arange(drones.shape[1]) < rows["num_movers"][:, None]
    return np.asarray(there.any(1) | drones.any(1))


def spawn(
    world: Any, states: NDArray[Any], envs: NDArray[np.int64], thing: str, place: Any
) -> None:
    """Put something onto a cell, but only in environments in which the cell is free floor."""
    x, y = (int(part) for part in place)
    at, code = y * world.side + x, CODES[thing]
    free = (states["cells"][envs, at] == kinds.FLOOR) & ~_occupied(states, envs, x, y)
    if code == kinds.GOAL:
        free &= states["num_goals"][envs] < MAX_GOALS
    if code == kinds.FRUIT:
        free &= states["num_patches"][envs] < MAX_PATCHES
    envs = envs[free]
    states["cells"][envs, at] = code
    for kind, number, places in (
        (kinds.GOAL, "num_goals", "goals"),
        (kinds.FRUIT, "num_patches", "patches"),
    ):
        if code == kind:
            states[places][envs, states[number][envs]] = x, y
            states[number][envs] += 1
    if code in kinds.FOODS:
        states["num_food"][envs] += 1
        states["all_food"][envs] += _PIECES[code]


def remove(
    world: Any, states: NDArray[Any], envs: NDArray[np.int64], thing: str | None, place: Any
) -> None:
    """Turn cells into floor: one cell, all cells of a kind, or one cell if it is of a kind."""
    side, cells = world.side, states["cells"][envs]
    gone = _REMOVABLE[cells] if thing is None else cells == CODES[thing]
    if place is not None:
        x, y = (int(part) for part in place)
        here = gone[:, y * side + x].copy()
        gone[...] = False
        gone[:, y * side + x] = here
    taken = np.where(gone, cells, kinds.FLOOR)
    states["num_food"][envs] -= (_PIECES[taken] > 0).sum(1)
    for codes, number, places in (
        ((kinds.GOAL,), "num_goals", "goals"),
        ((kinds.FRUIT, kinds.BARE), "num_patches", "patches"),
    ):
        listed = np.isin(taken, codes)
        for row in np.flatnonzero(listed.any(1)).tolist():
            _forget(states[int(envs[row])], number, places, gone[row].reshape(side, side))
    cells[gone] = kinds.FLOOR
    states["cells"][envs] = cells


def _forget(state: Any, number: str, places: str, gone: NDArray[np.bool_]) -> None:
    """Remove the places that are gone from a list of places."""
    count = int(state[number])
    kept = [place for place in state[places][:count].tolist() if not gone[place[1], place[0]]]
    state[places][: len(kept)] = np.array(kept).reshape(-1, 2)
    state[places][len(kept) : count] = 0
    state[number] = len(kept)


def place_problem(config: Any, thing: str | None, place: Any) -> str | None:
    """Say why nothing can appear on a cell of a config, as far as the config determines it."""
    message = no_cell(config.width, config.height, place)
    if message or thing is None:
        return message
    x, y = (int(part) for part in place)
    border = config.border and not (0 < x < config.width - 1 and 0 < y < config.height - 1)
    code = kinds.WALL if (x, y) in config.walls or border else config.plan.get((x, y), kinds.FLOOR)
    if code != kinds.FLOOR:
        return f"({x}, {y}) is {kinds.CELLS.names[code]}, and things appear on free floor only"
    if (x, y) in config.goals:
        return f"({x}, {y}) is a goal, and things appear on free floor only"
    return None
