"""What makes Household harder or easier."""

from __future__ import annotations

import functools
from typing import Any, Final

from piase_gym.core.difficulty import DifficultyParameter, number_parameter
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels.words import DIFFICULTIES


def _is_generated(config: Any) -> bool:
    """Return whether homes are generated."""
    return config.game is None


def _level(config: Any) -> float | None:
    """Return the highest difficulty with homes no larger than those of a config, at least 1."""
    if config.game is not None:
        return None
    return float(max([1, *(k for k, row in DIFFICULTIES.items() if row[0] <= config.receptacles)]))


def _set_level(config: Any, value: Any) -> dict[str, Any]:
    receptacles, objects, tasks = DIFFICULTIES[int(value)]
    return {"receptacles": receptacles, "objects": objects, "tasks": tasks}


_number: Final = functools.partial(number_parameter, HouseholdConfig)
DIFFICULTY_PARAMETERS: Final = (
    DifficultyParameter(
        "difficulty",
        "how large homes are, and which tasks they have",
        1,
        len(DIFFICULTIES),
        _level,
        _set_level,
        whole=True,
    ),
    _number("receptacles", "receptacles of a home", where=_is_generated),
    _number("objects", "objects of a home", where=_is_generated),
    _number("message_loss", "share of messages that get lost"),
    _number("message_delay"),
    _number("max_steps", harder=-1),
)
"""What `adjust_difficulty` can change."""
