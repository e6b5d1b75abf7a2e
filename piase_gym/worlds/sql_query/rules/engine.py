"""The engine that runs the agents' queries: one value in, one value out.

The agents' SQL is run by `worker.py` in a separate process, under every limit that SQLite has; see
`Limits`. So nothing that affects a whole process, such as the size of SQLite's heap, is set in the
caller's process, and a call that cannot be interrupted ends with the worker. One worker serves
every episode of a process. It keeps nothing that cannot be rebuilt: a database is its image and the
statements that changed it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import marshal
import os
import pathlib
import queue
import re
import subprocess
import sys
import threading
import time
from typing import IO, Any, NamedTuple

from piase_gym.core.interrupts import OWN_GROUP
from piase_gym.errors import UnsupportedError
from piase_gym.worlds.sql_query.levels.dataset import Database
from piase_gym.worlds.sql_query.rules import dialect
from piase_gym.worlds.sql_query.rules.mysql_errors import TranslationError, mysql_error_text
from piase_gym.worlds.sql_query.rules.tokens import quoted
from piase_gym.worlds.sql_query.rules.worker import LENGTH, Limits, send

Value = str | int | float | bytes | None
"""A value in a database."""
HEAP = 64_000_000
"""How many bytes SQLite may use in the worker, databases included."""
ROOM = 16_000_000
"""How many of these bytes are for databases."""
START = 20.0
"""How many seconds a worker may take to start, or to read a database."""
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""The variables of the caller's environment that Python may need to start."""


class Result(NamedTuple):
    """What came of a query.

    Attributes:
        rows: The rows; empty if the query failed.
        columns: The names of their columns.
        error: What was wrong, in words, or ``None``.
        reason: What was wrong, as one of `REASONS`, or ``None``.
        changed: How many rows were inserted, updated or deleted.
    """

    rows: tuple[tuple[object, ...], ...] = ()
    columns: tuple[str, ...] = ()
    error: str | None = None
    reason: str | None = None
    changed: int = 0


REASONS = (
    "syntax",  # not SQL, or names something that does not exist
    "denied",  # ATTACH, PRAGMA, DROP, a write to what is read only, ...
    "several",  # several statements at once
    "timeout",  # too much work, or too much time
    "too_many_rows",
    "too_long",  # the statement, or a value in it
    "memory",
    "constraint",  # a write that the schema forbids
    "server",  # the server is not there
)
"""Why a query fails."""


_TABLES = (
    "SELECT name AS tables FROM sqlite_master WHERE type = 'table' "
    "AND name NOT LIKE 'sqlite_%' ORDER BY lower(name), name"
)
_COLUMNS = "SELECT name AS field, type, pk > 0 AS key FROM pragma_table_info({})"


class LocalEngine:
    """Runs queries on a database that is an image.

    Args:
        database: The database, which is never changed.
        writes: Whether rows may be changed; only this engine sees the changes.
        limits: What one query may use.

    Attributes:
        journal: The statements that changed rows, in order.
    """

    def __init__(
        self, database: Database, writes: bool = False, limits: Limits | None = None
    ) -> None:
        self.database, self.writes = database, writes
        self.limits = limits or Limits()
        self.journal: tuple[str, ...] = ()

    def execute(self, sql: str) -> Result:
        """Run one statement; errors are in the result, never raised."""
        found = run(self.database, self.journal, sql, self.writes, self.limits)
        if found.changed and found.reason is None:
            self.journal = (*self.journal, sql)
        return found

    def close(self) -> None:
        """Do nothing: it holds nothing."""


def own_sql(sql: str, database: Database) -> str:
    """Return a statement in SQLite's SQL, which has no SHOW and DESCRIBE.

    Raises:
        TranslationError: If it cannot be read, or has no counterpart.
    """
    line = dialect.tidied(sql)
    if database.dialect != "sqlite":
        return dialect.translate(line, database)
    asked = schema_asked(line)
    if asked is None:
        return line
    return _COLUMNS.format(quoted(asked)) if asked else _TABLES


