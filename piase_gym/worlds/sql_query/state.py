"""SqlQuery's state: who has asked what, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked

from piase_gym.worlds.sql_query.levels.dataset import Database, Task
from piase_gym.worlds.sql_query.rules.engine import Result

Status = Literal["playing", "won", "lost", "none"]
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]


@dataclass(frozen=True, slots=True)
class LastQuery:
    """An agent's last query.

    Attributes:
        sql: The statement.
        at: How many statements had changed the database before it.
        error: What was wrong, in words, or ``None``.
        reason: What was wrong, as one of `rules.engine.REASONS`, or ``None``.
        changed: How many rows it changed.
    """

    sql: str
    at: int
    error: str | None
    reason: str | None
    changed: int


@checked(config=ConfigDict(extra="forbid", strict=True))
@dataclass(slots=True)
class SqlState:
    """The whole state, except for letters and random streams.

    The rows of the last results are not in it, as they follow from the queries.

    Attributes:
        seed: The seed of the episode.
        number: The number of the task, or of the generated question.
        t: How many turns have passed.
        status: Whether each agent plays, has won or lost, or is not there.
        journal: The statements that have changed the database.
        asked: Each agent's last query.
        told: What each agent was told about a command that was not run as a query.
        best: The best score so far; ``None`` before the first query that did not fail.
        tables: Whether each agent has seen the list of tables.
        described: The numbers of the tables whose columns each agent knows.
        order: The order in which agents act in the next step.
    """

    seed: Number
    number: Number
    t: Annotated[int, Field(ge=0, lt=2**31)]
    status: list[Status]
    journal: list[str]
    asked: list[LastQuery | None]
    told: list[str | None]
    best: float | None
    tables: list[bool]
    described: list[list[int]]
    order: list[int]


class Setting(NamedTuple):
    """What never changes in an episode.

    Attributes:
        task: The task.
        database: Its database.
        gold: What the gold query returns or, in a task that writes, what it changes.
    """

    task: Task
    database: Database
    gold: Result

    def __deepcopy__(self, _memo: object) -> Setting:
        """Return itself: it never changes."""
        return self


def new_state(setting: Setting, slots: int, agents: int, seed: int, number: int) -> SqlState:
    """Return the state at the beginning, before any agent has asked anything."""
    return SqlState(
        seed=seed,
        number=number,
        t=0,
        status=["playing" if k < agents else "none" for k in range(slots)],
        journal=[],
        asked=[None] * slots,
        told=[None] * slots,
        best=None,
        tables=[False] * slots,
        described=[[] for _ in range(slots)],
        order=list(range(slots)),
    )


def check_sizes(setting: Setting, state: SqlState, slots: int) -> None:
    """Raise `ValueError` unless a state fits this task and `slots` agents."""
    parts = (state.status, state.asked, state.told, state.tables, state.described)
    if any(len(part) != slots for part in parts) or sorted(state.order) != list(range(slots)):
        raise ValueError(f"it is not of {slots} agents")
    count = len(setting.database.schema)
    if any(not 0 <= k < count for row in state.described for k in row):
        raise ValueError(f"it is not of {count} tables")
    if state.journal and not setting.task.writes:
        raise ValueError("this task changes nothing")
    if any(asked and not 0 <= asked.at <= len(state.journal) for asked in state.asked):
        raise ValueError("a query was asked after more changes than there are")
