"""What MySQL says of statements that it cannot run."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from piase_gym.errors import PiaseError, need
from piase_gym.worlds.sql_query.levels.dataset import Database


class TranslationError(PiaseError, ValueError):
    """A statement that is not valid in its dialect, or that has no counterpart."""


def reader(what: str) -> Any:
    """Return sqlglot, set to log its warnings only if logging has been set up.

    Raises:
        MissingExtraError: If it is not installed; `what` needs it.
    """
    module = need("sqlglot", what, "sql")
    log = logging.getLogger("sqlglot")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    return module


_FIRST: Final = re.compile(
    r"\s*\(*\s*(select|with|show|desc|describe|explain|use|insert|update|delete)\b", re.I
)
_MISSING: Final = re.compile(
    r"(no such table|no such column|ambiguous column name|no such function): (.+)", re.S
)
_UNEXPECTED: Final = re.compile(r'near "(.+)": syntax error', re.S)
_PLACEHOLDER: Final = re.compile(
    r"(?:\b(?:select|distinct|from|where|and|or|not|on|by|in|like|join|having|between)\s+|[,(=]\s*)"
    r"(?=<\w)|<(?=\|)|^\s*desc(?:ribe)?\s+\S+\s+(?=to\b)",
    re.I,
)
"""What stands before ``<name>`` where a value should be, begins ``<|end|>``, or comes before TO."""
_UNFINISHED: Final = frozenset("and by distinct from group in like not on or order where".split())


def syntax_error(sql: str, error: Exception, dialect: str) -> str:
    """Return MySQL's message about a statement that cannot be read.

    Args:
        sql: The statement.
        error: What sqlglot says of it.
        dialect: The dialect as which it was read.
    """
    if not _FIRST.match(sql):
        return error_near(sql.lstrip(), 1)
    place, quote = _error_place(sql, error), _open_quote(sql)
    if quote is not None:  # sqlglot has read nothing: as if a value stood there
        sqlglot = reader(f"SQL of {dialect}")
        read = f"{sql[:quote]}{'x' if sql[quote] == '`' else 0}"
        try:
            sqlglot.parse(read, read=dialect)
            place = quote
        except (sqlglot.errors.SqlglotError, RecursionError) as earlier:
            place = min(_error_place(read, earlier), quote)
    if found := _PLACEHOLDER.search(sql):
        place = min(place, found.end())
    return error_near(sql[place:], sql.count("\n", 0, place) + 1)


def _error_place(sql: str, error: Exception) -> int:
    """Return where sqlglot says that a statement is wrong, or its end if it ends too early."""
    where = (getattr(error, "errors", None) or [{}])[0]
    token, rest = where.get("highlight") or "", where.get("end_context") or ""
    value = token[-1:].isalnum() or token[-1:] in "'\"`)"
    early = sql.count("(") > sql.count(")") or not value or token.lower() in _UNFINISHED
    if not rest and early:
        return len(sql)
    lines = sql.splitlines(keepends=True)[: (where.get("line") or 1) - 1]
    place = sql.find(f"{token}{rest}", sum(map(len, lines)))
    return len(sql) if place < 0 else place


def _open_quote(sql: str) -> int | None:
    """Return where the quotation mark stands that is never closed, if there is one."""
    mark, start, place = "", None, 0
    while place < len(sql):
        letter = sql[place]
        if mark:
            if letter == "\\" and mark != "`":
                place += 1
            elif letter == mark:
                mark, start = "", None
        elif letter in "'\"`":
            mark, start = letter, place
        place += 1
    return start


def error_near(near: str, line: int) -> str:
    """Return MySQL's message about a syntax error near some text."""
    return (
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL "
        f"server version for the right syntax to use near '{near:.80}' at line {line}"
    )


def mysql_error_text(error: str, sql: str, database: Database) -> str:
    """Return an error of SQLite, such as about a missing name, in MySQL's words.

    Args:
        error: SQLite's message.
        sql: The statement, in MySQL's SQL.
        database: The database of the statement.
    """
    if match := _UNEXPECTED.fullmatch(error):
        place = max(sql.lower().find(match[1].strip("`").lower()), 0)
        return error_near(sql[place:], sql.count("\n", 0, place) + 1)
    if error == "incomplete input":
        return error_near("", sql.count("\n") + 1)
    if error.startswith("misuse of agg"):
        return "Invalid use of group function"
    if error.startswith("user-defined aggregate"):
        return "Subquery returns more than 1 row"
    match = _MISSING.fullmatch(error)
    if match is None:
        return error
    kind, name = match.groups()
    if kind == "no such table":
        return no_table(name, database)
    if kind == "no such function":
        return f"FUNCTION {own_name(database)}.{name} does not exist"
    parts = reader(f"SQL of {database.dialect}").parse(sql, read=database.dialect)
    parsed = next(part for part in parts if part is not None)  # after empty ones
    columns = list(_columns(parsed, database.column_types, ()))
    if kind == "no such column":
        found = next((column for column in columns if not column.known), None)
    else:
        found = next((column for column in columns if column.name.lower() == name.lower()), None)
    shown, clause = (name, "field list") if found is None else found[:2]
    if kind == "no such column":
        return f"Unknown column '{shown}' in '{clause}'"
    return f"Column '{shown}' in {clause} is ambiguous"


