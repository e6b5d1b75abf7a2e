"""What scripts can ask about a search."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script.observables import Observable, named, of_agents, of_episode
from piase_gym.worlds.object_search.codes import HEIGHT, LEVELS


def _positions(world: Any, states: NDArray[Any], _of: Any) -> NDArray[Any]:
    slots = len(world.agents)
    return np.stack([states[name][:, :slots] for name in "xyz"], -1).astype(np.int64)


def _cell(world: Any, place: Any) -> tuple[int, int] | None:
    """Return a place as (x, y), or (position, 0) on a line; ``None`` if there is no such place."""
    config = world.config
    numbers = [int(part) for part in place] if isinstance(place, list | tuple) else []
    found = (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else None
    if found is None or not (0 <= found[0] < config.width):
        return None
    return found if found[1] < (config.height if config.in_house else 1) else None


def spawn(
    world: Any, states: NDArray[Any], envs: NDArray[np.int64], thing: str, place: Any
) -> None:
    """Put an object, new or from elsewhere, where it can lie; it is then one of those to find."""
    bit, number = _bit(world, thing)
    x, y = _cell(world, place) or (0, 0)
    if not world.config.in_house:
        states["shelf"][envs] &= ~bit
        states["shelf"][envs, x] |= bit
        states["goal"][envs] |= bit
        return
    cell = y * world.side + x
    free = (HEIGHT[states["cells"][envs, cell]] < LEVELS) & (states["holds"][envs, cell] == 0)
    states["place"][envs[free], number] = cell
    states["goal"][envs[free]] |= bit


def remove(
    world: Any, states: NDArray[Any], envs: NDArray[np.int64], thing: str | None, place: Any
) -> None:
    """Take objects away, which nobody has to find any more: one, or all that lie at a place."""
    where = None if place is None else _cell(world, place)
    for name in world.config.object_names if thing is None else [thing]:
        bit, number = _bit(world, name)
        there = (states["goal"][envs] & bit) != 0
        if where is not None and world.config.in_house:
            cell = where[1] * world.side + where[0]
            there &= states["place"][envs, number] == cell
        elif where is not None:
            there &= (states["shelf"][envs, where[0]] & bit) != 0
        for field in ("goal", "found"):
            states[field][envs[there]] &= ~bit
        states["shelf"][envs[there]] &= ~bit


def _bit(world: Any, thing: str) -> tuple[np.uint16, int]:
    """Return the bit of an object, and its number."""
    number = world.config.object_names.index(thing)
    return np.uint16(1 << number), number


def place_problem(config: Any, _thing: str | None, place: Any) -> str | None:
    """Say why nothing can lie at a place, or return ``None``."""
    size = (config.width, config.height) if config.in_house else (config.width,)
    numbers = place if isinstance(place, list | tuple) else ()
    inside = len(numbers) == len(size) and all(
        isinstance(n, int | float) and n == int(n) and 0 <= n < most
        for n, most in zip(numbers, size, strict=False)
    )
    if inside:
        return None
    named = "a column and a row" if config.in_house else "a position"
    most = " and ".join(f"0..{count - 1}" for count in size)
    return f"{place!r:.40} is no place; a place is {named} in {most}"


def _bits(*names: str) -> Any:
    """Return a function that counts the bits of the first field that are not in the second."""

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
        read=of_episode("repeats"),
        shared=True,
    ),
    Observable(
        name="reports",
        about="its reports",
        read=of_agents("reports"),
    ),
)
"""What conditions can be about."""
