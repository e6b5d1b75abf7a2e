"""SqlQuery's commands: verbs, and queries from templates for agents that act by index."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Command, Param, Verb
from piase_gym.worlds.channel.config import speaking_verbs
from piase_gym.worlds.sql_query.config import SqlQueryEnvelope
from piase_gym.worlds.sql_query.levels.dataset import Column, Schema, Table
from piase_gym.worlds.sql_query.rules.tokens import quoted

LITERALS = 2
"""How many values of the question have slots in templates."""
MOST = {"tables": 6, "columns": 10, "references": 6}
"""How many parts of a schema have slots in templates and vectors, at most."""

WAIT, SUBMIT, SKIP, TABLES = (Command(name) for name in ("wait", "submit", "skip", "tables"))
PLAIN: Final = (WAIT, SUBMIT, SKIP, TABLES)

_SQL = Param("sql", "text", description="one statement")
_TABLE = Param("table", description="name of a table")
_VERBS: Final = (
    Verb(
        "query",
        "run a statement of SQL; the word query may be left out",
        (_SQL,),
        ("run query", "run", "sql"),
    ),
    Verb(
        "submit",
        "answer the question with the result of your last query",
        synonyms=("submit answer", "answer", "submit result", "submit the result", "done"),
    ),
    Verb("skip", "give up", synonyms=("give up", "pass")),
    Verb("tables", "list the tables", synonyms=("list tables", "list the tables", "show tables")),
    Verb("describe", "list the columns of a table", (_TABLE,), ("desc", "columns of")),
    Verb("wait", "do nothing", synonyms=("do nothing", "noop", "stay")),
)
_STARTS = frozenset(
    "select with values insert update delete replace explain show pragma create drop alter attach "
    "detach vacuum begin commit end rollback savepoint release analyze reindex truncate grant set "
    "use call load copy merge".split()
)
_LABEL = re.compile(r"\A(?:sql|query)(?: query)?:\s*", re.IGNORECASE)
_FENCE = re.compile(r"```(?:\w*[ \t\r]*\n|\w*sql\w*\s)?\s*(.*?)\s*```", re.DOTALL | re.IGNORECASE)


def verbs(agents: tuple[str, ...]) -> tuple[Verb, ...]:
    """Return the verbs, with or without those for several agents."""
    return _VERBS if len(agents) == 1 else (*_VERBS, *speaking_verbs(agents))


def bare(line: str) -> str:
    """Return a line without a label such as ``SQL:``, or the code in it if it is a block."""
    words = _LABEL.sub("", line.strip())
    match = _FENCE.fullmatch(words)
    return match[1] if match else words


_DESCRIBE = re.compile(r"(?:describe|desc|columns of)\s+(?:(?:the )?table\s+)?(.+)", re.I | re.S)


def table_described(line: str) -> str:
    """Return the table that a line asks about, or "" if it asks about none."""
    match = _DESCRIBE.fullmatch(line)
    return match[1].strip(' .;"`') if match else ""


def is_sql(line: str) -> bool:
    """Return whether a line begins as an SQL statement does."""
    words = re.split(r"[\s(;]", line.lstrip("( \t\n"), maxsplit=1)
    return words[0].lower() in _STARTS or line.startswith(("--", "/*"))


# -- what a question mentions ---------------------------------------------------------------------

_VALUE = re.compile(
    r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)|(?<![\w.])(\d+(?:\.\d+)?)(?![\w])|(?<=\w )([A-Z]\w+)"
)


@functools.lru_cache(maxsize=4096)
def literals(question: str) -> tuple[str, ...]:
    """Return the first values that a question names, as they are written in SQL.

    Values in quotation marks come first, then numbers, then words with a capital letter.
    """
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for double, single, number, word in _VALUE.findall(question):
        if number:
            found[1].append(number)
        else:
            found[2 if word else 0].append(quoted(double or single or word))
    return tuple(dict.fromkeys(itertools.chain(*found)))[:LITERALS]


@functools.lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """Return the beginnings of the words of a text or name, in lower case."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text.replace("_", " "))
    words = re.findall(r"[a-z0-9]+", apart.lower())
    singular = (f"{word[:-3]}y" if word.endswith("ies") else word.rstrip("s") for word in words)
    return tuple(one[:4] or word for one, word in zip(singular, words, strict=True))


