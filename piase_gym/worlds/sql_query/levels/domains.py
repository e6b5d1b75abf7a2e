"""What generated databases are about: six domains of three tables each, and their content."""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

from piase_gym.core.rng import Stream, StreamId
from piase_gym.worlds.sql_query.levels.dataset import Database

DomainName = Literal["library", "clinic", "railway", "farm", "cinema", "league"]
MOST_TABLES = 3
MOST_COLUMNS = 7
VARIANTS = 8
"""How many databases there are of each domain and size."""


class Field(NamedTuple):
    """A column of a domain.

    Attributes:
        name: Its name.
        one: What it is called in a question.
        many: The plural of that.
        values: What can be in it: ``None`` for made-up names, or words, or the least and the
            greatest number.
    """

    name: str
    one: str
    many: str
    values: tuple[str, ...] | tuple[int, int] | tuple[float, float] | None

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.values is not None and not isinstance(self.values[0], str)

    @property
    def type(self) -> str:
        """Its type in SQL."""
        if not self.numeric:
            return "TEXT"
        return "REAL" if self.values and isinstance(self.values[0], float) else "INTEGER"


class Entity(NamedTuple):
    """A table of a domain.

    Attributes:
        table: Its name; its key is ``id``.
        one: What a row is called.
        many: The plural of that.
        fields: Its columns, except for key and reference; the first one names a row.
        made: The first words and the second words that names are made up from.
        share: How many rows it has, as a share of the largest table's.
    """

    table: str
    one: str
    many: str
    fields: tuple[Field, ...]
    made: tuple[tuple[str, ...], tuple[str, ...]]
    share: float = 1.0

    @property
    def reference(self) -> str:
        """The column of another table that refers to this one."""
        return f"{self.table}_id"


def _read() -> Mapping[str, tuple[Entity, ...]]:
    """Read all domains from the file next to this one."""
    data = json.loads(files(__package__).joinpath("domains.json").read_text("utf-8"))
    names = {kind: tuple(map(tuple, map(str.split, pair))) for kind, pair in data["names"].items()}
    return {
        domain: tuple(_entity(names, **row) for row in rows)
        for domain, rows in data["domains"].items()
    }


def _entity(names: Mapping[str, Any], made: str, fields: list[list[Any]], **row: Any) -> Entity:
    columns = (
        Field(name, one, many, values and tuple(values)) for name, one, many, values in fields
    )
    return Entity(made=names[made], fields=tuple(columns), **row)


DOMAINS: Final = _read()
"""Every domain; each table but the first refers to the one before it."""


class GeneratedDatabase(NamedTuple):
    """A generated database, with the words for its parts.

    Attributes:
        database: The database.
        entities: Its tables, with the fields that they have here.
    """

    database: Database
    entities: tuple[Entity, ...]


@functools.lru_cache(maxsize=256)
def build(domain: str, variant: int, tables: int, columns: int, rows: int) -> GeneratedDatabase:
    """Return a database of a domain.

    Args:
        domain: What it is about.
        variant: Which one, from 0.
        tables: How many tables it has.
        columns: How many columns a table has at most, key and reference included.
        rows: The number of rows of the domain's largest table, even if that is left out.
    """
    stream = Stream(variant, StreamId.LAYOUT)
    entities = DOMAINS[domain][:tables]
    kept = tuple(
        entity._replace(fields=_some(entity.fields, columns - 1 - (k > 0), stream))
        for k, entity in enumerate(entities)
    )
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        before: list[int] = []
        for k, entity in enumerate(kept):
            parent = kept[k - 1] if k else None
            connection.execute(_declaration(entity, parent))
            count = max(4, round(rows * entity.share))
            filled = [_column(field, entity, count, stream) for field in entity.fields]
            keys = list(range(1, count + 1))
            links = [[before[stream.integer(len(before))] for _ in keys]] if before else []
            marks = ", ".join("?" * (1 + len(links) + len(filled)))
            connection.executemany(
                f"INSERT INTO {entity.table} VALUES ({marks})",
                list(zip(keys, *links, *filled, strict=True)),
            )
            before = keys
        connection.commit()
        return GeneratedDatabase(Database(domain, connection.serialize()), kept)


def _some(fields: tuple[Field, ...], most: int, stream: Stream) -> tuple[Field, ...]:
    """Return the field that names a row, and some others in random order, one of them numeric."""
    others = list(fields[1:])
    stream.shuffle(others)
    kept = others[: most - 1]
    if not any(field.numeric for field in kept):
        kept[-1] = next(field for field in others if field.numeric)
    return (fields[0], *kept)


def _declaration(entity: Entity, parent: Entity | None) -> str:
    """Return the statement that creates a table."""
    parts = ["id INTEGER PRIMARY KEY"]
    if parent is not None:
        parts.append(f"{parent.reference} INTEGER REFERENCES {parent.table}(id)")
    parts += [f"{field.name} {field.type}" for field in entity.fields]
    return f"CREATE TABLE {entity.table} ({', '.join(parts)})"


def _column(field: Field, entity: Entity, count: int, stream: Stream) -> list[object]:
    """Return the values of a column; names are distinct, and so are integers of a wide range."""
    values = field.values
    if values is None:
        ones, twos = entity.made
        glue = "" if twos[0].islower() or twos[0].isdigit() else " "
        names = [f"{one}{glue}{two}" for one in ones for two in twos]
        stream.shuffle(names)
        more = [f"{names[0]} {k}" for k in range(2, 2 + count - len(names))]
        return [*names[:count], *more]
    if isinstance(values[0], str):
        return [values[stream.integer(len(values))] for _ in range(count)]
    low, high = float(values[0]), float(values[1])
    if isinstance(values[0], float):
        return [round(low + (high - low) * stream.uniform(), 2) for _ in range(count)]
    span = int(high - low) + 1
    numbers = [int(low) + stream.integer(span) for _ in range(count)]
    if span > 4 * count:  # a number that occurs twice is moved
        seen: set[int] = set()
        for k, number in enumerate(numbers):
            while number in seen:
                number = int(low) + (number - int(low) + 1) % span
            seen.add(number)
            numbers[k] = number
    return list(numbers)
