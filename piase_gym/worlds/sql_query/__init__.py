"""SqlQuery: questions about databases, answered in SQL, as in InterCode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.worlds.sql_query.rules.score import score

__all__ = ["score"]

__getattr__, __dir__ = lazy(__name__)
