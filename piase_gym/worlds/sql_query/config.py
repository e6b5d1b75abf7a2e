"""SqlQuery's config: generated questions, or a given dataset."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from piase_gym.core.config import RecallConfig
from piase_gym.core.limits import MOST_STEPS, Reward
from piase_gym.worlds.sql_query.levels import datasets
from piase_gym.worlds.sql_query.levels.dataset import HARDNESS, Hardness, Schema
from piase_gym.worlds.sql_query.levels.domains import MOST_COLUMNS, MOST_TABLES, DomainName
from piase_gym.worlds.sql_query.levels.questions import LEVELS, KindName
from piase_gym.worlds.texts.config import TextConfig, TextEnvelope, TextRewards

MAX_AGENTS = 8
MOST_PARTS = 10_000
"""The most tables, columns of a table, and foreign keys of a database."""
MAX_MESSAGE = 400
"""The longest message between agents, in characters."""


class Rewards(TextRewards):
    """SqlQuery's reward table."""

    score: Reward = Field(1.0, description="times the score of the answer, for everybody")
    error: Reward = Field(0.0, description="a query that fails")


class SqlQueryEnvelope(TextEnvelope):
    """The sizes that fix SqlQuery's spaces."""

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="most agents")
    tables: int = Field(1, ge=1, le=MOST_PARTS, description="most tables of a database")
    columns: int = Field(1, ge=1, le=MOST_PARTS, description="most columns of a table")
    references: int = Field(0, ge=0, le=MOST_PARTS, description="most foreign keys of a database")

    @classmethod
    def of_schemas(cls, agents: int, schemas: list[Schema]) -> Self:
        """Return the largest sizes that occur in some schemas."""
        tables = [table for schema in schemas for table in schema]
        links = [sum(len(table.references) for table in schema) for schema in schemas]
        return cls(
            agents=agents,
            tables=max(1, *map(len, schemas)),
            columns=max(1, *(len(table.columns) for table in tables)),
            references=max(links),
        )


class SqlQueryConfig(TextConfig, RecallConfig):
    """Everything about a SqlQuery that can be set; see `SqlQuery` for what it means."""

    world: ClassVar[str] = "SqlQuery"
    levels = LEVELS

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="how many agents share the question")
    max_steps: int = Field(10, ge=1, le=MOST_STEPS, description="turns until truncation")
    dataset: str | None = Field(
        None, description="a folder with InterCode's files; default: questions are generated"
    )
    task: int | None = Field(
        None,
        ge=0,
        le=2**63 - 1,
        description="which task of a dataset, or seed of a question; default: by the seed",
    )
    hardness: tuple[Hardness, ...] = Field(
        HARDNESS, min_length=1, description="which questions are asked"
    )
    domains: tuple[DomainName, ...] | None = Field(
        None, min_length=1, description="what generated databases are about; default: anything"
    )
    kinds: tuple[KindName, ...] | None = Field(
        None, min_length=1, description="kinds of generated questions; default: any"
    )
    tables: int = Field(
        MOST_TABLES, ge=1, le=MOST_TABLES, description="tables of a generated database"
    )
    columns: int = Field(
        MOST_COLUMNS, ge=4, le=MOST_COLUMNS, description="most columns of a generated table"
    )
    rows: int = Field(30, ge=8, le=200, description="rows of the largest generated table")
    writes: float = Field(
        0.0, ge=0.0, le=1.0, description="share of generated tasks that change the database"
    )
    discover: bool = Field(
        False, description="whether tables and columns are unknown until they are asked for"
    )
    reward_mode: Literal["order_aware", "original"] = Field(
        "order_aware",
        description="whether the order of rows counts where the question asks for one, or always",
    )
    answer: Literal["submitted", "best"] = Field(
        "submitted", description="whether what is submitted counts, or the best of all turns"
    )
    seconds: float = Field(1.0, gt=0.0, le=60.0, description="time that one query may take")
    server: str | None = Field(
        None, description="SQLAlchemy URL of a server that has the dataset's databases"
    )
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")
    envelope: SqlQueryEnvelope | None = Field(None, description="largest sizes")

    @model_validator(mode="after")
    def _check_task(self) -> Self:
        if self.dataset is not None:
            found = datasets.load(self.dataset)
            count = len(found.tasks)
            if self.task is not None and self.task >= count:
                raise ValueError(f"task={self.task}, but there are {count} tasks")
            if not datasets.chosen(found, self.hardness):
                raise ValueError(f"the dataset has no task that is {' or '.join(self.hardness)}")
        elif self.server is not None:
            raise ValueError("a server has databases of a dataset; give dataset as well")
        return self

    def sizes(self) -> SqlQueryEnvelope:
        """Return this config's own sizes; with a dataset, they suffice for all its databases."""
        if self.dataset is not None:
            found = datasets.load(self.dataset)
            schemas = [database.schema for database in found.databases.values()]
            sizes = SqlQueryEnvelope.of_schemas(self.agents, schemas)
            return sizes.model_copy(update={"message_history": self.message_history})
        return SqlQueryEnvelope(
            agents=self.agents,
            tables=self.tables,
            columns=self.columns,
            references=self.tables - 1,
            message_history=self.message_history,
        )

    def question_key(self) -> tuple[tuple[str, Any], ...]:
        """Return the fields that determine which question a seed yields."""
        names = ("hardness", "domains", "kinds", "tables", "columns", "rows", "writes")
        return tuple((name, getattr(self, name)) for name in names)
