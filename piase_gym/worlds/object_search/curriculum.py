"""What curricula and tutors can change in an ObjectSearch: difficulty parameters and elements."""

from __future__ import annotations

import functools
from typing import Any, Final

from piase_gym.core.difficulty import DifficultyParameter, Fields, count_element, number_parameter
from piase_gym.worlds.object_search.codes import MAX_LINE, MAX_SIDE
from piase_gym.worlds.object_search.config import MOST_DELAY, ObjectSearchConfig


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


_number: Final = functools.partial(number_parameter, ObjectSearchConfig)
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
    _number(
        "objects", "how many objects there are to find", where=lambda config: config.line is None
    ),
    _number("furniture", "share of a house that furniture takes up", where=_in_house),
    _number("room", harder=-1, where=_in_house),
    _number("sight", harder=-1, where=_in_house),
    _number(
        "recall",
        "steps between cue and choice",
        low=0,
        high=MOST_DELAY,
        where=lambda config: config.delay is not None,
    ),
    _number("message_delay"),
    _number("message_loss", "share of reports that get lost"),
    _number("wandering"),
    _number("max_steps", harder=-1),
)
"""What `adjust_difficulty` can change."""
assert MAX_LINE >= MAX_SIDE

ELEMENTS: Final = (count_element("object", "is to be found", "objects"),)
"""What `introduce_element` can add."""
