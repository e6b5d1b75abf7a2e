"""SqlQuery's canonical text: facts as prose, and facts read back from it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from piase_gym.core.jsonable import jsonable
from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.text_encoding import one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.sql_query.config import MAX_MESSAGE, SqlQueryConfig, SqlQueryEnvelope
from piase_gym.worlds.sql_query.facts import Answer, SqlQueryFacts
from piase_gym.worlds.sql_query.levels.dataset import Column, Reference, Table
from piase_gym.worlds.sql_query.levels.datasets import LONGEST_NAME
from piase_gym.worlds.sql_query.rules.engine import Result
from piase_gym.worlds.texts.letters import closing_lines, native_text, read_letters
from piase_gym.worlds.texts.lines import LineReader
from piase_gym.worlds.texts.wording import counted

ROWS, COLUMNS, CELL, QUESTION, QUERY, ERROR = 5, 8, 40, 1000, 60, 200
"""How many rows and columns of a result are shown, and how many characters of a value, a question,
a query (which the agent has written itself) and an error."""


NATIVE_ROWS = 100
"""How many rows are shown with ``wording="native"``; InterCode's environment shows all."""
BLANK = "\\u{20}"
"""How a blank in the name of a column is written."""


def cut(text: str, most: int) -> str:
    """Return a text, cut to at most `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def cell(value: object) -> str:
    """Return a value as it is shown; floats are rounded to four decimals."""
    if isinstance(value, float):
        value = round(value, 4)
    return "NULL" if value is None else cut(str(value), CELL)


def answer_of(result: Result) -> Answer:
    """Return what is shown of a result."""
    return Answer(
        tuple(cut(name, CELL) for name in result.columns[:COLUMNS]),
        tuple(tuple(map(cell, row[:COLUMNS])) for row in result.rows[:ROWS]),
        len(result.columns),
        len(result.rows),
        result.changed,
        None if result.error is None else cut(" ".join(result.error.split()), ERROR),
        result.reason,
    )


# -- writing ----------------------------------------------------------------------------------


def text_of(facts: SqlQueryFacts, alone: bool = False) -> str:
    """Write the facts as prose, each of them once.

    Args:
        facts: The facts.
        alone: Whether there is only one agent; its name is then in the prompt, not in its texts.
    """
    lines = [] if facts.feedback is None else [f"Told: {one_line(facts.feedback)}"]
    if facts.query is not None:
        lines.append(f"Query: {one_line(facts.query)}")
    if facts.answer is not None:
        lines += _answer_lines(facts.answer)
    head = "" if alone else f"You are {facts.agent}. "
    lines.append(f"{head}Question: {one_line(facts.question)}")
    task = ", to be changed" * facts.writes
    lines.append(f"Database {_name(facts.database)}{task}. Turns left: {facts.turns}.")
    lines += map(table_line, facts.tables)
    return "\n".join([*lines, *closing_lines(facts)])


def _name(name: str, marks: str = ",;:|()") -> str:
    """Write a name; characters that have a meaning in a line are escaped."""
    return re.sub(f"[{marks}]", lambda match: f"\\u{{{ord(match[0]):x}}}", one_line(name))


def _cell(value: str) -> str:
    """Write a value of a result."""
    return _name(value, "|")


@functools.lru_cache(maxsize=4096)
def table_line(table: Table) -> str:
    """Write a table."""
    if not table.columns:
        return f"- {_name(table.name)}."
    links = {link.column: link for link in table.references}
    return f"- {_name(table.name)}: {', '.join(_column(c, links) for c in table.columns)}."


def _column(column: Column, links: dict[str, Reference]) -> str:
    """Write a column: ``club int (key; = club.id)``, or in short ``id`` and ``club_id (=)``.

    A column without a type holds text, with two exceptions: ``id`` alone is the key, and
    ``club_id (=)`` stands for ``club_id int (= club.id)``.
    """
    link = links.get(column.name)
    if column == ID and not link:
        return "id"
    if link and column == Column(f"{link.table}_id", "INTEGER", False) and link.other == "id":
        return f"{_name(column.name).replace(' ', BLANK)} (=)"
    marks = ["key"] * column.key
    marks += [f"= {_name(link.table, _DOTTED)}.{_name(link.other, _DOTTED)}"] if link else []
    if column.name == "id" and column.type == "TEXT" and not marks:
        return "id TEXT"
    text = f" ({'; '.join(marks)})" if marks else ""
    kind = _SHORT.get(column.type)
    if kind is None:
        kind = _name(column.type, ",;:|" if column.type[:1] != "(" else ",;:|(")
        if not kind or kind in _SHORT.values() or kind[0] == "'":
            kind = f"'{kind}'"
    return f"{_name(column.name).replace(' ', BLANK)}{f' {kind}' * bool(kind)}{text}"


ID = Column("id", "INTEGER", True)
"""The column that is written by its name alone."""
_SHORT = {"TEXT": "", "INTEGER": "int", "REAL": "real"}
"""How the most frequent types are written; another type with such a name is put in quotes."""
_LONG = {shown: kind for kind, shown in _SHORT.items()}
_DOTTED = ",;:|()."


def _answer_lines(answer: Answer) -> Iterator[str]:
    """Write what came of a query."""
    if answer.error is not None:
        yield f"Failed ({answer.reason}): {one_line(answer.error)}"
        return
    changed = f"{answer.changed} changed, " if answer.changed else ""
    shown = f": {' | '.join(map(_cell, answer.columns))}" if answer.columns else ""
    cut_off = answer.width != len(answer.columns)
    columns = f", {counted(answer.width, 'column')}" if cut_off else ""
    yield f"Result: {changed}{counted(answer.height, 'row')}{columns}{shown}"
    for row in answer.rows:
        yield f"| {' | '.join(map(_cell, row))}"


def outcome_of(facts: SqlQueryFacts) -> dict[str, str]:
    """Return, in short, what came of the last query, under the beginning of the query."""
    answer = facts.answer
    if facts.query is None or answer is None:
        return {}
    if answer.error is not None:
        return {facts.query: f"failed ({answer.reason})"}
    return {facts.query: f"{counted(answer.height, 'row')} of {', '.join(answer.columns)}"}


# -- reading ----------------------------------------------------------------------------------

_HEAD = re.compile(r"(?:You are ([\w.-]+)\. )?Question: (.*)")
_TASK = re.compile(r"Database ([^,]+)(, to be changed)?\. Turns left: (0|[1-9]\d*)\.")
_TABLE = re.compile(r"- ([^:]+?)(?:: (.+))?\.")
_COLUMN = re.compile(r"([^ ]+)(?: ([^(].*?))?(?: \((key.*|= .+|=)\))?")
_MARKS = re.compile(r"(key)?(?:; )?(?:= ([^.]+)\.([^.]+))?")
_QUERY = re.compile(r"Query: (.*)")
_FAILED = re.compile(r"Failed \((\w+)\): (.*)")
_RESULT = re.compile(r"Result: (?:(\d+) changed, )?(\d+) rows?(?:, (\d+) columns?)?(?:: (.*))?")
_ROW = re.compile(r"\| (.*)")
_TOLD = re.compile(r"Told: (.*)")


def parse(text: str, config: SqlQueryConfig) -> SqlQueryFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes.
    """
    names = config.names(config.fixed_envelope().agents)
    lines = LineReader("SqlQuery", text)
    feedback, query, answer = lines.free(_TOLD), lines.free(_QUERY), _read_answer(lines)
    head = lines.need(_HEAD)
    lines.require((head[1] is None) == (len(names) == 1), "several are told who it is for")
    task = lines.need(_TASK)
    facts = SqlQueryFacts(
        agent=lines.name(head[1] or names[0], {name: name for name in names}),
        question=unescape(head[2]),
        database=unescape(task[1]),
        writes=bool(task[2]),
        turns=int(task[3]),
        tables=tuple(_read_table(match, lines) for match in lines.every(_TABLE)),
        query=query,
        answer=answer,
        feedback=feedback,
        messages=tuple(read_letters(lines, names)),
        hint=lines.hint(),
    )
    lines.require_end()
    return facts


