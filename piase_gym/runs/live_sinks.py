"""Live sinks for the lines of a run: a database, a function. The run does not wait for them.

Each has a thread of its own and a buffer for lines that wait. A sink that fails, that does not take
a piece within its timeout, or that has no room left, is left out from then on (`LogSinkWarning`, or
`LogWriteError` if the log is written with ``on_error="stop"``); all others stay complete.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import threading
import time
from collections.abc import Callable
from numbers import Real
from typing import Any

import orjson

from piase_gym.errors import ConfigError, LogWriteError, need
from piase_gym.runs.schema import FIELDS, MORE_FIELDS
from piase_gym.runs.sinks import CLOSED, EventSink, LoggerInterface

ROOM = 64_000_000
"""Bytes that may wait for a sink, by default."""
TIMEOUT = 10.0
"""Seconds that a sink has for a piece, and to start and to end, by default."""


class LiveSink(LoggerInterface):
    """Hands lines to another sink from a thread of its own.

    Args:
        make: Makes the sink, in that thread, where it is also used and closed.
        name: The sink's name in warnings.
        timeout: Seconds that it has for each piece, and to start and to end.
        room: Bytes that may wait for it.

    Attributes:
        path: The sink's name in warnings.

    Raises:
        LogWriteError: If it cannot be made, or not in time.
    """

    def __init__(
        self,
        make: Callable[[], LoggerInterface],
        name: str,
        timeout: float = TIMEOUT,
        room: int = ROOM,
    ) -> None:
        for given, value in (("timeout", timeout), ("room", room)):
            if isinstance(value, bool) or not isinstance(value, Real) or not value > 0:
                raise ConfigError(f"{given} of a sink is a positive number, not {value!r}")
        self.path, self.timeout, self.room = name, timeout, room
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._given = self._taken = 0
        """Bytes so far; only the caller's thread counts the first, only the sink's the second."""
        self._since = time.monotonic()
        """When the thread began what it does now, or did last."""
        self._busy, self._closed = True, False
        self._failure: Exception | None = None
        self._ready, self._owner = threading.Event(), os.getpid()
        self._thread = threading.Thread(
            target=self._run, args=(make,), name="piase-live-sink", daemon=True
        )
        self._thread.start()
        if not self._ready.wait(float(min(timeout, threading.TIMEOUT_MAX))):
            message = f"{name} cannot be opened: no answer within {timeout:g} s"
            raise self._give_up(LogWriteError(message))
        if self._failure is not None:
            raise LogWriteError(f"{name} cannot be opened: {_reason(self._failure)}") from None

    def write(self, lines: bytes) -> None:
        """Queue lines for the thread.

        Raises:
            OSError: If the sink has failed, hangs, has no room left, or is closed.
        """
        if os.getpid() != self._owner:
            return  # a forked child has no such thread, and the log is not its own
        self._check()
        if self._closed:
            raise OSError(CLOSED)
        waiting = self._given - self._taken
        if waiting + len(lines) > self.room:
            message = f"{waiting:,} bytes wait for it, and {len(lines):,} more have no room"
            raise self._give_up(OSError(f"it is full: {message}"))
        self._given += len(lines)
        self._queue.put(lines)

    def close(self) -> None:
        """Wait until everything is taken; the sink has its timeout for each piece.

        Raises:
            OSError: If the sink has failed, or hangs.
        """
        if self._closed or os.getpid() != self._owner:
            return
        self._closed = True
        self._queue.put(None)
        while self._thread.is_alive():
            self._thread.join(0.05)
            if self._thread.is_alive():
                self._check()
        self._check()

    def _check(self) -> None:
        """Raise if the sink has failed or hangs."""
        if self._failure is not None:
            raise OSError(_reason(self._failure)) from None
        if self._busy and time.monotonic() - self._since > self.timeout:
            raise self._give_up(TimeoutError(f"it has taken nothing for {self.timeout:g} s"))

    def _give_up(self, error: OSError) -> OSError:
        """Stop waiting; the thread ends when the sink returns, if it ever does."""
        self._closed = True
        self._queue.put(None)
        return error

    def _run(self, make: Callable[[], LoggerInterface]) -> None:
        """Make the sink, hand it lines, and close it."""
        try:
            sink = make()
        except Exception as error:
            self._failure = error
            self._ready.set()
            return
        self._ready.set()
        try:
            while True:
                self._busy = False
                lines = self._queue.get()
                self._since, self._busy = time.monotonic(), True
                if lines is None:
                    break
                sink.write(lines)
                sink.flush()
                self._taken += len(lines)
        except Exception as error:
            self._failure = error
        finally:
            with contextlib.suppress(Exception):
                sink.close()


class CallbackSink(LiveSink):
    """Calls a function with every event, as a dict, from a thread of its own.

    Args:
        callback: The function.
        timeout: Seconds that it has for a piece of the log, of up to a few hundred events.
        room: Bytes that may wait for it.

    Raises:
        ConfigError: If it cannot be called.

    Example:
        >>> import piase_gym
        >>> from piase_gym import runs
        >>> seen = []
        >>> sink = runs.CallbackSink(lambda event: seen.append(event["event_type"]))
        >>> env = piase_gym.parallel_env("GridWorld")
        >>> _ = runs.record(env, sinks=[sink])
        >>> env.close()
        >>> seen
        ['SIMULATION_CONTROL', 'SIMULATION_CONTROL']
    """

    def __init__(
        self, callback: Callable[[dict[str, Any]], Any], timeout: float = TIMEOUT, room: int = ROOM
    ) -> None:
        if not callable(callback):
            raise ConfigError(f"a callback is a function, not {callback!r:.60}")
        name = getattr(callback, "__name__", type(callback).__name__)
        super().__init__(lambda: _Caller(callback), f"callback {name}", timeout, room)


class _Caller(EventSink):
    """Calls a function with every event."""

    def __init__(self, callback: Callable[[dict[str, Any]], Any]) -> None:
        self._callback = callback

    def log_event(self, event: dict[str, Any]) -> None:
        """Pass an event on."""
        self._callback(event)


class SqlSink(LiveSink):
    """Writes every line as a row of a database table, while the run goes on.

    The table is created if it does not exist. Its columns are the fields of a line; ``event_data``
    is JSON, and ``event_id`` the primary key, so several runs can share a table.

    Args:
        url: A database URL for SQLAlchemy, such as ``"sqlite:///runs.db"`` or
            ``"postgresql+psycopg://user:password@host/database"``.
        table: The table's name.
        timeout: Seconds that the database has to answer.
        room: Bytes that may wait for it.

    Raises:
        ConfigError: If it is no such URL.
        LogWriteError: If the database does not answer, or the table cannot be used.
        MissingExtraError: If SQLAlchemy, or the database's driver, is not installed.

    Example:
        >>> import sqlite3, tempfile
        >>> import piase_gym
        >>> from piase_gym import runs
        >>> file = f"{tempfile.mkdtemp()}/runs.db"
        >>> env = piase_gym.parallel_env("GridWorld")
        >>> _ = runs.record(env, sinks=[runs.SqlSink(f"sqlite:///{file}")])
        >>> env.close()
        >>> sqlite3.connect(file).execute("SELECT count(*) FROM events").fetchone()
        (2,)
    """

    def __init__(
        self, url: str, table: str = "events", timeout: float = TIMEOUT, room: int = ROOM
    ) -> None:
        sql = need("sqlalchemy", "a log in a database", "sql")
        try:
            place = sql.make_url(url)
        except (sql.exc.ArgumentError, TypeError, ValueError):
            raise ConfigError(
                f"{url!r:.60} is no database URL; such as 'sqlite:///runs.db' or "
                "'postgresql+psycopg://user:password@host/database'"
            ) from None
        if not isinstance(table, str) or not table.isidentifier():
            raise ConfigError(f"a table's name is a word, not {table!r:.60}")
        name = f"{place.render_as_string(hide_password=True)} (table {table})"
        super().__init__(lambda: _Rows(sql, place, table), name, timeout, room)


_ZERO = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""A null character in JSON. Databases cannot store it: it becomes the replacement character."""


