"""The checks of every record before kernels, which check no bounds, continue from it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.errors import SnapshotError
from piase_gym.worlds.grids.codes import OUTSIDE


def find_agent_problem(
    record: Any, table: Any, bounds: Mapping[str, int], same: Sequence[str] = ("agents",)
) -> str:
    """Say what is impossible in the fields with one value per agent, or return an empty string.

    Args:
        record: The state.
        table: What the config says.
        bounds: For each field the end of its range, which starts at 0; the end is excluded.
        same: Fields in which `record` and `table` must agree.
    """
    for name in same:
        if record[name] != table[name]:
            return f"{name!r} is {record[name]}, but the config says {table[name]}"
    for name, stop in bounds.items():
        if not ((record[name] >= 0) & (record[name] < stop)).all():
            return f"{name!r} must be in 0..{stop - 1} for every agent"
    count = int(record["agents"])
    if record["alive"][count:].any():
        return f"'alive' names agents beyond the {count} of the config"
    return ""


def find_grid_problem(record: Any, table: Any, bounds: Mapping[str, int], most_steps: int) -> str:
    """Say what is impossible in the fields that all grids share, or return an empty string.

    Args:
        record: The state.
        table: What the config says.
        bounds: As for `find_agent_problem`, without the bounds of places.
        most_steps: The largest number of steps in an episode.
    """
    bounds = {"x": int(record["width"]), "y": int(record["height"]), **bounds}
    problem = find_agent_problem(record, table, bounds, ("width", "height", "agents"))
    count = int(record["agents"])
    if not problem and sorted(record["order"][:count].tolist()) != list(range(count)):
        return f"'order' must name each of the {count} agents once"
    if not problem and not 0 <= record["t"] <= most_steps:
        return f"'t' must be in 0..{most_steps}"
    return problem


def read_cells(
    record: Any, inside: tuple[int, ...]
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]] | None:
    """Return the cells of a grid, and which of them lie outside of it.

    Args:
        record: The state, with the cells of a square that has room for the grid.
        inside: The codes that cells of the grid can have.

    Returns:
        Both of shape (side, side); ``None`` if a cell has a code that it cannot have.
    """
    side = int(np.sqrt(record["cells"].size))
    cells = record["cells"].reshape(side, side)
    outside = np.ones((side, side), np.bool_)
    outside[: int(record["height"]), : int(record["width"])] = False
    allowed = np.where(outside, cells == OUTSIDE, is_one_of(cells, inside))
    return (cells, outside) if allowed.all() else None


def is_one_of(cells: NDArray[np.uint8], codes: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return where cells have one of these codes: `np.isin` for few cells."""
    return _flags(codes)[cells]


@functools.cache
def _flags(codes: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which of all codes are some of these, shape (256,)."""
    return np.isin(np.arange(256), codes)


@functools.cache
def _limits(kind: np.dtype[Any]) -> tuple[int, int]:
    """Return the least and the largest integer of a type."""
    limits = np.iinfo(kind)
    return int(limits.min), int(limits.max)


def read_field(world: str, name: str, value: Any, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return one field of a state as an array of its type.

    Args:
        world: The name of the world.
        name: The name of the field.
        value: The value in the state: an integer, or lists of integers.
        kind: The type of the field.

    Raises:
        SnapshotError: If the value has another shape, or is out of range.
    """
    try:
        given = np.asarray(value, object)
    except ValueError:  # ragged lists
        given = np.asarray(None)
    if given.shape != kind.shape:
        raise SnapshotError(
            f"{world}: {name!r} has the shape {given.shape}; allowed: {kind.shape} "
            "(another envelope?)"
        )
    least, most = _limits(kind.base)
    for item in given.ravel().tolist():
        if type(item) is not int or not least <= item <= most:
            raise SnapshotError(
                f"{world}: {name!r} holds {item!r:.40}; allowed are integers from {least} to {most}"
            )
    return given.astype(kind.base)
