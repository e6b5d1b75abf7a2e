"""What curricula and tutors can change in an ObjectSearch: difficulty parameters and elements."""

from __future__ import annotations

from typing import Any, Final

from piase_gym.core.difficulty import (
    DifficultyParameter,
    Fields,
    count_element,
    number_parameter,
)
from piase_gym.worlds.object_search.codes import MAX_LINE, MAX_OBJECTS, MAX_SIDE
from piase_gym.worlds.object_search.config import MAX_DELAY, MOST_DELAY


def _in_house(config: Any) -> bool:
    return bool(config.in_house)


def _resize(config: Any, value: int) -> Fields:
    """Set the sides of a house, or the length of a line."""
    return {"width": value, "height": value} if config.in_house else {"width": value}


def _size(config: Any) -> float | None:
    """Return the longer side of a house, or the length of a line that is laid out at random."""
    if config.line is not None:
        return None
    return float(max(config.width, config.height)) if config.in_house else float(config.width)


DIFFICULTY_PARAMETERS: Final = (
    DifficultyParameter(
        "size",
        "columns and rows of a house, or positions of a line",
        5,
        MAX_SIDE,
        _size,
        _resize,
        whole=True,
    ),
    number_parameter(
        "objects",
        "how many objects there are to find",
        1,
        MAX_OBJECTS,
        whole=True,
        where=lambda config: config.line is None,
    ),
    number_parameter(
        "furniture", "share of a house that furniture takes up", 0.0, 0.5, where=_in_house
    ),
    number_parameter(
        "room", "longest side of a room", 3, MAX_SIDE, harder=-1, whole=True, where=_in_house
    ),
    number_parameter(
        "sight", "how many columns far agents see", 1, 6, harder=-1, whole=True, where=_in_house
    ),
    number_parameter(
        "recall",
        "steps between cue and choice",
        0,
        MOST_DELAY,
        whole=True,
        where=lambda config: config.delay is not None,
    ),
    number_parameter("message_delay", "steps until a report is heard", 0, MAX_DELAY, whole=True),
    number_parameter("message_loss", "share of reports that get lost", 0.0, 1.0),
    number_parameter("wandering", "objects that move about", 0, MAX_OBJECTS, whole=True),
    number_parameter("max_steps", "steps until truncation", 1, 65_535, harder=-1, whole=True),
)
"""What `adjust_difficulty` can turn."""
assert MAX_LINE >= MAX_SIDE

ELEMENTS: Final = (count_element("object", "is to be found", "objects"),)
"""What `introduce_element` can add."""
