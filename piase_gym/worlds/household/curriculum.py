"""By what Household can be made harder or easier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from piase_gym.core.difficulty import DifficultyParameter, number_parameter
from piase_gym.worlds.household.levels.words import DIFFICULTIES, MOST_OBJECTS, MOST_RECEPTACLES


def _generated(field: str, description: str, low: float, high: float) -> DifficultyParameter:
    """Return a parameter that only generated homes have."""
    found = number_parameter(field, description, low, high, whole=True)
    read: Callable[[Any], Any] = found.read
    return replace(found, read=lambda config: read(config) if config.game is None else None)


def _level(config: Any) -> float | None:
    """Return the difficulty whose homes are as large as those of a config, or the one below."""
    if config.game is not None:
        return None
    return float(max([1, *(k for k, row in DIFFICULTIES.items() if row[0] <= config.receptacles)]))


def _set_level(config: Any, value: Any) -> dict[str, Any]:
    receptacles, objects, tasks = DIFFICULTIES[int(value)]
    return {"receptacles": receptacles, "objects": objects, "tasks": tasks}


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
    _generated("receptacles", "receptacles of a home", 3, MOST_RECEPTACLES),
    _generated("objects", "objects of a home", 2, MOST_OBJECTS),
    number_parameter("message_loss", "share of messages that get lost", 0.0, 1.0),
    number_parameter("message_delay", "steps until a message is heard", 0, 1000, whole=True),
    number_parameter("max_steps", "steps until truncation", 1, 2**31 - 1, harder=-1, whole=True),
)
"""What `adjust_difficulty` can turn."""
