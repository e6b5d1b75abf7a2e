"""Databases and questions, wherever they come from."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pathlib
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, get_args

from piase_gym.errors import ConfigError

MOST_BYTES = 200_000_000
"""The largest database that is read, in bytes."""
Hardness = Literal["easy", "medium", "hard", "extra"]
HARDNESS: Final[tuple[Hardness, ...]] = get_args(Hardness)
"""How hard a question is, as Spider and InterCode count it."""


@dataclass(frozen=True)
class Task:
    """A question and the query that answers it.

    Attributes:
        task_id: Its name within its dataset.
        question: The question in words.
        gold: The query whose rows are the answer or, in a task that writes, the statement to run.
        database: The name of its database.
        hardness: One of `HARDNESS`.
        writes: Whether the database may be changed, in which case its changes are judged.
    """

    task_id: str
    question: str
    gold: str
    database: str
    hardness: str
    writes: bool = False


class Column(NamedTuple):
    """A column: its name, its declared type, and whether it is in the primary key."""

    name: str
    type: str
    key: bool


class Reference(NamedTuple):
    """A foreign key of one column: it refers to a column of another table."""

    column: str
    table: str
    other: str


class Table(NamedTuple):
    """A table of a schema."""

    name: str
    columns: tuple[Column, ...]
    references: tuple[Reference, ...]


Schema = tuple[Table, ...]


@dataclass(frozen=True, eq=False)
class Database:
    """A database as a value: the image that `sqlite3.Connection.serialize` returns.

    Attributes:
        name: Its name within its dataset.
        image: The image.
        dialect: The SQL dialect of its queries, as sqlglot calls it; queries in a dialect other
            than ``"sqlite"`` are translated, which needs sqlglot.
        translated: The known translations of statements of that dialect.
    """

    name: str
    image: bytes = field(repr=False)
    dialect: str = "sqlite"
    translated: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __deepcopy__(self, _memo: Any) -> Database:
        """Return itself: a database never changes."""
        return self

    @functools.cached_property
    def stamp(self) -> str:
        """A hash of the content, in sixteen hexadecimal digits."""
        return hashlib.blake2b(self.image, digest_size=8).hexdigest()

    @functools.cached_property
    def schema(self) -> Schema:
        """The tables in the order of their names, with columns in the order of declaration."""
        return read_schema(self.image)

    @functools.cached_property
    def column_types(self) -> dict[str, dict[str, str]]:
        """The type of each column of each table, without its size; names are lower case."""
        return {
            table.name.lower(): {
                column.name.lower(): column.type.lower().partition("(")[0]
                for column in table.columns
            }
            for table in self.schema
        }

    @functools.cached_property
    def indexed(self) -> frozenset[tuple[str, str]]:
        """Tables and their columns with which an index begins; names are lower case."""
        connection = sqlite3.connect(":memory:")
        try:
            connection.deserialize(self.image)
            rows = connection.execute(
                "SELECT m.name, i.name FROM sqlite_master AS m, pragma_index_list(m.name) AS l,"
                " pragma_index_info(l.name) AS i WHERE m.type = 'table' AND i.seqno = 0 UNION"
                " SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c"
                " WHERE m.type = 'table' AND c.pk = 1"
            )
            return frozenset((table.lower(), column.lower()) for table, column in rows)
        finally:
            connection.close()


@dataclass(frozen=True, eq=False)
class Dataset:
    """Tasks and the databases that they are about; `records` has what a file says of each task."""

    name: str
    tasks: tuple[Task, ...]
    databases: Mapping[str, Database]
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    def __deepcopy__(self, _memo: Any) -> Dataset:
        """Return itself: a dataset never changes."""
        return self


def read_schema(image: bytes) -> Schema:
    """Return the schema of a database image.

    Raises:
        sqlite3.DatabaseError: If the image is not a database.
    """
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(image)
        rows = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        names = sorted((str(row[0]) for row in rows), key=lambda name: (name.lower(), name))
        return tuple(_read_table(connection, name, names) for name in names)
    finally:
        connection.close()


def _read_table(connection: sqlite3.Connection, name: str, names: list[str]) -> Table:
    """Read one table; a reference that names no column refers to the primary key."""
    info = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (name,))
    columns = tuple(Column(str(n), str(kind), pk > 0) for n, kind, pk in info)
    proper = {other.lower(): other for other in names}
    listed = connection.execute(
        'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (name,)
    )
    references = []
    for column, other, to in listed.fetchall():
        if other.lower() in proper:
            if to is None:
                keys = "SELECT name FROM pragma_table_info(?) WHERE pk = 1"
                to = (connection.execute(keys, (other,)).fetchone() or ("rowid",))[0]
            references.append(Reference(str(column), proper[other.lower()], str(to)))
    return Table(name, columns, tuple(references))


def from_file(path: str | pathlib.Path, name: str | None = None) -> Database:
    """Read a SQLite file.

    Args:
        path: The file, which is read as a whole and never changed. If it has a write-ahead log,
            nothing must be left in that.
        name: What to call the database; by default as the file, without its suffix.

    Raises:
        ConfigError: If it is too large, cannot be read, or is not an intact database.
    """
    place = pathlib.Path(path)
    try:
        if place.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{place}: larger than {MOST_BYTES} bytes")
        image = place.read_bytes()
        log = place.with_name(f"{place.name}-wal")
        if image[18:20] == b"\2\2":  # a database in memory cannot have such a log
            if log.exists() and log.stat().st_size:
                raise ConfigError(f"{place}: changes are still in {log.name}; close the database")
            image = image[:18] + b"\1\1" + image[20:]
    except OSError as error:
        raise ConfigError(f"{place}: cannot be read: {error.strerror}") from None
    database = Database(name or place.stem, image)
    try:
        if not image.startswith(b"SQLite format 3\0"):
            raise sqlite3.DatabaseError("it does not begin as one")
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(image)
            for (fault,) in connection.execute("PRAGMA quick_check(1)"):
                if fault != "ok":
                    raise sqlite3.DatabaseError(" ".join(fault.split()))
        _ = database.schema
    except sqlite3.Error as error:
        raise ConfigError(f"{place}: this is no SQLite database: {error}") from None
    return database
