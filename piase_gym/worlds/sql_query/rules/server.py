"""The engine on a database server: PostgreSQL, MySQL, MariaDB and others; see `DIALECTS`.

Each statement runs in a transaction that is rolled back; in a task that writes, all statements
share one, which is rolled back at the end. A statement is only sent if sqlglot reads it as one
query (or, in a task that writes, as one change of rows) that calls no function that reaches out of
the database. Tasks that only read are read-only for the server too; the server limits the time.

The user's rights on the server are the last guard: connect as a user that may read what the
questions are about, and nothing else. Memory is the server's to limit.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import re
import time
from typing import Any, Final

from piase_gym.errors import ConfigError, MissingExtraError, need
from piase_gym.worlds.sql_query.rules.engine import Result
from piase_gym.worlds.sql_query.rules.mysql_errors import reader
from piase_gym.worlds.sql_query.rules.worker import Limits

DIALECTS: Final = {
    "postgresql": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "mssql": "tsql",
    "oracle": "oracle",
}
"""The dialects of SQLAlchemy that are supported, and sqlglot's names for them."""
_WAITING: Final = ("psycopg", "psycopg2", "pymysql", "mysqldb")
"""Drivers that can be told how long to wait for a connection."""
_QUERIES: Final = (
    "Select",
    "Union",
    "Intersect",
    "Except",
    "Subquery",
    "Values",
    "Show",
    "Describe",
)
_WRITES: Final = ("Insert", "Update", "Delete")
_REACHING: Final = re.compile(
    r"(pg_|lo_|dblink|xp_|sp_|set_config|load_file|sys_|sleep|benchmark|get_lock|release_|is_free"
    r"|is_used|master_|wait_|repeat|rpad|lpad|pad|space|generate_series|generateseries|query_to_"
    r"|table_to_|database_to_|schema_to_|cursor_to_|nextval|setval|currval|format).*"
)
"""Functions that reach files, other sessions or clocks, or make long values of short ones."""
_REASONS: Final = (
    ("timeout", r"timeout|max_statement_time|execution time|interrupted|QueryCanceled|\b3024\b"),
    ("denied", r"read.only|ReadOnly|permission|InsufficientPrivilege|denied|\b1792\b|\b1142\b"),
    ("constraint", r"IntegrityError|constraint|NotNullViolation"),
    ("server", r"gone away|Lost connection|connection.*closed|refused|AdminShutdown|can't connect"),
)


class ServerEngine:
    """Runs queries on a server.

    Args:
        url: SQLAlchemy's URL, such as ``postgresql+psycopg://user:password@host/database``.
        writes: Whether rows may be changed; only this engine sees the changes.
        limits: What one query may use; `work` means nothing to a server.

    Raises:
        ConfigError: If the URL is not valid, or its dialect is not in `DIALECTS`.
        MissingExtraError: If SQLAlchemy, sqlglot or the driver is not installed.
    """

    def __init__(self, url: str, writes: bool = False, limits: Limits | None = None) -> None:
        self._engine = _open(url)
        self.writes, self.limits = writes, limits or Limits()
        self._connection: Any = None

    @property
    def dialect(self) -> str:
        """What sqlglot calls the SQL of this server."""
        return DIALECTS[self._engine.dialect.name]

    def execute(self, sql: str) -> Result:
        """Run one statement; errors are in the result, never raised."""
        fault = self._fault(sql)
        if fault is not None:
            return fault
        errors = need("sqlalchemy.exc", "a database server", "sql")
        try:
            connection = self._connection or self._connected()
        except (errors.SQLAlchemyError, OSError) as error:
            return Result(
                error=f"the server is not there: {_driver_message(error)}", reason="server"
            )
        try:
            with connection.begin_nested():
                found = self._run(connection, sql)
        except (errors.SQLAlchemyError, OSError, UnicodeError, ValueError) as error:
            found = Result(error=_driver_message(error), reason=_reason(error))
        keeps = self.writes and found.reason != "server"
        self._connection = connection if keeps else None
        if not keeps:
            _give_back(connection)
        return found

    def _fault(self, sql: str) -> Result | None:
        """Return the error of a statement that need not be sent, or ``None``."""
        if len(sql) > self.limits.sql:
            message = f"the statement has {len(sql)} characters; at most {self.limits.sql} are run"
            return Result(error=message, reason="too_long")
        if "\0" in sql or any("\ud800" <= letter <= "\udfff" for letter in sql):
            return Result(error="the statement has characters that SQL has not", reason="syntax")
        sqlglot = reader("a database server")
        try:
            found = sqlglot.parse(sql, read=self.dialect)
        except (sqlglot.errors.SqlglotError, RecursionError) as error:
            return Result(error=f"syntax error: {str(error).splitlines()[0]:.200}", reason="syntax")
        found = [part for part in found if type(part).__name__ not in ("NoneType", "Semicolon")]
        if not found:
            return Result(error="there is no statement", reason="syntax")
        if len(found) > 1:
            return Result(error="one statement at a time", reason="several")
        if isinstance(found[0], sqlglot.exp.Condition):
            return Result(error="this is no statement", reason="syntax")
        message = _denied(found[0], self.writes)
        return Result(error=f"not allowed: {message}", reason="denied") if message else None

    def _connected(self) -> Any:
        """Return a connection in a transaction, with limits."""
        dialect, milliseconds = self._engine.dialect, max(1, int(self.limits.seconds * 1000))
        mode = "READ WRITE" if self.writes else "READ ONLY"
        before, begun = [], []
        connection = self._engine.connect()  # only this shows which server it is
        if dialect.name == "postgresql":
            begun = [f"SET TRANSACTION {mode}", f"SET LOCAL statement_timeout = {milliseconds}"]
            begun.append("SET LOCAL jit = off")  # its work cannot be interrupted
        elif dialect.name in ("mysql", "mariadb"):
            limit = f"max_execution_time = {milliseconds}"
            if getattr(dialect, "is_mariadb", False):
                limit = f"max_statement_time = {milliseconds / 1000}"
            before = [f"SET SESSION {limit}", f"SET SESSION TRANSACTION {mode}"]
        try:
            for statement in before:
                connection.exec_driver_sql(statement)
            connection.rollback()
            for statement in begun:
                connection.exec_driver_sql(statement)
        except Exception:
            _give_back(connection)
            raise
        return connection

    def _run(self, connection: Any, sql: str) -> Result:
        """Run a statement that has been checked."""
        options = {"stream_results": not self.writes, "no_parameters": True}
        done = connection.exec_driver_sql(sql, execution_options=options)
        if not done.returns_rows:
            return Result(changed=max(0, done.rowcount))
        columns = tuple(str(key) for key in done.keys())  # noqa: SIM118 (iterating it gives rows)
        rows: list[tuple[object, ...]] = []
        size, end = 0, time.monotonic() + self.limits.seconds
        for row in done:
            rows.append(tuple(_plain(value) for value in row))
            size += sum(len(value) for value in rows[-1] if isinstance(value, str | bytes))
            fault = None
            if len(rows) > self.limits.rows:
                fault = f"more than {self.limits.rows} rows", "too_many_rows"
            elif size > self.limits.size:
                fault = "the result is too long", "too_long"
            elif len(rows) % 100 == 0 and time.monotonic() > end:
                fault = "the query takes too long", "timeout"
            if fault is not None:
                done.close()
                return Result(error=fault[0], reason=fault[1])
        return Result(tuple(rows), columns)

    def close(self) -> None:
        """Roll back what was written, and return the connection to the pool."""
        connection, self._connection = self._connection, None
        if connection is not None:
            _give_back(connection)


