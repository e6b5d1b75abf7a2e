"""The parameters that make WordCraft harder or easier."""

from __future__ import annotations

import functools
from typing import Any, Final

from piase_gym.core.difficulty import DifficultyParameter, number_parameter
from piase_gym.worlds.word_craft.config import MOST_MIXES, WordCraftConfig
from piase_gym.worlds.word_craft.levels.tasks import MOST_DEPTH


def _set_depth(config: Any, value: Any) -> dict[str, Any]:
    """Set the depth; `least_depth` is lowered to it if it was larger."""
    least = config.least_depth
    return {"depth": value, "least_depth": None if least is None else min(least, value)}


_number: Final = functools.partial(number_parameter, WordCraftConfig)
DIFFICULTY_PARAMETERS: Final = (
    DifficultyParameter(
        "depth",
        "how many recipes a task takes",
        1,
        MOST_DEPTH,
        lambda config: float(config.depth),
        _set_depth,
        whole=True,
    ),
    _number("distractors"),
    DifficultyParameter(
        "mixes",
        "pairs that an agent may combine",
        1,
        MOST_MIXES,
        lambda config: float(config.allowed_mixes),
        lambda _config, value: {"mixes": value},
        harder=-1,
        whole=True,
    ),
    _number("max_steps", "steps until truncation", harder=-1),
)
"""What `adjust_difficulty` can change."""