@functools.lru_cache(maxsize=65536)
def mention(name: str, question: str) -> tuple[float, float]:
    """Return how much of a name a question mentions, and how early, both from 0 to 1."""
    asked, parts = stems(question), stems(name)
    places = [asked.index(part) for part in parts if part in asked]
    if not places or not parts:
        return 0.0, 0.0
    return len(places) / len(parts), 1.0 - min(places) / len(asked)


def is_number(column: Column) -> bool:
    """Return whether a column is declared to hold numbers."""
    kind = column.type.upper()
    return any(part in kind for part in ("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC"))


# -- templates --------------------------------------------------------------------------------

_ONE: Final = (
    "SELECT {c} FROM {t}",
    "SELECT DISTINCT {c} FROM {t}",
    "SELECT COUNT(DISTINCT {c}) FROM {t}",
    "SELECT {c}, COUNT(*) FROM {t} GROUP BY {c}",
    "SELECT AVG({c}) FROM {t}",
    "SELECT SUM({c}) FROM {t}",
    "SELECT MAX({c}) FROM {t}",
    "SELECT MIN({c}) FROM {t}",
)
_OF_NUMBERS = frozenset(_ONE[4:])
_TWO: Final = (
    "SELECT {c} FROM {t} ORDER BY {d} ASC",
    "SELECT {c} FROM {t} ORDER BY {d} DESC",
    "SELECT {c} FROM {t} ORDER BY {d} ASC LIMIT 1",
    "SELECT {c} FROM {t} ORDER BY {d} DESC LIMIT 1",
)
_TESTS: Final = ("{d} = {v}", "{d} > {v}", "{v} > {d}", "{d} >= {v}", "{v} >= {d}")
_FILTER = "SELECT {c} FROM {t} WHERE {test}"
_COUNT = "SELECT COUNT(*) FROM {t}"
_COUNT_WHERE = "SELECT COUNT(*) FROM {t} WHERE {test}"
_JOINED = "SELECT T1.{c} FROM {t} AS T1 JOIN {u} AS T2 ON T1.{k} = T2.{o} WHERE T2.{d} = {v}"
_NAME = re.compile(r"[A-Za-z_]\w*")
_RESERVED = frozenset(
    "add all alter and as asc between by case check column create default delete desc distinct "
    "drop else end exists for foreign from full group having in index insert into is join key keys "
    "left like limit match not null on or order outer primary rank references right row rows "
    "select set table then to union unique update using values when where with".split()
)


class Slots(NamedTuple):
    """How many parts of a schema have slots."""

    tables: int
    columns: int
    references: int

    @classmethod
    def of(cls, envelope: SqlQueryEnvelope) -> Slots:
        """Return the slots of an envelope."""
        return cls(*(min(most, getattr(envelope, name)) for name, most in MOST.items()))


@functools.lru_cache(maxsize=64)
def layout(slots: Slots) -> tuple[Mapping[str, tuple[int, tuple[int, ...]]], int]:
    """Return the first index and the shape of each kind of command, and the number of indices.

    In order: `PLAIN`; for each table ``describe`` and `_COUNT`; `_ONE` by table, column and
    template; `_TWO` by table, column, other column and template; `_FILTER` by table, column, other
    column, value and test; `_COUNT_WHERE` by table, column, value and test; `_JOINED` by reference,
    column of the table that refers, column of the other one, and value.
    """
    t, c, r = slots
    shapes = {
        "plain": (len(PLAIN),),
        "describe": (t,),
        "count": (t,),
        "one": (t, c, len(_ONE)),
        "two": (t, c, c, len(_TWO)),
        "filter": (t, c, c, LITERALS, len(_TESTS)),
        "count_where": (t, c, LITERALS, len(_TESTS)),
        "joined": (r, c, c, LITERALS),
    }
    found, start = {}, 0
    for name, shape in shapes.items():
        found[name] = (start, shape)
        start += int(np.prod(shape))
    return found, start


