"""SqlQuery's facts: what one agent may know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from piase_gym.core.world import Facts
from piase_gym.worlds.channel.heard import EarlierMessage
from piase_gym.worlds.sql_query.levels.dataset import Table


class Answer(NamedTuple):
    """What came of an agent's last query, as far as it is shown.

    Attributes:
        columns: The names of the first columns.
        rows: The first rows, with values as strings.
        width: How many columns there are.
        height: How many rows there are.
        changed: How many rows were inserted, updated or deleted.
        error: What was wrong, in words, or ``None``.
        reason: What was wrong, as one of `rules.engine.REASONS`, or ``None``.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    width: int = 0
    height: int = 0
    changed: int = 0
    error: str | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class SqlQueryFacts(Facts):
    """What one agent of SqlQuery may know.

    Attributes:
        question: The question in words.
        database: The name of the database.
        writes: Whether the task is to change the database.
        turns: How many turns are left.
        tables: The tables that the agent knows of, while it is in play; those that it has not
            looked into are without columns.
        query: The beginning of its last query, or ``None``.
        answer: What came of that query.
        feedback: What became of a command that was not run as a query, in words.
        earlier: With `message_history`, what was heard before.
    """

    question: str
    database: str
    writes: bool
    turns: int
    tables: tuple[Table, ...]
    query: str | None
    answer: Answer | None
    feedback: str | None
    earlier: tuple[EarlierMessage, ...] | None = None
