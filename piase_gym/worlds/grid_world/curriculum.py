"""What curricula and tutors can change in a GridWorld: difficulty parameters and elements."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from piase_gym.core.difficulty import (
    DifficultyParameter,
    Element,
    Fields,
    PerAgentField,
    count_of,
    is_place,
    number_parameter,
    per_agent_list,
)
from piase_gym.errors import ConfigError
from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world.config import GridWorldConfig

_OPTIONS: Final = ("count", "position")


def _difficulty(config: Any) -> float:
    """Return the middle of the range of `difficulty`, or 0.5 if it is not given."""
    low, high = config.difficulties or (0.5, 0.5)
    return float(low + high) / 2.0


def _place(config: Any, said: Mapping[str, Any]) -> tuple[int, int]:
    """Return a position on the grid.

    Raises:
        ConfigError: If it is not a position on the grid.
    """
    given = said["position"]
    pair = isinstance(given, list | tuple) and len(given) == 2
    if not pair or not all(isinstance(v, int) and not isinstance(v, bool) for v in given):
        raise ConfigError(f"GridWorld: a position is two integers (x, y), not {given!r:.60}")
    x, y = given
    if not (0 <= x < config.width and 0 <= y < config.height):
        raise ConfigError(
            f"GridWorld: {(x, y)} lies outside of the grid of {config.width} by {config.height}"
        )
    return x, y


def _draw(config: Any, place: tuple[int, int], code: int) -> Fields:
    """Put a sign on the map."""
    x, y = place
    sign, rows = kinds.SYMBOLS[code], list(config.map)
    if rows[y][x] != kinds.SYMBOLS[kinds.FLOOR]:
        raise ConfigError(f"GridWorld: {place} of the map is {rows[y][x]!r}, not free floor")
    rows[y] = rows[y][:x] + sign + rows[y][x + 1 :]
    return {"map": tuple(rows)}


def _strewn(code: int, field: str, name: str) -> Any:
    """Return a function that adds things at random places, or puts one on a map."""

    def add(config: Any, said: Mapping[str, Any]) -> Fields:
        if "position" not in said:
            now = config.num_food if field == "food" else getattr(config, field)
            return {field: now + count_of("GridWorld", said)}
        if config.map is None:
            raise ConfigError(
                f"GridWorld: {name} has a position only on a map (layout 'custom'); "
                "leave out position for a random place"
            )
        return _draw(config, _place(config, said), code)

    return add


def _wall(config: Any, said: Mapping[str, Any]) -> Fields:
    """Add a wall."""
    place = _place(config, said)
    if config.map is not None:
        return _draw(config, place, kinds.WALL)
    return {"walls": tuple(dict.fromkeys((*config.walls, place)))}


def _goal(config: Any, said: Mapping[str, Any]) -> Fields:
    """Add a goal at a place, or at random ones."""
    if "position" not in said:
        count = count_of("GridWorld", said)
        if config.goals:
            raise ConfigError("GridWorld: beside fixed goals another one needs a position")
        return {"random_goals": config.random_goals + count}
    place = _place(config, said)
    if config.map is not None:
        return _draw(config, place, kinds.GOAL)
    return {"goal_pos": tuple(dict.fromkeys((*config.goals, place)))}


def _key(config: Any, said: Mapping[str, Any]) -> Fields:
    """Put a key on the map."""
    if config.map is None:
        raise ConfigError("GridWorld: a key can be put on a map (layout 'custom') only")
    return _draw(config, _place(config, said), kinds.KEY)


_number: Final = functools.partial(number_parameter, GridWorldConfig)
DIFFICULTY_PARAMETERS: Final = (
    DifficultyParameter(
        "difficulty",
        "scales what is random: walls, rooms, boxes, hazards, drones",
        0.0,
        1.0,
        _difficulty,
        lambda _config, value: {"difficulty": value},
    ),
    _number("obstacle_density", "share of cells that layout 'obstacles' blocks"),
    _number("rooms"),
    _number("boxes", "boxes at random places"),
    _number("hazards"),
    _number("movers"),
    _number("mover_chance", "chance that a drone turns"),
    _number("fruits", "bushes at random places", harder=-1),
    _number("random_goals", "goals at random places", harder=-1),
    _number("max_steps", harder=-1),
)
"""The parameters that `adjust_difficulty` can change."""

ELEMENTS: Final = (
    Element("wall", "blocks a cell", ("position",), _wall, ("position",)),
    Element("goal", "ends the episode of who reaches it", _OPTIONS, _goal),
    Element(
        "hazard", "hurts who steps onto it", _OPTIONS, _strewn(kinds.HAZARD, "hazards", "a hazard")
    ),
    Element("box", "can be pushed", _OPTIONS, _strewn(kinds.BOX, "boxes", "a box")),
    Element(
        "drone", "moves and is in the way", _OPTIONS, _strewn(kinds.MOVER, "movers", "a drone")
    ),
    Element(
        "fruit", "can be eaten, and regrows", _OPTIONS, _strewn(kinds.FRUIT, "fruits", "fruit")
    ),
    Element("food", "is lifted together", _OPTIONS, _strewn(kinds.FOOD, "food", "food")),
    Element("key", "opens locked doors", ("position",), _key, ("position",)),
)
"""The elements that `introduce_element` can add."""


def _all_goals(_config: Any, parts: Mapping[int, Any], _lead: int | None) -> Fields:
    """Set the goals of all agents, each once."""
    goals = tuple(dict.fromkeys(tuple(parts[number]) for number in sorted(parts)))
    return {"goal_pos": goals if len(goals) > 1 else goals[0]}


PER_AGENT_FIELDS: Final = {
    "start_pos": per_agent_list("start_pos", is_place, lambda config: config.starts),
    "goal_pos": PerAgentField(is_place, _all_goals),
    "levels": per_agent_list(
        "levels", lambda v: isinstance(v, int), lambda config: config.levels, 1
    ),
}
"""Fields in which each agent may have its own part. A goal is for all agents, whoever set it."""