class _Rows(LoggerInterface):
    """Inserts lines into a table."""

    def __init__(self, sql: Any, url: Any, table: str) -> None:
        """Connect, and make the table if need be."""
        self._engine = sql.create_engine(url, json_serializer=lambda value: value)
        numbers = ("step", "episode")
        columns = [
            sql.Column(name, sql.Integer if name in numbers else sql.Text, nullable=False)
            for name in (*FIELDS, *MORE_FIELDS)
            if name not in ("event_data", "event_id")
        ]
        columns.insert(0, sql.Column("event_id", sql.String(255), primary_key=True))
        columns.append(sql.Column("event_data", sql.JSON, nullable=False))
        self._table = sql.Table(table, sql.MetaData(), *columns)
        try:
            self._table.metadata.create_all(self._engine)
            with self._engine.connect() as connection:  # there may be a table with other columns
                connection.execute(self._table.select().limit(0))
        except BaseException:
            self._engine.dispose()
            raise

    def write(self, lines: bytes) -> None:
        """Insert the rows of some lines, all or none."""
        rows = [orjson.loads(line) for line in lines.splitlines()]
        for row in rows:
            data = orjson.dumps(row["event_data"]).decode()
            row["event_data"] = _ZERO.sub(r"\1\\ufffd", data) if "\\u0000" in data else data
        with self._engine.begin() as connection:
            connection.execute(self._table.insert(), rows)

    def close(self) -> None:
        """Disconnect."""
        self._engine.dispose()


def _reason(error: Exception) -> str:
    """Say why a sink failed, in one line and without the rows that it was given."""
    plain = getattr(error, "orig", None) or error
    return next((line for line in str(plain).splitlines() if line), type(plain).__name__)
