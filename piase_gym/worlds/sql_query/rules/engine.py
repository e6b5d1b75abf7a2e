"""The engine that runs the agents' queries: one value in, one value out.

SQL of agents is run by `worker.py` in a process of our own, under every limit that SQLite has; see
`Limits`. So nothing that belongs to the whole process, such as the size of SQLite's heap, is set in
the process of the caller, and what cannot be interrupted is killed with the worker.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

Value = str | int | float | bytes | None
"""A value of a database."""


class Result(NamedTuple):
    """What came of a query.

    Attributes:
        rows: The rows; those of a query that failed are none.
        columns: The names of their columns.
        error: What was wrong, in words, or ``None``.
        reason: What was wrong, as one of `REASONS`, or ``None``.
        truncated: Whether only a part of the rows is here.
        changed: How many rows were inserted, updated or deleted.
    """

    rows: tuple[tuple[object, ...], ...] = ()
    columns: tuple[str, ...] = ()
    error: str | None = None
    reason: str | None = None
    truncated: bool = False
    changed: int = 0


REASONS = (
    "syntax",  # not SQL, or names what is not there
    "denied",  # ATTACH, PRAGMA, DROP, a write to what is read only, ...
    "several",  # several statements at once
    "timeout",  # too much work, or too much time
    "too_many_rows",
    "too_long",  # the statement, or a value in it
    "memory",
    "constraint",  # a write that the schema forbids
    "server",  # the server is not there
)
"""Why a query fails."""


class Engine(Protocol):
    """What runs queries on one database."""

    def execute(self, sql: str) -> Result:
        """Run one statement; what goes wrong is in the result, never raised."""

    def close(self) -> None:
        """Give back what it holds."""
