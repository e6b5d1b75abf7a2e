"""MySQL's SQL, which InterCode's agents write, as SQLite's, for the databases made from its dump.

sqlglot does the translation. This module adds what depends on the schema or has no counterpart:

- ``SHOW TABLES``, ``SHOW COLUMNS``, ``DESCRIBE``, ``USE`` and ``information_schema``;
- text that is compared with a number is read as a number, as in MySQL;
- tied rows of a grouped query are in the order of their groups (`forms` has more of such changes);
- functions of texts and dates are those of `collation`, where SQLite's differ or are missing;
- the database has its own name, and the time stands still;
- errors about missing names are in MySQL's words (`mysql_error_text`);
- names are quoted with backticks, which SQLite never takes for strings.

Most of what MySQL refuses and SQLite does not is run: columns that are not grouped, names that are
reserved, an alias in ``WHERE``. ``LIMIT`` in the query of an ``IN`` is refused, as in MySQL.
"""

from __future__ import annotations

import functools
import importlib
import logging
import re
from collections.abc import Iterator
from typing import Any, Final

from piase_gym.errors import PiaseError, need
from piase_gym.worlds.sql_query.levels.dataset import Database
from piase_gym.worlds.sql_query.rules.collation import COLLATION, UNITS
from piase_gym.worlds.sql_query.rules.forms import rewrite
from piase_gym.worlds.sql_query.rules.tokens import quoted
from piase_gym.worlds.sql_query.rules.worker import NOW

TEXT_TYPES: Final = ("char", "varchar", "text", "tinytext", "mediumtext", "longtext")
_COLUMNS: Final = """SELECT c.name AS Field, CASE lower(c.type) WHEN 'integer' THEN 'int' ELSE
 lower(c.type) END AS Type, CASE WHEN c.`notnull` THEN 'NO' ELSE 'YES' END AS `Null`, CASE
 WHEN c.pk THEN 'PRI' WHEN c.name IN (SELECT i.name FROM pragma_index_list({0}) AS l,
 pragma_index_info(l.name) AS i WHERE l.`unique`) THEN 'UNI' WHEN c.name IN (SELECT `from`
 FROM pragma_foreign_key_list({0})) THEN 'MUL' ELSE '' END AS `Key`, nullif(trim(c.dflt_value,
 ''''), 'NULL') AS `Default`, CASE lower(c.type) WHEN 'integer' THEN 'auto_increment' ELSE '' END
 AS Extra FROM pragma_table_info({0}) AS c WHERE mysql_like(c.name, {1})"""
_TABLES: Final = """SELECT name AS `Tables_in_{0}`{1} FROM sqlite_master WHERE type = 'table'
 AND mysql_like(name, {2}) ORDER BY 1"""
_CATALOGUE: Final = {
    "tables": """SELECT 'def' AS TABLE_CATALOG, {0} COLLATE {1} AS TABLE_SCHEMA, name COLLATE {1}
 AS TABLE_NAME, 'BASE TABLE' AS TABLE_TYPE, 'InnoDB' AS ENGINE FROM sqlite_master
 WHERE type = 'table'""",
    "columns": """SELECT 'def' AS TABLE_CATALOG, {0} COLLATE {1} AS TABLE_SCHEMA, m.name COLLATE {1}
 AS TABLE_NAME, c.name COLLATE {1} AS COLUMN_NAME, c.cid + 1 AS ORDINAL_POSITION, c.dflt_value
 AS COLUMN_DEFAULT, CASE WHEN c.`notnull` THEN 'NO' ELSE 'YES' END AS IS_NULLABLE,
 replace(substr(lower(c.type) || '(', 1, instr(c.type || '(', '(') - 1), 'integer', 'int')
 AS DATA_TYPE, replace(lower(c.type), 'integer', 'int') AS COLUMN_TYPE, CASE WHEN c.pk THEN 'PRI'
 ELSE '' END AS COLUMN_KEY FROM sqlite_master AS m, pragma_table_info(m.name) AS c
 WHERE m.type = 'table'""",
    "schemata": "SELECT 'def' AS CATALOG_NAME, {0} COLLATE {1} AS SCHEMA_NAME",
}
"""The tables of ``information_schema``, for one database."""


NOTHING: Final = ""
"""The translation of a statement that returns nothing, and need not be run."""
MOST_REPEATED: Final = 10_000
"""The longest expression, in characters, that a translation repeats."""
_RENAMED: Final = {"MID": "SUBSTR", "ORD": "ASCII"}
_SHOW: Final = re.compile(r"(\s*show\s+(?:full\s+)?)(?:fields|columns)\s+(?:from|in)\b", re.I)


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
        raise TranslationError(_syntax_error(sql, error)) from None
    found = [part for part in found if type(part).__name__ != "Semicolon"]
    if len(found) != 1:
        raise TranslationError(f"one statement at a time, not {len(found)}")
    return _translated(found[0], database)


