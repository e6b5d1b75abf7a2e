"""By what SqlQuery can be made harder or easier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from piase_gym.core.difficulty import DifficultyParameter, number_parameter
from piase_gym.worlds.sql_query.levels.domains import MOST_COLUMNS, MOST_TABLES
from piase_gym.worlds.sql_query.levels.questions import LEVELS


def _generated(field: str, description: str, low: float, high: float) -> DifficultyParameter:
    """Return a parameter that only generated questions have."""
    found = number_parameter(field, description, low, high, whole=True)
    read: Callable[[Any], Any] = found.read
    return replace(found, read=lambda config: read(config) if config.dataset is None else None)


def _level(config: Any) -> float | None:
    """Return the greatest difficulty whose questions and tables a config has."""
    if config.dataset is not None:
        return None
    asked, tables = set(config.hardness), config.tables
    rows = LEVELS.items()
    fits = (k for k, row in rows if row["tables"] <= tables and {*row["hardness"]} <= asked)
    return float(max(fits, default=1))


def _set_level(config: Any, value: Any) -> dict[str, Any]:
    return dict(LEVELS[int(value)])


DIFFICULTY_PARAMETERS: Final = (
    DifficultyParameter(
        "difficulty",
        "how hard questions are, and how large databases",
        1,
        len(LEVELS),
        _level,
        _set_level,
        whole=True,
    ),
    _generated("tables", "tables of a database", 1, MOST_TABLES),
    _generated("columns", "most columns of a table", 4, MOST_COLUMNS),
    _generated("rows", "rows of the largest table", 8, 200),
    number_parameter("message_loss", "share of messages that get lost", 0.0, 1.0),
    number_parameter("message_delay", "steps until a message is heard", 0, 1000, whole=True),
    number_parameter("max_steps", "turns until truncation", 1, 2**31 - 1, harder=-1, whole=True),
)
"""What `adjust_difficulty` can turn."""
