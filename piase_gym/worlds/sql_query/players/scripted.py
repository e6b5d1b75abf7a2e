"""A solver that reads the question and the schema, and writes a query as people would.

It knows the usual ways to ask for numbers, lists, groups and winners. To a question that it does
not understand, it answers with the column that the question names first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from piase_gym.core.commands import Command
from piase_gym.worlds.sql_query import actions
from piase_gym.worlds.sql_query.actions import is_number, mention
from piase_gym.worlds.sql_query.facts import SqlQueryFacts
from piase_gym.worlds.sql_query.levels.dataset import Column, Reference, Table
from piase_gym.worlds.sql_query.observe.text import QUERY, cut
from piase_gym.worlds.sql_query.rules.tokens import quoted
from piase_gym.worlds.sql_query.world import SqlQuery

_WHOSE = re.compile(
    r"(?:whose|where|(and|or) whose) (?:the )?([\w ]+?) (?:is|are)"
    r"(?: (greater than|more than|above|over|less than|below|under|at least|at most))? "
    r"(\"[^\"]+\"|'[^']+'|[-\w.]+)"
)
_SIGN = {"less": "<", "below": "<", "under": "<", "at least": ">=", "at most": "<="}
_FUNCTIONS = (
    (r"average|mean", "AVG"),
    (r"total|sum|summed", "SUM"),
    (r"highest|maximum|largest|greatest|oldest|longest", "MAX"),
    (r"lowest|minimum|smallest|least|youngest|shortest", "MIN"),
)
_HIGH = r"highest|greatest|largest|most|maximum|oldest|longest|best"
_LOW = r"lowest|smallest|least|fewest|minimum|youngest|shortest|worst"


class Link(NamedTuple):
    """A table, the table that it refers to, and how."""

    child: Table
    parent: Table
    key: Reference

    @property
    def joined(self) -> str:
        """The join of the two tables, as T1 and T2."""
        child, parent, key = self
        on = f"T1.{key.column} = T2.{key.other}"
        return f"{child.name} AS T1 JOIN {parent.name} AS T2 ON {on}"


class QuestionReading:
    """A question together with a schema.

    Args:
        question: The question.
        tables: The tables that are known.
    """

    def __init__(self, question: str, tables: Sequence[Table]) -> None:
        self.question = question
        self.tables = [table for table in tables if table.columns]

    def table(self, words: str) -> Table:
        """Return the table that some words name, or whose columns they name."""

        def merit(table: Table) -> tuple[float, float, float]:
            named, early = mention(table.name, words)
            return named, early, sum(mention(column.name, words)[0] for column in table.columns)

        return max(self.tables, key=merit)

    def column(self, words: str, table: Table, numeric: bool | None = None) -> Column:
        """Return the column of a table that some words name: the first of the best matches."""
        fits = [c for c in table.columns if numeric in (None, is_number(c))] or list(table.columns)
        best = max(fits, key=lambda column: mention(column.name, words))
        if mention(best.name, words)[0]:
            return best
        return next((c for c in fits if not c.key and not _is_link(c, table)), fits[0])

    def link(self, one: str, other: str) -> Link | None:
        """Return how the tables that two phrases name are linked, or ``None`` if they are not."""
        tables = self.table(one), self.table(other)
        for child, parent in (tables, tables[::-1]):
            for key in child.references:
                if key.table == parent.name:
                    return Link(child, parent, key)
        return None

    def conditions(self, words: str, table: Table, prefix: str = "") -> str:
        """Return the ``WHERE`` clause that some words express, or ""."""
        found = ""
        for joint, name, sign, value in _WHOSE.findall(words):
            column = self.column(name, table)
            text = value.strip("\"'").rstrip(".?")
            number = is_number(column) and re.fullmatch(r"-?\d+(\.\d+)?", text)
            shown = text if number else quoted(text)
            found += f" {joint.upper() or 'AND'} " if found else " WHERE "
            start = sign.split(" ")[0] if not sign.startswith("at") else sign
            found += f"{prefix}{column.name} {_SIGN.get(start, '>' if sign else '=')} {shown}"
        return found


def _is_link(column: Column, table: Table) -> bool:
    return any(key.column == column.name for key in table.references)


def _way(words: str) -> str:
    """Return the sort order that puts the row that is asked for first."""
    return "ASC" if re.search(rf"\b(?:{_LOW})\b", words) else "DESC"


def _function(words: str) -> str:
    """Return the function that some words ask for, or ""."""
    return next((f for said, f in _FUNCTIONS if re.search(rf"\b(?:{said})\b", words)), "")


# -- ways to ask ------------------------------------------------------------------------------

Match = re.Match[str]


def _set(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[2])
    column, new = q.column(m[1], table), m[5].rstrip(".")
    named = q.column(m[3], table).name
    return f"UPDATE {table.name} SET {column.name} = {new} WHERE {named} = {quoted(m[4])}"


def _remove(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[1])
    return f"DELETE FROM {table.name}{q.conditions(m[2], table)}"


def _add(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[1])
    values = re.findall(r"([\w ]+?) (\"[^\"]+\"|-?\d+(?:\.\d+)?)(?:, |\.$)", m[2])
    names = ", ".join(q.column(name, table).name for name, _ in values)
    row = ", ".join(quoted(v[1:-1]) if v.startswith('"') else v for _, v in values)
    return f"INSERT INTO {table.name} ({names}) VALUES ({row})"


def _having(q: QuestionReading, m: Match) -> str | None:
    link = q.link(m[3], m[1])
    if link is None:
        return None
    n, f = q.column(m[5], link.child, True).name, q.column(m[4], link.parent).name
    return (
        f"SELECT T2.{f}, AVG(T1.{n}) FROM {link.joined} GROUP BY T2.{link.key.other} "
        f"HAVING COUNT(*) >= {m[2]} ORDER BY T2.{f} LIMIT 3"
    )


def _both(q: QuestionReading, m: Match) -> str | None:
    link = q.link(m[3], m[2])
    if link is None:
        return None
    f, g = q.column(m[1], link.parent).name, q.column(m[4], link.child).name
    half = f"SELECT T2.{f} FROM {link.joined} WHERE T1.{g} = "
    return f"{half}{quoted(m[5])} INTERSECT {half}{quoted(m[6])}"


def _without(q: QuestionReading, m: Match) -> str | None:
    link = q.link(m[3], m[2])
    if link is None:
        return None
    f, key = q.column(m[1], link.parent).name, link.key
    inner = f"SELECT {key.column} FROM {link.child.name}"
    return f"SELECT {f} FROM {link.parent.name} WHERE {key.other} NOT IN ({inner})"


def _with_most(q: QuestionReading, m: Match) -> str | None:
    link = q.link(m[4], m[2])
    if link is None:
        return None
    f = q.column(m[1], link.parent).name
    grouped = f"GROUP BY T2.{link.key.other} ORDER BY COUNT(*) {_way(m[3])} LIMIT 1"
    return f"SELECT T2.{f} FROM {link.joined} {grouped}"


def _group_with_most(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[3])
    g = q.column(m[1], table).name
    return f"SELECT {g} FROM {table.name} GROUP BY {g} ORDER BY COUNT(*) {_way(m[2])} LIMIT 1"


def _no_such(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[2])
    whole = f"SELECT {q.column(m[1], table).name} FROM {table.name}"
    return f"{whole} EXCEPT {whole}{q.conditions(m[3], table)}"


def _average_of(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[2])
    f, n = q.column(m[1], table).name, q.column(m[3], table, True).name
    sign = "<" if m[4] in ("below", "less than") else ">"
    return f"SELECT {f} FROM {table.name} WHERE {n} {sign} (SELECT AVG({n}) FROM {table.name})"


def _belong(q: QuestionReading, m: Match) -> str | None:
    link = q.link(m[2], m[3])
    if link is None:
        return None
    f = q.column(m[1], link.child).name
    return f"SELECT T1.{f} FROM {link.joined}{q.conditions(m[4], link.parent, 'T2.')}"


def _extremes(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[2])
    n = q.column(m[1], table, True).name
    return f"SELECT MIN({n}), MAX({n}) FROM {table.name}"


def _per_group(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[1])
    g = q.column(m[2], table).name
    function, numbered = _function(m[1]), q.column(m[1], table, True).name
    text = f"{function}({numbered})" if function else "COUNT(*)"
    return f"SELECT {g}, {text} FROM {table.name} GROUP BY {g}"


def _sorted(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[1])
    f, n = q.column(m[1], table).name, q.column(m[3], table).name
    return f"SELECT {f} FROM {table.name} ORDER BY {n} {'DESC' if m[2] == 'descending' else 'ASC'}"


def _winner(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[2])
    f, n = q.column(m[1], table).name, q.column(m[4], table, True).name
    return f"SELECT {f} FROM {table.name} ORDER BY {n} {_way(m[3])} LIMIT 1"


def _how_many(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[1])
    return f"SELECT COUNT(*) FROM {table.name}{q.conditions(m[1], table)}"


def _different(q: QuestionReading, m: Match) -> str | None:
    table = q.table(m[0])
    g = q.column(m[0], table).name
    counted = "COUNT(DISTINCT {})" if m[0].lower().startswith("how many") else "DISTINCT {}"
    return f"SELECT {counted.format(g)} FROM {table.name}"


def _list(q: QuestionReading) -> str:
    table = q.table(q.question)
    head = re.split(r"\b(?:whose|where)\b", q.question)[0]
    function = _function(head)
    f = q.column(head, table, True if function else None).name
    text = f"{function}({f})" if function else f
    return f"SELECT {text} FROM {table.name}{q.conditions(q.question, table)}"


_WAYS: tuple[tuple[str, Callable[[QuestionReading, Match], str | None]], ...] = (
    (r"Set the (.+?) of the (.+?) whose (.+?) is \"(.+?)\" to (.+)", _set),
    (r"Remove all (.+?) (whose .+)", _remove),
    (r"Add an? (.+?) with (.+)", _add),
    (
        r"For each (.+?) that has at least (\d+) (.+?), what are its (.+?) and the average (.+?) "
        r"of .*",
        _having,
    ),
    (
        r"What are the (.+?) of the (.+?) that have both (.+?) whose (.+?) is \"(.+?)\" and .+ is "
        r"\"(.+?)\".*",
        _both,
    ),
    (r"What are the (.+?) of the (.+?) that have no (.+)", _without),
    (rf"What is the (.+?) of the (.+?) that has the ({_HIGH}|{_LOW}) (.+?)[,?].*", _with_most),
    (rf"Which (.+?) do the ({_HIGH}|{_LOW}) (.+?) have.*", _group_with_most),
    (r"Which (.+?) do no (.+?) have (whose .+)", _no_such),
    (r"What are the (.+?) of the (.+?) whose (.+?) is (above|below) the average.*", _average_of),
    (r"What are the (.+?) of the (.+?) that belong to (.+?) (whose .+)", _belong),
    (r"What are the lowest and the highest (.+?) of all (.+)", _extremes),
    (r"(.+?) for each (.+)", _per_group),
    (r"(.+?) in (ascending|descending) order of (.+)", _sorted),
    (rf"What is the (.+?) of the (.+?) with the ({_HIGH}|{_LOW}) (.+)", _winner),
    (r".*\b(?:different|distinct|unique)\b.*", _different),
    (r"(?:How many|What is the number of|Count the|Find the number of) (.+)", _how_many),
)
_PATTERNS = tuple((re.compile(said, re.IGNORECASE | re.DOTALL), way) for said, way in _WAYS)


def solve(question: str, tables: Sequence[Table]) -> str:
    """Return a query for a question."""
    reading = QuestionReading(question, tables)
    if not reading.tables:
        return "SHOW TABLES"
    for pattern, way in _PATTERNS:
        match = pattern.fullmatch(question)
        found = way(reading, match) if match is not None else None
        if found is not None:
            return found
    return _list(reading)


class SqlQueryScript:
    """Plays SqlQuery from an agent's facts alone.

    Args:
        world: The world; only the facts of the agent are read from it.
    """

    def __init__(self, world: SqlQuery) -> None:
        self.world = world

    def act(self, agent: int) -> Command:
        """Return the next command: look at the schema if it is hidden, ask, submit."""
        facts = self.world.facts(agent)
        unseen = self._unseen(facts)
        if unseen is not None and facts.turns > 2:
            return unseen
        sql = solve(facts.question, facts.tables)
        if facts.answer is not None and facts.query == cut(sql, QUERY):
            return actions.SUBMIT if facts.answer.error is None else actions.SKIP
        return Command("query", {"sql": sql})

    def _unseen(self, facts: SqlQueryFacts) -> Command | None:
        """Return a command that shows an unknown part of the schema, or ``None``."""
        if not facts.tables:
            return actions.TABLES
        hidden = [table for table in facts.tables if not table.columns]
        hidden.sort(key=lambda table: mention(table.name, facts.question), reverse=True)
        return Command("describe", {"table": hidden[0].name}) if hidden else None