_FIRST: Final = re.compile(
    r"\s*\(*\s*(select|with|show|desc|describe|explain|use|insert|update|delete)\b", re.I
)
_MISSING: Final = re.compile(
    r"(no such table|no such column|ambiguous column name|no such function): (.+)", re.S
)
_UNEXPECTED: Final = re.compile(r'near "(.+)": syntax error', re.S)
_CLAUSES: Final = {
    "Where": "where clause", "Join": "on clause", "Group": "group statement",
    "Having": "having clause", "Order": "order clause",
}  # fmt: skip


def _syntax_error(sql: str, error: Exception) -> str:
    """Return MySQL's message about a statement that cannot be read."""
    where = (getattr(error, "errors", None) or [{}])[0]
    near = f"{where.get('highlight') or ''}{where.get('end_context') or ''}"
    line = where.get("line")
    if not _FIRST.match(sql):
        near, line = sql.lstrip(), 1
    return _told_near(near, line or 1)


def _told_near(near: str, line: int) -> str:
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
        return _told_near(sql[place:], sql.count("\n", 0, place) + 1)
    match = _MISSING.fullmatch(error)
    if match is None:
        return "Invalid use of group function" if error.startswith("misuse of agg") else error
    kind, name = match.groups()
    if kind == "no such table":
        return _no_table(name, database)
    if kind == "no such function":
        return f"FUNCTION {_named(database)}.{name} does not exist"
    clause = "field list"
    parsed = reader(f"SQL of {database.dialect}").parse_one(sql, read=database.dialect)
    for column in parsed.find_all(importlib.import_module("sqlglot.expressions").Column):
        if ".".join(part.name for part in column.parts).lower() == name.lower():
            above = column.parent
            while above is not None and type(above).__name__ not in (*_CLAUSES, "Select"):
                above = above.parent
            clause = _CLAUSES.get(type(above).__name__, clause)
            break
    if kind == "no such column":
        return f"Unknown column '{name}' in '{clause}'"
    return f"Column '{name}' in {clause} is ambiguous"


def _named(database: Database) -> str:
    """Return the name of a database as InterCode's server has it, in lower case."""
    return database.name.lower()


def _no_table(name: str, database: Database) -> str:
    """Say that there is no such table; names of tables are in lower case on that server too."""
    return f"Table '{_named(database)}.{name.lower()}' doesn't exist"


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
            return _filtered(_TABLES.format(_named(database), kind, wanted), statement)
        if statement.name == "DATABASES":
            return _filtered(f"SELECT {quoted(_named(database))} AS `Database`", statement)
        if statement.name != "COLUMNS":
            raise TranslationError(f"not supported: SHOW {statement.name}")
        table = statement.args["target"].name
    elif kind == "Describe" and type(statement.this).__name__ == "Table":
        _require_database(statement.this.db, database)
        table = statement.this.name
    if table:
        if table.lower() not in _types(database):
            raise TranslationError(_no_table(table, database))
        return _filtered(_COLUMNS.format(quoted(table), wanted), statement)
    if kind in ("Command", "Describe", "Set"):
        raise TranslationError(f"not supported: {statement.sql(database.dialect):.60}")
    _adapt(statement, database)
    return _written(statement)


def _written(part: Any) -> str:
    """Return a part of a statement in SQLite's SQL."""
    try:
        return str(_port()().generate(part, identify=True))
    except (ValueError, RecursionError) as error:
        raise TranslationError(f"not supported: {error}") from None


def _filtered(query: str, statement: Any) -> str:
    """Return the rows of a query that fulfil the ``WHERE`` of a ``SHOW``, if it has one."""
    where = statement.args.get("where")
    if where is None:
        return query
    return f"SELECT * FROM ({query}) {_written(where)}"


def _require_database(name: str, database: Database) -> None:
    """Refuse other databases: an episode has one."""
    if name and name.lower() != database.name.lower():
        raise TranslationError(f"Unknown database {name!r:.80}")


@functools.lru_cache(maxsize=64)
def _types(database: Database) -> dict[str, dict[str, str]]:
    """Return the type of each column of each table, without its size; names are lower case."""
    return {
        table.name.lower(): {
            column.name.lower(): column.type.lower().partition("(")[0] for column in table.columns
        }
        for table in database.schema
    }


