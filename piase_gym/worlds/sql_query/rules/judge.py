"""What an answer is worth: the score of rows, or of the changes that were made to a database."""

from __future__ import annotations

import functools
from collections import Counter

from piase_gym.worlds.sql_query.levels.dataset import Database, Task
from piase_gym.worlds.sql_query.rules.engine import Result, run
from piase_gym.worlds.sql_query.rules.score import Mode, score
from piase_gym.worlds.sql_query.rules.server import ServerEngine
from piase_gym.worlds.sql_query.rules.worker import Limits

GOLD_LIMITS = Limits(seconds=20.0, work=2_000_000, rows=100_000, size=64_000_000)
"""What a gold query, and whoever judges, may use."""


def run_there(server: str, database: str, sql: str, limits: Limits) -> Result:
    """Run one statement, which may only read, on a server whose URL may have ``{database}``."""
    return ServerEngine(server.replace("{database}", database), limits=limits).execute(sql)


def changes(database: Database, journal: tuple[str, ...]) -> Result:
    """Return what some statements have changed: rows that are gone or new, with their tables."""
    found: list[tuple[object, ...]] = []
    for table in database.schema:
        sql = f'SELECT * FROM "{table.name}"'
        before = Counter(run(database, (), sql, False, GOLD_LIMITS).rows)
        after = Counter(run(database, journal, sql, True, GOLD_LIMITS).rows)
        found += [("-", table.name, *row) for row in (before - after).elements()]
        found += [("+", table.name, *row) for row in (after - before).elements()]
    return Result(tuple(found))


@functools.lru_cache(maxsize=8192)
def gold_of(task: Task, database: Database, server: str | None) -> Result:
    """Return what the gold query of a task returns, or what it changes.

    Args:
        task: The task.
        database: Its database.
        server: The URL of a server that has the database, or ``None``.
    """
    if server is not None:
        return run_there(server, task.database, task.gold, GOLD_LIMITS)
    if task.writes:
        return changes(database, (task.gold,))
    return run(database, (), task.gold, False, GOLD_LIMITS)


def judge(answer: Result | None, gold: Result, task: Task, mode: Mode) -> float:
    """Return the score of an answer; one that failed, is missing or returns nothing is worth 0."""
    if answer is None or answer.reason is not None or not (task.writes or answer.columns):
        return 0.0
    if task.writes:
        return score(answer.rows, gold.rows, "order_aware")
    return score(answer.rows, gold.rows, mode, task.gold)