class Choices(NamedTuple):
    """What the indices stand for under one schema and question.

    Attributes:
        commands: The command of each index that stands for one, in order.
        mask: Ones for these indices.
    """

    commands: Mapping[int, Command]
    mask: NDArray[np.int8]

    def __deepcopy__(self, _memo: object) -> Choices:
        """Return itself: it never changes."""
        return self


@functools.lru_cache(maxsize=512)
def choices(schema: Schema, values: tuple[str, ...], slots: Slots, tick: str) -> Choices:
    """Return what the indices stand for.

    Args:
        schema: The tables that an agent knows of.
        values: The values that the question names; see `literals`.
        slots: How many parts of a schema have slots.
        tick: The quotation mark around names that are not plain words.
    """
    parts, size = layout(slots)
    commands = dict(enumerate(PLAIN))
    for part, place, command in _filled(schema, values, slots, tick):
        start, shape = parts[part]
        commands[start + int(np.ravel_multi_index(place, shape))] = command
    mask = np.zeros(size, np.int8)
    mask[list(commands)] = 1
    return Choices(dict(sorted(commands.items())), mask)


def _filled(
    schema: Schema, values: tuple[str, ...], slots: Slots, tick: str
) -> Iterator[tuple[str, tuple[int, ...], Command]]:
    """Yield (kind, place, command) of all indices in use but those of `PLAIN`; see `layout`."""

    def name(word: str) -> str:
        plain = _NAME.fullmatch(word) and word.lower() not in _RESERVED
        return word if plain else f"{tick}{word.replace(tick, 2 * tick)}{tick}"

    def query(template: str, **parts: str) -> Command:
        return Command("query", {"sql": template.format(**parts)})

    for i, table in enumerate(schema[: slots.tables]):
        t, columns = name(table.name), table.columns[: slots.columns]
        yield "describe", (i,), Command("describe", {"table": table.name})
        if columns:
            yield "count", (i,), query(_COUNT, t=t)
        for j, column in enumerate(columns):
            c = name(column.name)
            numeric = is_number(column)
            for k, template in enumerate(_ONE):
                if numeric or template not in _OF_NUMBERS:
                    yield "one", (i, j, k), query(template, t=t, c=c)
            for v, value, s, test in _conditions(values, numeric):
                fields = {"t": t, "test": test.format(d=c, v=value)}
                yield "count_where", (i, j, v, s), query(_COUNT_WHERE, **fields)
                for o, other in enumerate(columns):
                    if o != j:
                        place = (i, o, j, v, s)
                        yield "filter", place, query(_FILTER, c=name(other.name), **fields)
            for o, other in enumerate(columns):
                if o != j and not column.key:
                    for k, template in enumerate(_TWO):
                        fields = {"t": t, "c": name(other.name), "d": c}
                        yield "two", (i, o, j, k), query(template, **fields)
    for r, (table, parent, key, to) in enumerate(_links(schema)[: slots.references]):
        fields = {"t": name(table.name), "u": name(parent.name), "k": name(key), "o": name(to)}
        for j, one in enumerate(table.columns[: slots.columns]):
            for d, two in enumerate(parent.columns[: slots.columns]):
                for v, value in enumerate(values):
                    row = {**fields, "c": name(one.name), "d": name(two.name), "v": value}
                    yield "joined", (r, j, d, v), query(_JOINED, **row)


def _conditions(values: tuple[str, ...], numeric: bool) -> Iterator[tuple[int, str, int, str]]:
    """Yield values and the tests that suit them; only numbers get tests besides equality."""
    for v, value in enumerate(values):
        for s, test in enumerate(_TESTS):
            if s == 0 or (numeric and not value.startswith("'")):
                yield v, value, s, test


def _links(schema: Schema) -> list[tuple[Table, Table, str, str]]:
    """Return the foreign keys: table, other table, column, other column."""
    by_name = {table.name: table for table in schema}
    return [
        (table, by_name[link.table], link.column, link.other)
        for table in schema
        for link in table.references
        if link.table in by_name and by_name[link.table].columns
    ]
