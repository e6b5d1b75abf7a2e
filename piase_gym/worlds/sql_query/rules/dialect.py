"""MySQL's SQL, which InterCode's agents write, as SQLite's, for the databases made from its dump.

sqlglot reads it, and `sqlite_writer` writes it. This module adds what depends on the schema or has
no counterpart:

- ``SHOW TABLES``, ``SHOW COLUMNS``, ``DESCRIBE``, ``USE`` and ``information_schema`` (`catalogue`);
- text that is compared with a number is read as a number, as in MySQL;
- forms of queries that SQLite does not have, and the order of groups (`forms`);
- the database has its own name, and the time stands still.

What MySQL refuses is told in its words (`mysql_syntax`, `mysql_errors`). Some of it is run: columns
that are not grouped, ``show`` as a name, an alias in ``WHERE``, a table that is a query without a
name.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from typing import Any, Final

from piase_gym.worlds.sql_query.levels.dataset import Database
from piase_gym.worlds.sql_query.rules.catalogue import COLUMNS, INFORMATION_SCHEMA, TABLES
from piase_gym.worlds.sql_query.rules.collation import COLLATION, number
from piase_gym.worlds.sql_query.rules.forms import rewrite
from piase_gym.worlds.sql_query.rules.mysql_errors import (
    TranslationError,
    no_table,
    own_name,
    reader,
    syntax_error,
)
from piase_gym.worlds.sql_query.rules.mysql_syntax import refusal
from piase_gym.worlds.sql_query.rules.sqlite_writer import sqlite_dialect, write
from piase_gym.worlds.sql_query.rules.tokens import quoted
from piase_gym.worlds.sql_query.rules.worker import NOW

TEXT_TYPES: Final = ("char", "varchar", "text", "tinytext", "mediumtext", "longtext")
NUMBER_TYPES: Final = (
    "tinyint", "smallint", "mediumint", "int", "integer", "bigint", "decimal", "float", "double",
)  # fmt: skip
NOTHING: Final = ""
"""The translation of a statement that returns nothing, and need not be run."""
_RENAMED: Final = {
    "MID": "MYSQL_SUBSTR", "ORD": "ASCII", "JSON_ARRAYAGG": "JSON_GROUP_ARRAY",
    "JSON_OBJECTAGG": "JSON_GROUP_OBJECT",
}  # fmt: skip
_SHOW: Final = re.compile(r"(\s*show\s+(?:full\s+)?)(?:fields|columns)\s+(?:from|in)\b", re.I)


@functools.lru_cache(maxsize=8192)
def translate(sql: str, database: Database) -> str:
    """Return one statement, in the dialect of a database, in SQLite's.

    Raises:
        TranslationError: If it cannot be read, or is several statements.
        MissingExtraError: If it must be translated, and sqlglot is not installed.
    """
    if database.dialect == "sqlite":
        return sql
    known = database.translated.get(sql)
    if known is not None:
        return known
    sqlglot = reader(f"SQL of {database.dialect}")
    try:
        shown = _SHOW.sub(r"\1COLUMNS FROM", sql, count=1) if _SHOW.match(sql) else sql
        found = [part for part in sqlglot.parse(shown, read=database.dialect) if part is not None]
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise TranslationError(syntax_error(sql, error, database.dialect)) from None
    found = [part for part in found if type(part).__name__ != "Semicolon"]
    if len(found) != 1:
        raise TranslationError(f"one statement at a time, not {len(found)}")
    refused = refusal(found[0], shown)
    if refused is not None:
        raise TranslationError(refused)
    return _translated(found[0], database)


def tidied(sql: str) -> str:
    """Return a statement without trailing spaces and semicolons."""
    return sql.rstrip(" \t\r\n;")


def _translated(statement: Any, database: Database) -> str:
    """Return one parsed statement in SQLite's SQL."""
    kind, table, wanted = type(statement).__name__, "", "'%'"
    if kind == "Use":
        _require_database(statement.this.name, database)
        return NOTHING
    if kind == "Show":
        _require_database(getattr(statement.args.get("db"), "name", ""), database)
        wanted = quoted(getattr(statement.args.get("like"), "name", "%"))
        if statement.name == "TABLES":
            kind = ", 'BASE TABLE' AS `Table_type`" if statement.args.get("full") else ""
            return _filtered(TABLES.format(own_name(database), kind, wanted), statement)
        if statement.name == "DATABASES":
            return _filtered(f"SELECT {quoted(own_name(database))} AS `Database`", statement)
        if statement.name != "COLUMNS":
            raise TranslationError(f"not supported: SHOW {statement.name}")
        table = statement.args["target"].name
    elif kind == "Describe" and type(statement.this).__name__ == "Table":
        _require_database(statement.this.db, database)
        table = statement.this.name
    if table:
        if table.lower() not in database.column_types:
            raise TranslationError(no_table(table, database))
        return _filtered(COLUMNS.format(quoted(table), wanted), statement)
    if kind in ("Command", "Describe", "Set"):
        raise TranslationError(f"not supported: {statement.sql(database.dialect):.60}")
    _adapt(statement, database)
    return write(statement)


def _filtered(query: str, statement: Any) -> str:
    """Return the rows of a query that fulfil the ``WHERE`` of a ``SHOW``, if it has one."""
    where = statement.args.get("where")
    if where is None:
        return query
    return f"SELECT * FROM ({query}) {write(where)}"


def _require_database(name: str, database: Database) -> None:
    """Refuse other databases: an episode has one."""
    if name and name.lower() != database.name.lower():
        raise TranslationError(f"Unknown database {name!r:.80}")