def _adapt(statement: Any, database: Database) -> None:
    """Change the parts of a statement that sqlglot leaves as they are in MySQL."""
    exp: Any = importlib.import_module("sqlglot.expressions")
    tables = list(statement.find_all(exp.Table))
    for table in tables:
        if table.db.lower() == "information_schema":
            rows = _CATALOGUE.get(table.name.lower())
            if rows is None:
                raise TranslationError(f"not supported: information_schema.{table.name:.60}")
            rows = rows.format(quoted(_named(database)), COLLATION)
            query = exp.maybe_parse(rows, dialect=_port())
            table.replace(query.subquery(table.alias_or_name))
        elif table.db:
            _require_database(table.db, database)
            table.set("db", None)
            for column in statement.find_all(exp.Column):
                column.set("db", None)
    for kind, value in (
        (exp.CurrentSchema, _named(database)),
        (exp.CurrentDate, NOW.partition(" ")[0]),
        (exp.CurrentTime, NOW.partition(" ")[2]),
        (exp.CurrentTimestamp, NOW),
    ):
        for asked in list(statement.find_all(kind)):
            asked.replace(exp.Literal.string(value))
    for asked in list(statement.find_all(exp.Anonymous)):
        if asked.name.upper() in ("NOW", "SYSDATE"):
            asked.replace(exp.Literal.string(NOW))
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
    rewrite(statement, _types(database))
    for counted in statement.find_all(exp.Count):
        values = counted.this.expressions if isinstance(counted.this, exp.Distinct) else []
        if len(values) > 1:
            joined = exp.func("CONCAT", *[exp.func("QUOTE", value) for value in values])
            empty = exp.or_(*[value.copy().is_(exp.null()) for value in values])
            counted.this.set("expressions", [exp.case().when(empty, exp.null()).else_(joined)])
    for column in _texts_as_numbers(statement, tables, database):
        column.replace(exp.cast(column.copy(), "double"))


def _texts_as_numbers(statement: Any, tables: list[Any], database: Database) -> Iterator[Any]:
    """Yield the columns of text that are compared with numbers."""
    exp: Any = importlib.import_module("sqlglot.expressions")
    kinds: dict[str, dict[str, str]] = {}
    for table in tables:
        kinds[table.alias_or_name.lower()] = _types(database).get(table.name.lower(), {})

    numbers = exp.Neg | exp.Binary | exp.Avg | exp.Sum | exp.Count | exp.Round | exp.Abs

    def is_text(node: Any) -> bool:
        if not isinstance(node, exp.Column):
            return False
        places = [kinds.get(node.table.lower(), {})] if node.table else list(kinds.values())
        found = {place[node.name.lower()] for place in places if node.name.lower() in place}
        return bool(found) and found <= set(TEXT_TYPES)

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
            if is_text(column) and others and all(is_number(other) for other in others):
                yield column


def _like(generator: Any, node: Any, mark: Any = None) -> str:
    """Write ``LIKE``, which ignores accents in MySQL."""
    if type(mark).__name__ == "Literal" and len(mark.name) > 1:
        raise ValueError("ESCAPE with several characters")
    found = str(generator.func("MYSQL_LIKE", node.this, node.expression, mark))
    return f"NOT {found}" if node.args.get("negate") else found


def _moved(generator: Any, node: Any, sign: str) -> str:
    """Write a sum, or the date some time after or before another."""
    count, unit = node.expression, node.args.get("unit")
    if unit is None and type(count).__name__ != "Interval":
        return str(generator.binary(node, sign))
    if unit is None:
        count, unit = count.this, count.args.get("unit")
    if (name := "" if unit is None else unit.name.upper()) not in UNITS:
        raise ValueError(f"INTERVAL of {name}" if name else "INTERVAL without a unit")
    number = f"{'-' * (sign == '-')}({generator.sql(count)})"
    return str(generator.func("DATE_ADD", node.this, number, quoted(name)))


def _formatted(generator: Any, node: Any) -> str:
    """Write ``DATE_FORMAT``, whose format sqlglot has written as Python does."""
    pattern = node.args["format"]
    if type(pattern).__name__ != "Literal" or re.search("%[DVXvxf]", pattern.this):
        raise ValueError("DATE_FORMAT with this format")
    return str(generator.func("DATE_FORMAT", node.this, pattern))


def _repeated(generator: Any, node: Any, part: str) -> str:
    """Return a part that is written several times; nested ones would grow without bounds."""
    text = str(generator.sql(node, part))
    if len(text) > MOST_REPEATED:
        raise ValueError(f"so much within one {type(node).__name__.upper()}")
    return text


def _at_digit(generator: Any, node: Any, function: str) -> str:
    """Write a rounding function that works at a digit which SQLite's does not take."""
    value, digit = generator.sql(node, "this"), _repeated(generator, node, "decimals") or "0"
    return f"({function}(ROUND(({value}) * POW(10, {digit}), 9)) / POW(10, {digit}))"


