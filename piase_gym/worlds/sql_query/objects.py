"""A database and the agents that query it, object by object; see `piase_gym.core.objects`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from piase_gym.core.objects import AGENT
from piase_gym.worlds.sql_query.rules.engine import run
from piase_gym.worlds.sql_query.rules.worker import Limits
from piase_gym.worlds.sql_query.state import Setting, SqlState

SECONDS = 60.0
"""How many seconds counting the rows of a database may take."""


def objects(
    setting: Setting, state: SqlState, agents: Sequence[str], local: bool
) -> dict[str, Any]:
    """Return agents with their last queries, the best answer, and the tables.

    In tasks that write, tables of a local database have their number of ``rows``.

    Args:
        setting: The task and its database.
        state: Who has asked what.
        agents: The names of all agents.
        local: Whether the database is local, and not on a server.
    """
    found: dict[str, Any] = {}
    for k, name in enumerate(agents):
        if state.status[k] != "none":
            asked = state.asked[k]
            found[name] = {
                "kind": AGENT,
                "query": None if asked is None else asked.sql,
                "tables_described": len(state.described[k]),
                "in_play": state.status[k] == "playing",
            }
    found["answer"] = {"kind": "answer", "score": state.best}
    found["database"] = {"kind": "database", "statements": len(state.journal)}
    counts: Sequence[Any] = ()
    if setting.task.writes and local:
        counts = _rows(setting, tuple(state.journal))
    for k, table in enumerate(setting.database.schema):
        rows = {"rows": counts[k]} if counts else {}
        found[f"table {table.name}"] = {"kind": "table", **rows}
    return found


@functools.lru_cache(maxsize=64)
def _rows(setting: Setting, journal: tuple[str, ...]) -> tuple[Any, ...]:
    """Count the rows of each table after these statements; empty if that cannot be done."""
    names = [table.name.replace('"', '""') for table in setting.database.schema]
    counts = ", ".join(f'(SELECT count(*) FROM "{name}")' for name in names)
    limits = Limits(seconds=SECONDS)
    found = run(setting.database, journal, f"SELECT {counts}", setting.task.writes, limits)
    return found.rows[0] if found.rows else ()
