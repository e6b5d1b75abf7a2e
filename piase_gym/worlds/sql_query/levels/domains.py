"""What generated databases are about: six domains of three tables each, and their content."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from piase_gym.core.rng import Stream, StreamId
from piase_gym.worlds.sql_query.levels.dataset import Database

DomainName = Literal["library", "clinic", "railway", "farm", "cinema", "league"]
MOST_TABLES = 3
MOST_COLUMNS = 7
VARIANTS = 8
"""So many databases there are of one domain and size."""


class Field(NamedTuple):
    """A column of a domain.

    Attributes:
        name: Its name.
        one: What it is called in a question.
        many: The plural of that.
        values: What can be in it: ``None`` for names that are made up, words, or the least and
            the greatest number.
    """

    name: str
    one: str
    many: str
    values: tuple[str, ...] | tuple[int, int] | tuple[float, float] | None

    @property
    def numeric(self) -> bool:
        """Whether it has numbers."""
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
        fields: Its columns but for key and reference; the first one names a row.
        made: From what names are made up: first words and second words.
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


_FIRST = tuple(
    "Ada Bela Clara Dario Edith Farid Greta Hugo Ines Jonas Kira Lena Milan Nora Oskar Paula "
    "Rosa Samir Tilda Viktor".split()
)
_LAST = tuple(
    "Abel Brandt Costa Duarte Eklund Fischer Garcia Horvat Ito Jansen Kovac Lindt Moreau Novak "
    "Okafor Petrov Rossi Silva Tanaka Weber".split()
)
_PEOPLE = (_FIRST, _LAST)
_PLACES = (
    tuple("Alder Birch Cedar Elm Fern Hazel Maple North Oak Pine River South Stone West".split()),
    tuple("bridge dale field ford gate haven hill mouth port side ton wick".split()),
)
_TITLES = (
    tuple("Silent Golden Broken Hidden Distant Second Winter Paper Crystal Last Open Blue".split()),
    tuple("Garden Harbor Letter Mountain Mirror Orchard Promise River Shadow Station Tide".split()),
)
_PARTS = (
    tuple("Upper Lower Old New East West Long Wide Sunny Shady Far Near".split()),
    tuple("Acre Corner Meadow Patch Plot Ridge Slope Terrace Yard Close".split()),
)


def _name(one: str = "name", many: str = "names") -> Field:
    return Field(one, one, many, None)


DOMAINS: Final[Mapping[str, tuple[Entity, ...]]] = {
    "library": (
        Entity(
            "author",
            "author",
            "authors",
            (
                _name(),
                Field("country", "country", "countries", ("France", "Japan", "Kenya", "Peru")),
                Field("birth_year", "birth year", "birth years", (1900, 1995)),
                Field("awards", "number of awards", "numbers of awards", (0, 12)),
            ),
            _PEOPLE,
            0.4,
        ),
        Entity(
            "book",
            "book",
            "books",
            (
                _name("title", "titles"),
                Field("genre", "genre", "genres", ("mystery", "poetry", "history", "travel")),
                Field("pages", "page count", "page counts", (60, 900)),
                Field("price", "price", "prices", (4.0, 60.0)),
                Field("language", "language", "languages", ("English", "French", "Swahili")),
            ),
            _TITLES,
            0.7,
        ),
        Entity(
            "loan",
            "loan",
            "loans",
            (
                Field("borrower", "borrower", "borrowers", None),
                Field("days", "number of days", "numbers of days", (1, 90)),
                Field("fee", "fee", "fees", (0.0, 9.0)),
                Field("status", "status", "statuses", ("open", "returned", "overdue")),
            ),
            _PEOPLE,
        ),
    ),
    "clinic": (
        Entity(
            "doctor",
            "doctor",
            "doctors",
            (
                _name(),
                Field("specialty", "specialty", "specialties", ("surgery", "eyes", "skin", "ears")),
                Field("salary", "salary", "salaries", (3000, 9900)),
                Field("experience", "years of experience", "years of experience", (1, 40)),
            ),
            _PEOPLE,
            0.4,
        ),
        Entity(
            "patient",
            "patient",
            "patients",
            (
                _name(),
                Field("age", "age", "ages", (1, 95)),
                Field("city", "city", "cities", ("Lyon", "Porto", "Graz", "Turku")),
                Field("weight", "weight", "weights", (12.0, 120.0)),
                Field("blood_type", "blood type", "blood types", ("A", "B", "AB", "O")),
            ),
            _PEOPLE,
            0.7,
        ),
        Entity(
            "visit",
            "visit",
            "visits",
            (
                Field("code", "code", "codes", None),
                Field("reason", "reason", "reasons", ("checkup", "pain", "accident", "vaccine")),
                Field("minutes", "number of minutes", "numbers of minutes", (5, 120)),
                Field("cost", "cost", "costs", (20.0, 400.0)),
            ),
            (("V", "W", "X", "Y", "Z"), tuple(map(str, range(10, 99)))),
        ),
    ),
    "railway": (
        Entity(
            "station",
            "station",
            "stations",
            (
                _name(),
                Field("region", "region", "regions", ("coast", "valley", "highland", "plain")),
                Field("platforms", "platform count", "platform counts", (1, 24)),
                Field("opened", "opening year", "opening years", (1840, 2020)),
            ),
            _PLACES,
            0.4,
        ),
        Entity(
            "train",
            "train",
            "trains",
            (
                _name(),
                Field("type", "type", "types", ("express", "local", "night", "freight")),
                Field("speed", "speed", "speeds", (60, 320)),
                Field("seats", "seat count", "seat counts", (40, 900)),
                Field("fare", "fare", "fares", (5.0, 150.0)),
            ),
            _TITLES,
            0.7,
        ),
        Entity(
            "trip",
            "trip",
            "trips",
            (
                Field("guide", "guide", "guides", None),
                Field("delay", "delay", "delays", (0, 60)),
                Field("passengers", "passenger count", "passenger counts", (3, 850)),
                Field("weekday", "weekday", "weekdays", ("Monday", "Friday", "Saturday")),
            ),
            _PEOPLE,
        ),
    ),
    "farm": (
        Entity(
            "farmer",
            "farmer",
            "farmers",
            (
                _name(),
                Field("village", "village", "villages", ("Oakton", "Elmdale", "Fernhill")),
                Field("age", "age", "ages", (19, 80)),
                Field("savings", "savings", "savings", (100, 9000)),
            ),
            _PEOPLE,
            0.4,
        ),
        Entity(
            "plot",
            "plot",
            "plots",
            (
                Field("label", "label", "labels", None),
                Field("soil", "soil", "soils", ("clay", "sand", "loam", "peat")),
                Field("area", "area", "areas", (0.5, 40.0)),
                Field("trees", "tree count", "tree counts", (0, 300)),
                Field("rent", "rent", "rents", (50, 900)),
            ),
            _PARTS,
            0.7,
        ),
        Entity(
            "harvest",
            "harvest",
            "harvests",
            (
                Field("picker", "picker", "pickers", None),
                Field("crop", "crop", "crops", ("apples", "barley", "corn", "plums")),
                Field("yield", "yield", "yields", (0.2, 30.0)),
                Field("season", "season", "seasons", (2001, 2025)),
            ),
            _PEOPLE,
        ),
    ),
    "cinema": (
        Entity(
            "director",
            "director",
            "directors",
            (
                _name(),
                Field("nationality", "nationality", "nationalities", ("Danish", "Thai", "Greek")),
                Field("prizes", "prize count", "prize counts", (0, 15)),
                Field("debut", "debut year", "debut years", (1950, 2020)),
            ),
            _PEOPLE,
            0.4,
        ),
        Entity(
            "film",
            "film",
            "films",
            (
                _name("title", "titles"),
                Field("style", "style", "styles", ("comedy", "drama", "western", "horror")),
                Field("length", "length", "lengths", (70, 220)),
                Field("rating", "rating", "ratings", (1.0, 10.0)),
                Field("budget", "budget", "budgets", (1, 200)),
            ),
            _TITLES,
            0.7,
        ),
        Entity(
            "screening",
            "screening",
            "screenings",
            (
                Field("host", "host", "hosts", None),
                Field("hall", "hall", "halls", ("red", "green", "blue")),
                Field("visitors", "visitor count", "visitor counts", (0, 400)),
                Field("ticket", "ticket price", "ticket prices", (5.0, 22.0)),
            ),
            _PEOPLE,
        ),
    ),
    "league": (
        Entity(
            "club",
            "club",
            "clubs",
            (
                _name(),
                Field("division", "division", "divisions", ("first", "second", "third")),
                Field("founded", "founding year", "founding years", (1880, 2015)),
                Field("members", "member count", "member counts", (40, 9000)),
            ),
            _PLACES,
            0.4,
        ),
        Entity(
            "player",
            "player",
            "players",
            (
                _name(),
                Field("position", "position", "positions", ("keeper", "defender", "striker")),
                Field("goals", "goal count", "goal counts", (0, 45)),
                Field("height", "height", "heights", (1.55, 2.1)),
                Field("age", "age", "ages", (16, 41)),
            ),
            _PEOPLE,
            0.7,
        ),
        Entity(
            "transfer",
            "transfer",
            "transfers",
            (
                Field("agent", "agent", "agents", None),
                Field("fee", "fee", "fees", (10, 5000)),
                Field("year", "year", "years", (2000, 2025)),
                Field("kind", "kind", "kinds", ("loan", "sale", "swap")),
            ),
            _PEOPLE,
        ),
    ),
}
"""Every domain; each table but the first refers to the one before it."""


class Made(NamedTuple):
    """A generated database, with what its parts are called.

    Attributes:
        database: The database.
        entities: Its tables, with the fields that they have here.
    """

    database: Database
    entities: tuple[Entity, ...]


@functools.lru_cache(maxsize=256)
def build(domain: str, variant: int, tables: int, columns: int, rows: int) -> Made:
    """Return a database of a domain.

    Args:
        domain: What it is about.
        variant: Which one, from 0.
        tables: How many tables it has.
        columns: How many columns a table has at most, key and reference included.
        rows: How many rows the largest of its three tables would have.
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
        return Made(Database(domain, connection.serialize()), kept)


def _some(fields: tuple[Field, ...], most: int, stream: Stream) -> tuple[Field, ...]:
    """Return what names a row and some of the other fields, in any order, with a number."""
    others = list(fields[1:])
    stream.shuffle(others)
    kept = others[: most - 1]
    if not any(field.numeric for field in kept):
        kept[-1] = next(field for field in others if field.numeric)
    return (fields[0], *kept)


def _declaration(entity: Entity, parent: Entity | None) -> str:
    """Return the statement that makes a table."""
    parts = ["id INTEGER PRIMARY KEY"]
    if parent is not None:
        parts.append(f"{parent.reference} INTEGER REFERENCES {parent.table}(id)")
    parts += [f"{field.name} {field.type}" for field in entity.fields]
    return f"CREATE TABLE {entity.table} ({', '.join(parts)})"


def _column(field: Field, entity: Entity, count: int, stream: Stream) -> list[object]:
    """Return the values of a column: names differ from each other, numbers where they can."""
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
    if span > 4 * count:  # a number that comes twice is moved
        seen: set[int] = set()
        for k, number in enumerate(numbers):
            while number in seen:
                number = int(low) + (number - int(low) + 1) % span
            seen.add(number)
            numbers[k] = number
    return list(numbers)