def _cast(generator: Any, node: Any) -> str:
    """Write ``CAST``; numbers are rounded, as SQLite does not do."""
    kind = node.args["to"]
    if kind.this.name in ("BIGINT", "UBIGINT"):  # SIGNED and UNSIGNED; texts are cut off
        value = _repeated(generator, node, "this")
        rounded = f"CAST(ROUND({value}) AS INTEGER)"
        return f"IIF(TYPEOF({value}) = 'real', {rounded}, CAST({value} AS INTEGER))"
    if kind.this.name != "DECIMAL":
        return str(generator.cast_sql(node))
    scale = int(kind.expressions[1].name) if len(kind.expressions) > 1 else 0
    rounded = f"ROUND(CAST({generator.sql(node, 'this')} AS REAL), {scale})"
    return rounded if scale else f"CAST({rounded} AS INTEGER)"


def _round(generator: Any, node: Any) -> str:
    """Write ``ROUND``, which takes no digits before the point in SQLite."""
    digit = node.args.get("decimals")
    plain = str(generator.func("ROUND", node.this, digit))
    if digit is None or type(digit).__name__ == "Literal":
        return plain
    _repeated(generator, node, "this")
    return f"IIF(({generator.sql(digit)}) < 0, {_at_digit(generator, node, 'ROUND')}, {plain})"


@functools.cache
def _port() -> Any:
    """Return SQLite's dialect with backticks around names."""
    exp = importlib.import_module("sqlglot.expressions")
    base: Any = importlib.import_module("sqlglot.dialects.sqlite").SQLite
    written = {
        **base.Generator.TRANSFORMS,
        exp.Left: lambda self, e: self.func("SUBSTR", e.this, "1", e.expression),
        exp.Right: lambda self, e: self.func(
            "SUBSTR", e.this, f"-({self.sql(e.expression)})", e.expression
        ),
        exp.Add: lambda self, e: _moved(self, e, "+"),
        exp.Sub: lambda self, e: _moved(self, e, "-"),
        exp.DateAdd: lambda self, e: _moved(self, e, "+"),
        exp.DateSub: lambda self, e: _moved(self, e, "-"),
        exp.TsOrDsToDate: lambda self, e: (
            self.sql(e, "this") if isinstance(e.parent, exp.Func) else self.func("DATE", e.this)
        ),
        exp.DateDiff: lambda self, e: self.func("DATEDIFF", e.this, e.expression),
        exp.TimestampDiff: lambda self, e: self.func(
            "TIMESTAMPDIFF", quoted(e.text("unit")), e.expression, e.this
        ),
        exp.TimeToStr: _formatted,
        exp.StrToDate: lambda self, e: self.func("STR_TO_DATE", e.this, e.args["format"]),
        exp.Extract: lambda self, e: self.func(e.name, e.expression),
        exp.DayOfMonth: lambda self, e: self.func("DAY", e.this),
        exp.DayOfWeek: lambda self, e: self.func("DAYOFWEEK", e.this),
        exp.DayOfYear: lambda self, e: self.func("DAYOFYEAR", e.this),
        exp.Like: lambda self, e: _like(self, e),
        exp.Escape: lambda self, e: _like(self, e.this, e.expression),
        exp.StrPosition: lambda self, e: self.func(
            "MYSQL_INSTR", e.this, e.args["substr"], e.args.get("position")
        ),
        exp.Upper: lambda self, e: self.func("MYSQL_UPPER", e.this),
        exp.Lower: lambda self, e: self.func("MYSQL_LOWER", e.this),
        exp.NumberToStr: lambda self, e: self.func("MYSQL_FORMAT", e.this, e.args["format"]),
        exp.National: lambda self, e: quoted(e.name),
        exp.Xor: lambda self, e: (
            f"((({self.sql(e, 'this')}) <> 0) <> (({self.sql(e, 'expression')}) <> 0))"
        ),
        exp.Length: lambda self, e: self.func(
            "LENGTH", exp.cast(e.this.copy(), "blob") if e.args.get("binary") else e.this
        ),
        exp.IntDiv: lambda self, e: (
            f"CAST({self.sql(e, 'this')} * 1.0 / {self.sql(e, 'expression')} AS INTEGER)"
        ),
        exp.Trunc: lambda self, e: _at_digit(self, e, "TRUNC"),
        exp.Round: _round,
        exp.Cast: _cast,
    }
    parts = {
        "Tokenizer": type(base.Tokenizer)("Tokenizer", (base.Tokenizer,), {"IDENTIFIERS": ["`"]}),
        "Generator": type(base.Generator)("Generator", (base.Generator,), {"TRANSFORMS": written}),
    }
    return type(base)("Port", (base,), parts)