def schema_asked(sql: str) -> str | None:
    """Return the table that a statement asks about, "" for the list of all, or ``None``."""
    words = sql[:200].strip(" \t\r\n;").split(maxsplit=3)
    match [word.lower() for word in words]:
        case ["show", "tables"]:
            return ""
        case ["desc" | "describe", name] | ["show", "columns", "from", name]:
            return words[-1].strip('`"') if name not in ("table", "tables") else None
    return None


def run(
    database: Database, journal: tuple[str, ...], sql: str, writes: bool, limits: Limits
) -> Result:
    """Run one statement on a database as earlier statements have left it.

    If it may not change rows, its result is cached: the same statement returns the same.

    Args:
        database: The database, which is never changed.
        journal: The statements that have changed rows before.
        sql: The statement.
        writes: Whether it may change rows; otherwise the journal is empty.
        limits: What it may use.
    """
    key = (database.stamp, database.name, database.dialect, sql, limits)
    known = None if writes else _memory.get(key)
    if known is not None:
        return known
    found = _unsendable(sql, limits) or _run(database, journal, sql, writes, limits)
    if not writes and found.reason not in ("timeout", "memory"):
        _memory.keep(key, found)
    return found


def _run(
    database: Database, journal: tuple[str, ...], sql: str, writes: bool, limits: Limits
) -> Result:
    """Have the worker run a statement."""
    try:
        own = [own_sql(line, database) for line in (*journal, sql)]
    except TranslationError as error:
        return Result(error=str(error), reason="syntax")
    if database.dialect != "sqlite" and own[-1] == dialect.NOTHING:
        return Result()
    answer = _worker(os.getpid()).run(database, tuple(own[:-1]), own[-1], writes, limits)
    rows, columns, message, reason, changed = answer
    if message is not None and database.dialect == "mysql":
        message = mysql_error_text(message, dialect.tidied(sql), database)
    return Result(rows, columns, message, reason, changed)


def _unsendable(sql: str, limits: Limits) -> Result | None:
    """Return the error of a statement that need not be tried, or ``None``."""
    if "\0" in sql:
        return Result(error="the statement has a NUL character", reason="syntax")
    if len(sql) > limits.sql:
        text = f"the statement has {len(sql)} characters; at most {limits.sql} are run"
        return Result(error=text, reason="too_long")
    if not sql.isascii() and any("\ud800" <= c <= "\udfff" for c in sql):
        return Result(error="the statement is not Unicode", reason="syntax")
    first = _FIRST.match(sql)
    if first is not None and first[1].upper() in ("PRAGMA", "VACUUM"):
        return Result(error=f"not allowed: {first[1].upper()}", reason="denied")
    return None


_FIRST = re.compile(r"(?>\s|;|--[^\n]*(?>\n|$)|/\*(?>.*?\*/))*+([a-z]+)", re.I | re.DOTALL)


@functools.lru_cache(maxsize=1)
def _worker(_process: int) -> Worker:
    """Return the worker of a process; a forked process has its own."""
    return Worker()


class Memory(dict[tuple[Any, ...], Result]):
    """Remembers results, up to some size.

    Attributes:
        size: The approximate size of the results that it remembers.
    """

    most, largest = 8_000_000, 40_000
    size = 0

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self.size = 0

    def keep(self, key: tuple[Any, ...], result: Result) -> None:
        """Remember a result, unless it is large."""
        size = 100 + sum(
            20 + (len(value) if isinstance(value, str | bytes) else 0)
            for row in result.rows[: self.largest]
            for value in row
        )
        if size <= self.largest:
            if self.size > self.most:
                self.clear()
            self[key] = result
            self.size += size


_memory = Memory()


def forget() -> None:
    """Forget all results."""
    _memory.clear()


def stop() -> None:
    """End the process that runs queries; the next query starts another."""
    _worker(os.getpid()).stop()


