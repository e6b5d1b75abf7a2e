"""The parameters that make SqlQuery harder or easier."""

from __future__ import annotations

import functools
from typing import Any, Final

from piase_gym.core.difficulty import number_parameter
from piase_gym.worlds.sql_query.config import SqlQueryConfig
from piase_gym.worlds.sql_query.levels.questions import LEVELS
from piase_gym.worlds.texts.curriculum import level_parameter


def _is_generated(config: Any) -> bool:
    """Return whether questions are generated."""
    return config.dataset is None


def _level(config: Any) -> float | None:
    """Return the greatest difficulty whose hardness and tables a config includes."""
    if config.dataset is not None:
        return None
    asked, tables = set(config.hardness), config.tables
    rows = LEVELS.items()
    fits = (k for k, row in rows if row["tables"] <= tables and {*row["hardness"]} <= asked)
    return float(max(fits, default=1))


_number: Final = functools.partial(number_parameter, SqlQueryConfig)
DIFFICULTY_PARAMETERS: Final = (
    level_parameter(LEVELS, "how hard questions are, and how large databases", _level),
    _number("tables", "tables of a database", where=_is_generated),
    _number("columns", "most columns of a table", where=_is_generated),
    _number("rows", "rows of the largest table", where=_is_generated),
    _number("message_loss", "share of messages that get lost"),
    _number("message_delay"),
    _number("max_steps", harder=-1),
)
"""What `adjust_difficulty` can change."""