def _adapt(statement: Any, database: Database) -> None:
    """Change the parts of a statement that sqlglot leaves as they are in MySQL."""
    exp: Any = importlib.import_module("sqlglot.expressions")
    tables = list(statement.find_all(exp.Table))
    for table in tables:
        if table.db.lower() == "information_schema":
            rows = INFORMATION_SCHEMA.get(table.name.lower())
            if rows is None:
                raise TranslationError(f"not supported: information_schema.{table.name:.60}")
            rows = rows.format(quoted(own_name(database)), COLLATION)
            query = exp.maybe_parse(rows, dialect=sqlite_dialect())
            table.replace(query.subquery(table.alias_or_name))
        elif not table.db and table.name.lower().startswith(("sqlite_", "pragma_")):
            raise TranslationError(no_table(table.name, database))
        elif table.db:
            _require_database(table.db, database)
            table.set("db", None)
            for column in statement.find_all(exp.Column):
                column.set("db", None)
    for kind, value in (
        (exp.CurrentSchema, own_name(database)),
        (exp.CurrentDate, NOW.partition(" ")[0]),
        (exp.CurrentTime, NOW.partition(" ")[2]),
        (exp.CurrentTimestamp, NOW),
    ):
        for asked in list(statement.find_all(kind)):
            asked.replace(exp.Literal.string(value))
    for asked in list(statement.find_all(exp.Anonymous)):
        if asked.name.upper() in ("NOW", "SYSDATE"):
            asked.replace(exp.Literal.string(NOW))
        elif asked.name.upper() == "UNIX_TIMESTAMP" and not asked.expressions:
            asked.set("expressions", [exp.Literal.string(NOW)])
        elif asked.name.upper() in ("ADDDATE", "SUBDATE") and len(asked.expressions) == 2:
            date, time = asked.expressions
            days = exp.Interval(this=time, unit=exp.var("DAY"))
            time = time if isinstance(time, exp.Interval) else days
            moved = exp.Add if asked.name.upper() == "ADDDATE" else exp.Sub
            asked.replace(moved(this=date, expression=time))
        elif asked.name.upper() in _RENAMED:
            asked.set("this", _RENAMED[asked.name.upper()])
    for union in statement.find_all(exp.SetOperation):
        for side in (union.this, union.expression):
            if isinstance(side, exp.Subquery):  # SQLite allows no brackets there
                plain = side.this.args.get("limit") is None and side.this.args.get("order") is None
                inside = side.this
                side.replace(inside if plain else exp.select("*").from_(side.copy()))
    for inside in statement.find_all(exp.In):
        query = inside.args.get("query")
        if query is not None and query.this.args.get("limit"):
            raise TranslationError(
                "This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'"
            )
    rewrite(statement, database.column_types, database.indexed)
    for counted in statement.find_all(exp.Count):
        values = counted.this.expressions if isinstance(counted.this, exp.Distinct) else []
        if len(values) > 1:
            joined = exp.func("CONCAT", *[exp.func("QUOTE", value) for value in values])
            empty = exp.or_(*[value.copy().is_(exp.null()) for value in values])
            counted.this.set("expressions", [exp.case().when(empty, exp.null()).else_(joined)])
    for node, other in _read_as_numbers(statement, tables, database):
        node.replace(other)


def _read_as_numbers(
    statement: Any, tables: list[Any], database: Database
) -> Iterator[tuple[Any, Any]]:
    """Yield the texts that are compared with numbers, and the numbers that they are read as.

    These are columns that are compared with numbers, and literals that are compared with columns.
    """
    exp: Any = importlib.import_module("sqlglot.expressions")
    kinds: dict[str, dict[str, str]] = {}
    for table in tables:
        kinds[table.alias_or_name.lower()] = database.column_types.get(table.name.lower(), {})

    numbers = exp.Neg | exp.Binary | exp.Avg | exp.Sum | exp.Count | exp.Round | exp.Abs

    def is_column(node: Any, types: tuple[str, ...]) -> bool:
        if not isinstance(node, exp.Column):
            return False
        places = [kinds.get(node.table.lower(), {})] if node.table else list(kinds.values())
        found = {place[node.name.lower()] for place in places if node.name.lower() in place}
        return bool(found) and found <= set(types)

    def is_number(node: Any) -> bool:
        if isinstance(node, exp.Literal):
            return not node.is_string
        if isinstance(node, exp.Subquery) and len(node.selects) == 1:
            return is_number(node.selects[0].unalias())
        if isinstance(node, exp.Max | exp.Min | exp.Paren):
            return is_number(node.this)
        if isinstance(node, exp.Cast):
            return bool(node.is_type(*exp.DataType.NUMERIC_TYPES))
        return isinstance(node, numbers) and not isinstance(node, exp.Predicate | exp.Connector)

    compared = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
    for node in list(statement.find_all(*compared, exp.Between, exp.In)):
        if isinstance(node, compared):
            pairs = [(node.this, [node.expression]), (node.expression, [node.this])]
        elif isinstance(node, exp.Between):
            pairs = [(node.this, [node.args["low"], node.args["high"]])]
        else:
            pairs = [(node.this, node.expressions)]
        for column, others in pairs:
            if is_column(column, TEXT_TYPES) and others and all(map(is_number, others)):
                yield column, exp.cast(column.copy(), "double")
            elif is_column(column, NUMBER_TYPES):
                for other in others:
                    if isinstance(other, exp.Literal) and other.is_string:
                        yield other, exp.Literal.number(number(other.name))