def _read_table(match: re.Match[str], lines: LineReader) -> Table:
    """Read a line about a table."""
    columns, links = [], []
    for part in match[2].split(", ") if match[2] else ():
        found = _COLUMN.fullmatch(part)
        if part == "id":
            columns.append(ID)
            continue
        if found and found[3] == "=":
            name = unescape(found[1])
            lines.require(not found[2] and name.endswith("_id"), "this refers to nothing")
            columns.append(Column(name, "INTEGER", False))
            links.append(Reference(name, name.removesuffix("_id"), "id"))
            continue
        marks = found and _MARKS.fullmatch(found[3] or "")
        if found is None or marks is None:
            raise lines.error(part)
        columns.append(Column(unescape(found[1]), _type(found[2] or ""), bool(marks[1])))
        if marks[2]:
            links.append(Reference(columns[-1].name, unescape(marks[2]), unescape(marks[3])))
    return Table(unescape(match[1]), tuple(columns), tuple(links))


def _type(shown: str) -> str:
    """Return the type that a column shows."""
    if shown in _LONG:
        return _LONG[shown]
    return unescape(shown[1:-1] if shown[:1] == "'" else shown)


def _read_answer(lines: LineReader) -> Answer | None:
    """Read what came of a query."""
    failed = lines.next(_FAILED)
    if failed is not None:
        return Answer(error=unescape(failed[2]), reason=failed[1])
    found = lines.next(_RESULT)
    if found is None:
        return None
    rows = tuple(_cells(match[1]) for match in lines.every(_ROW))
    columns = _cells(found[4]) if found[4] is not None else ()
    width = int(found[3]) if found[3] else len(columns)
    return Answer(columns, rows, width, int(found[2]), int(found[1] or 0))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(unescape(part) for part in line.split(" | "))