class Worker:
    """The caller's end of the process that runs SQL, which is started when first needed."""

    def __init__(self) -> None:
        self._lock, self._owner = threading.Lock(), os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._room, self._spent = ROOM, 0.0
        atexit.register(self.stop)

    def run(
        self,
        database: Database,
        journal: tuple[str, ...],
        sql: str,
        writes: bool,
        limits: Limits,
    ) -> tuple[Any, ...]:
        """Return rows, columns, error, reason and how many rows changed."""
        request = (database.stamp, journal, sql, writes, tuple(limits))
        with self._lock:
            if len(database.image) > self._room:
                self._end()
                self._room = 2 * len(database.image)
            answer = self._ask((*request, None), limits.seconds)
            if answer is None:  # the worker does not have the database open
                answer = self._ask((*request, database.image), START)
            if answer is None:
                answer = self._ask((*request, None), limits.seconds)
            return answer if answer is not None else _gone("memory")

    def _ask(self, request: tuple[Any, ...], seconds: float) -> tuple[Any, ...] | None:
        """Send a request and wait for the answer; a worker that takes too long is ended."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            send(process.stdin, request)
            answer: tuple[Any, ...] | None = self._receive(process, seconds)
            return answer
        except TimeoutError:
            self._end()
            return _gone("timeout")
        except (OSError, EOFError, ValueError):
            self._end()
            return _gone("memory")
        except BaseException:  # such as Ctrl-C: the next query must not get this one's answer
            self._end()
            raise

    def _receive(self, process: subprocess.Popen[bytes], seconds: float) -> Any:
        """Return an answer; the worker itself stops a query after half of the seconds if it can."""
        start, wait = time.monotonic(), 0.6 * seconds
        data: bytes | None = None
        while data is None:
            try:
                data = self._answers.get(timeout=wait)
            except queue.Empty:
                used, left = _cpu_seconds(process.pid), start + 4 * seconds - time.monotonic()
                wait = left if used is None else min(left, 0.6 * seconds - (used - self._spent))
                if wait <= 0.05 * seconds:
                    raise TimeoutError from None
        self._spent, answer = marshal.loads(data)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the process, without the caller's environment and packages."""
        path = pathlib.Path(__file__).with_name("worker.py")
        heap, self._spent = HEAP - ROOM + self._room, 0.0
        refusal = "SqlQuery: the process that runs SQL cannot be started"
        try:
            self._process = process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(path), str(self._room), str(heap)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                **OWN_GROUP,
            )
        except OSError as error:
            raise UnsupportedError(f"{refusal}: {error.strerror}") from None
        self._answers = queue.SimpleQueue()
        pipes = process.stdout, self._answers
        threading.Thread(target=_read_all, args=pipes, name="sql", daemon=True).start()
        self._ask(("", (), "", False, tuple(Limits()), None), START)
        if self._process is None:
            raise UnsupportedError(refusal)
        return process

    def stop(self) -> None:
        """End the process; the next query starts another."""
        if self._owner == os.getpid():  # a forked process leaves it alone
            with self._lock:
                self._end()

    def _end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    assert pipe is not None
                    pipe.close()


def _read_all(pipe: IO[bytes], answers: queue.SimpleQueue[bytes]) -> None:
    """Put every answer into a queue, in a thread, and what cannot be read as one at the end.

    Waiting for a queue can have a limit on every system, waiting for a pipe cannot.
    """
    with contextlib.suppress(OSError, ValueError):  # it was closed
        while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
            answers.put(pipe.read(LENGTH.unpack(head)[0]))
    answers.put(b"")


def _cpu_seconds(process: int) -> float | None:
    """Return the CPU seconds that a process has used, if the system tells, as Linux does."""
    try:
        fields = (
            pathlib.Path(f"/proc/{process}/stat")
            .read_text("ascii", "replace")
            .rpartition(")")[2]
            .split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def _gone(reason: str) -> tuple[Any, ...]:
    """Return the answer to a query that the worker did not survive."""
    sentences = {"timeout": "the query takes too long", "memory": "the query needs too much memory"}
    return (), (), sentences[reason], reason, 0