@functools.lru_cache(maxsize=64)
def _open(url: str) -> Any:
    """Return SQLAlchemy's engine for a URL; a process has one for each URL."""
    sqlalchemy = need("sqlalchemy", "a database server", "sql")
    reader("a database server")
    try:
        driver = sqlalchemy.make_url(url).get_driver_name()
        wait = {"connect_timeout": 10} if driver in _WAITING else {}
        engine = sqlalchemy.create_engine(
            url, pool_pre_ping=True, max_overflow=-1, connect_args=wait
        )
    except ImportError as error:
        raise MissingExtraError(f"the driver {error.name}", "sql") from None
    except (sqlalchemy.exc.ArgumentError, ValueError, TypeError) as error:
        raise ConfigError(f"SqlQuery: this is no URL of SQLAlchemy: {error}") from None
    if engine.dialect.name not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise ConfigError(f"SqlQuery: no server for {engine.dialect.name!r:.60}; allowed: {known}")
    return engine


def _give_back(connection: Any) -> None:
    """Roll back what was written, and return a connection to the pool."""
    errors = need("sqlalchemy.exc", "a database server", "sql")
    try:
        connection.rollback()
    except (errors.SQLAlchemyError, OSError):
        connection.invalidate()
    connection.close()


def _denied(statement: Any, writes: bool) -> str:
    """Return the part of a parsed statement that is not allowed, or an empty string."""
    kind = type(statement).__name__
    if kind not in (*_QUERIES, *(_WRITES if writes else ())):
        return statement.key.upper() if kind != "Command" else f"{statement.this!s:.20}"
    for node in statement.walk():
        name = type(node).__name__
        if name in ("Into", "Lock", "Command") or (name in _WRITES and not writes):
            return name.upper()
        if hasattr(node, "sql_names"):
            names = [node.name] if name == "Anonymous" else node.sql_names()
            wrong = next((one for one in names if _REACHING.fullmatch(one.lower())), None)
            if wrong is not None:
                return f"{wrong.lower():.40}()"
    return ""


def _plain(value: object) -> object:
    """Return a value as SQLite has it, so that a result is the same on all engines."""
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, decimal.Decimal):
        whole = value.is_finite() and value.as_tuple().exponent == 0
        return int(value) if whole else float(value)
    if isinstance(value, float):
        return value
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    return bytes(value) if isinstance(value, memoryview | bytearray) else str(value)


def _driver_message(error: BaseException) -> str:
    """Return a driver's error message, on one line and without the statement."""
    text = str(getattr(error, "orig", None) or error)
    return " ".join(text.partition("\nLINE ")[0].split())[:300]


def _reason(error: BaseException) -> str:
    """Return the reason for a driver's error, as one of `rules.engine.REASONS`."""
    kinds = (type(one).__name__ for one in (error, getattr(error, "orig", None)))
    text = " ".join((*kinds, _driver_message(error)))
    found = (kind for kind, words in _REASONS if re.search(words, text, re.IGNORECASE))
    return next(found, "syntax")
