"""The difficulty parameters that text worlds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from piase_gym.core.difficulty import DifficultyParameter


def level_parameter(
    levels: Mapping[int, Mapping[str, Any]], description: str, get: Callable[[Any], float | None]
) -> DifficultyParameter:
    """Return the parameter ``difficulty``.

    Args:
        levels: The fields that each difficulty from 1 on stands for.
        description: What it does.
        get: Config -> its difficulty; ``None`` if there is none.
    """
    return DifficultyParameter(
        "difficulty",
        description,
        1,
        len(levels),
        get,
        lambda _config, value: dict(levels[int(value)]),
        whole=True,
    )