class _Column(NamedTuple):
    """A column of a statement: its name as it is written, in which clause, and if there is one."""

    name: str
    clause: str
    known: bool


_CLAUSES: Final = {
    "expressions": "field list", "where": "where clause", "joins": "on clause",
    "group": "group statement", "having": "having clause", "order": "order clause",
}  # fmt: skip
"""The clauses of a query, in the order in which MySQL looks for columns, and what it calls them."""
_WITH_ALIASES: Final = ("group", "having", "order")
_Scope = dict[str, Collection[str] | None]
"""The columns of each table of a query, where they are known; names are in lower case."""


def _columns(
    query: Any, types: Mapping[str, Collection[str]], around: tuple[_Scope, ...]
) -> Iterator[_Column]:
    """Yield the columns of a query, and of the queries in it, as MySQL looks for them."""
    exp: Any = importlib.import_module("sqlglot.expressions")
    if isinstance(query, exp.Subquery | exp.SetOperation | exp.Insert):
        for inner in (query.this, query.args.get("expression")):
            if isinstance(inner, exp.Query):
                yield from _columns(inner, types, around)
        return
    for known in query.args["with_"].expressions if query.args.get("with_") else ():
        yield from _columns(known.this, types, around)
    scope: _Scope = {}
    changed = query if isinstance(query, exp.Update | exp.Delete) else None
    for source in (changed, query.args.get("from_"), *(query.args.get("joins") or ())):
        table = None if source is None else source.this
        if isinstance(table, exp.Table):
            scope[table.alias_or_name.lower()] = types.get(table.name.lower())
        elif isinstance(table, exp.Subquery):
            yield from _columns(table.this, types, around)
            inner = table.this.unnest()
            scope[table.alias_or_name.lower()] = (
                None if inner.is_star else [name.lower() for name in inner.named_selects]
            )
    scopes = (*around, scope)
    aliases = {value.alias.lower() for value in getattr(query, "selects", ()) if value.alias}
    for clause, called in _CLAUSES.items():
        parts = query.args.get(clause) or []
        if clause == "joins":  # the last one first
            parts = [join.args["on"] for join in reversed(parts) if join.args.get("on")]
        for part in parts if isinstance(parts, list) else [parts]:
            for node in part.walk(bfs=False, prune=lambda node: isinstance(node, exp.Query)):
                if isinstance(node, exp.Query):
                    yield from _columns(node, types, scopes)
                elif isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                    known = _is_known(node, scopes) or (
                        clause in _WITH_ALIASES and not node.table and node.name.lower() in aliases
                    )
                    if _before_query(node, exp):
                        called = _IN  # which is said of the rest of the clause, too
                    yield _Column(".".join(part.name for part in node.parts), called, known)


def _is_known(column: Any, scopes: tuple[_Scope, ...]) -> bool:
    """Return whether a query, or one around it, has a column, as far as that is known."""
    table, name = column.table.lower(), column.name.lower()
    if table:
        found = [scope[table] for scope in scopes if table in scope]
    else:
        found = [names for scope in scopes for names in scope.values()]
    return any(names is None or name in names for names in found)


_IN: Final = "IN/ALL/ANY subquery"


def _before_query(column: Any, exp: Any) -> bool:
    """Return whether a column is compared with all rows of a query."""
    node = column
    while isinstance(node.parent, exp.Paren | exp.Tuple | exp.Func | exp.Binary):
        if isinstance(node.parent, exp.Predicate):
            break
        node = node.parent
    test = node.parent
    if isinstance(test, exp.In):
        return test.this is node and test.args.get("query") is not None
    return isinstance(getattr(test, "expression", None), exp.All | exp.Any) and test.this is node


def own_name(database: Database) -> str:
    """Return the name of a database as InterCode's server has it, in lower case."""
    return database.name.lower()


def no_table(name: str, database: Database) -> str:
    """Say that there is no such table; names of tables are in lower case on that server too."""
    return f"Table '{own_name(database)}.{name.lower()}' doesn't exist"