# -- sizes, and other words ---------------------------------------------------------------------


def longest_text(envelope: SqlQueryEnvelope) -> int:
    """Return an upper bound for the length of a text; one character may be escaped as ten."""
    names = envelope.tables * (1 + envelope.columns) * (10 * 4 * LONGEST_NAME + 30)
    shown = 10 * (QUESTION + QUERY + ERROR) + (ROWS + 1) * COLUMNS * (10 * CELL + 3)
    letters = envelope.agents * (120 + 10 * MAX_MESSAGE)
    return 12_000 + names + shown + letters + HINT_TEXT


def native_of(facts: SqlQueryFacts, result: Result | None) -> str:
    """Return what InterCode's environment shows: the question, then rows or an error."""
    if result is None:
        shown = facts.question
    elif result.error is not None:
        shown = f"Error executing query: {result.error}"
    elif not result.columns:
        shown = "None"  # a statement that returns nothing, not even no rows
    else:
        shown = cut(str(list(result.rows[:NATIVE_ROWS])), 4000)
    lines = [shown, *([facts.feedback] if facts.feedback else [])]
    return native_text(lines, facts.messages, facts.hint)


PERCEPTION_TYPES = {
    "question": "string",
    "database": "string",
    "writes": "boolean",
    "turns_left": "integer",
    "schema": "list[object]",
    "query": "string | None",
    "result": "object | None",
    "feedback": "string | None",
}
"""The types of the perceptions that `surroundings_of` returns."""


def surroundings_of(facts: SqlQueryFacts) -> Surroundings:
    """Return facts in the words of the PiaSE documents."""
    perceptions = {
        "question": facts.question,
        "database": facts.database,
        "writes": facts.writes,
        "turns_left": facts.turns,
        "schema": [
            {"table": table.name, "columns": table.columns, "references": table.references}
            for table in facts.tables
        ],
        "query": facts.query,
        "result": facts.answer,
        "feedback": facts.feedback,
    }
    things = tuple(
        Thing(table.name, "table", {"columns": [column.name for column in table.columns]})
        for table in facts.tables
    )
    return Surroundings(objects=things, perceptions=jsonable(perceptions))
