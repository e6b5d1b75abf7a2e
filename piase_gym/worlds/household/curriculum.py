"""What makes Household harder or easier."""

from __future__ import annotations

import functools
from typing import Any, Final

from piase_gym.core.difficulty import number_parameter
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels.words import LEVELS
from piase_gym.worlds.texts.curriculum import level_parameter


def _is_generated(config: Any) -> bool:
    """Return whether homes are generated."""
    return config.game is None


def _level(config: Any) -> float | None:
    """Return the highest difficulty with homes no larger than those of a config, at least 1."""
    if config.game is not None:
        return None
    fits = (k for k, row in LEVELS.items() if row["receptacles"] <= config.receptacles)
    return float(max(fits, default=1))


_number: Final = functools.partial(number_parameter, HouseholdConfig)
DIFFICULTY_PARAMETERS: Final = (
    level_parameter(LEVELS, "how large homes are, and which tasks they have", _level),
    _number("receptacles", "receptacles of a home", where=_is_generated),
    _number("objects", "objects of a home", where=_is_generated),
    _number("message_loss", "share of messages that get lost"),
    _number("message_delay"),
    _number("max_steps", harder=-1),
)
"""What `adjust_difficulty` can change."""
