"""The process that runs the agents' SQL. It imports nothing but the standard library.

It reads requests from its input and writes answers to its output, each as a length and a value in
the format of `marshal`; an answer includes the CPU time that this process has used so far.
Databases come as images; those of tasks that only read are opened once and shared, since nothing
can change them. A database that is written to is an image and the statements that were run on it,
so the caller can keep it as a value; the most recently used ones stay open.

What keeps the statements of agents within bounds:

* the authorizer lets through what is listed here, and nothing else: reading tables of this
  database, functions whose value follows from their arguments, and, in a task that writes, changing
  rows;
* SQLite's own limits bound values, statements and their parts;
* the progress handler counts work, which is the same on every machine, and checks the CPU time;
* SQLite's heap is bounded for this process as a whole;
* none of these can stop a single call that takes too long: the caller then ends this process.
"""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import pathlib
import sqlite3
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any, NamedTuple

LENGTH = struct.Struct("<I")
WORK = 1000
"""How many instructions of SQLite's virtual machine pass between two checks of work and time."""
NOW = "2026-01-01 00:00:00"
"""The current time in every database."""
OPEN_WRITES = 16
"""How many databases that were written to stay open."""


class Limits(NamedTuple):
    """What a query may use.

    Attributes:
        seconds: CPU time; with waiting for a busy processor, at most four times as much.
        work: Instructions of SQLite's virtual machine, in thousands.
        rows: Rows of the result.
        size: Characters or bytes of the result, about.
        value: Bytes of one value.
        sql: Bytes of the statement.
    """

    seconds: float = 1.0
    work: int = 20_000
    rows: int = 10_000
    size: int = 8_000_000
    value: int = 1_000_000
    sql: int = 20_000


_SCALAR = """abs char coalesce concat concat_ws format glob hex ifnull iif instr length like
likelihood likely lower ltrim max min nullif octet_length printf quote replace round rtrim sign
soundex substr substring trim typeof unhex unicode unlikely upper zeroblob acos acosh asin asinh
atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power radians
sin sinh sqrt tan tanh trunc date time datetime julianday strftime unixepoch timediff -> ->>
json json_array json_array_length json_extract json_insert json_object json_patch json_quote
json_remove json_replace json_set json_type json_valid json_error_position"""
_AGGREGATE = """avg count group_concat string_agg sum total json_group_array json_group_object
row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value"""
FUNCTIONS = frozenset((*_SCALAR.split(), *_AGGREGATE.split()))
"""Functions of SQLite that may be used: those whose value follows from their arguments."""
SCHEMA = frozenset(("sqlite_master", "sqlite_schema", "json_each", "json_tree"))
"""What may be read besides the tables of the database."""
PRAGMAS = frozenset(
    ("table_info", "table_xinfo", "table_list", "foreign_key_list", "index_list", "index_info")
)
"""The ``pragma_…`` tables that may be read: those that describe the schema."""
_BOUNDS = {
    sqlite3.SQLITE_LIMIT_COLUMN: 256,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 64,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 64,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_WRITES = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
_PLAIN = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
_REFUSALS = (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_EACH = ("json_each('[]')", "json_tree('[]')")
_CLOCKS = ("date", "time", "datetime", "julianday", "strftime", "unixepoch")


class QueryMeter:
    """Counts the work of one query, and the CPU time that it takes.

    No query fails because the machine is busy with other things.
    """

    def __init__(self) -> None:
        self.stopped = False
        self.start(Limits(), 1.0)

    def start(self, limits: Limits, share: float) -> None:
        """Begin a query."""
        self.left, self.stopped = limits.work, False
        self.end = time.process_time() + share * limits.seconds

    def __call__(self) -> bool:
        """Return whether to stop the query."""
        self.left -= 1
        late = self.left < 0 or (self.left % 16 == 0 and time.process_time() > self.end)
        self.stopped = self.stopped or late
        return late


class Database:
    """An open database under every limit.

    Args:
        image: Its image.
        writes: Whether rows may be changed.
        watch: The watch that stops a query.
        collation: The module `collation`, whose functions the database has, too.

    Attributes:
        connection: Its connection.
        size: The size of its image in bytes.
        denied: The part of the present statement that is not allowed.
    """

    def __init__(
        self,
        image: bytes,
        writes: bool,
        watch: QueryMeter,
        collation: Any,
    ) -> None:
        self.watch, self.size, self.denied = watch, len(image), ""
        con = self.connection = sqlite3.connect(
            ":memory:",
            isolation_level=None,
            cached_statements=0,  # a cached statement would go on counting its work
        )
        con.deserialize(image)
        collation.register(con)
        self._clock = sqlite3.connect(":memory:", isolation_level=None)
        for name in _CLOCKS:
            con.create_function(name, -1, _clock(self._clock, name), deterministic=True)
        for pragma in ("trusted_schema=0", "temp_store=2", "cell_size_check=1"):
            con.execute(f"PRAGMA {pragma}").fetchall()
        for table in (*(f"pragma_{name}('')" for name in sorted(PRAGMAS)), *_EACH):
            with contextlib.suppress(sqlite3.Error):  # the first use creates the table
                con.execute(f"SELECT * FROM {table}").fetchall()
        self._bound(con, writes)
        names = con.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        tables = {str(row[0]).lower() for row in names} | SCHEMA
        functions = FUNCTIONS | collation.FUNCTIONS
        allowed = (*_PLAIN, *(_WRITES if writes else ()))

        def authorize(action: int, one: Any, two: Any, _db: Any, _trigger: Any) -> int:
            if action == sqlite3.SQLITE_READ:
                table = str(one).lower()
                known = table in tables or table.removeprefix("pragma_") in PRAGMAS
                fine = known or not two  # a name not of the database may have its rows counted
            elif action == sqlite3.SQLITE_FUNCTION:
                fine = str(two).lower() in functions
            elif action == sqlite3.SQLITE_PRAGMA:
                fine = str(one).lower() in PRAGMAS
            elif action in _WRITES:
                fine = action in allowed and not str(one).lower().startswith("sqlite_")
            else:
                fine = action in allowed
            if not fine and not self.denied:
                self.denied = _what_is_forbidden(action, one, two)
            return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

        con.set_authorizer(authorize)
        con.set_progress_handler(watch, WORK)

    def _bound(self, con: sqlite3.Connection, writes: bool) -> None:
        """Set the limits of a connection."""
        for limit, bound in _BOUNDS.items():
            con.setlimit(limit, bound)
        if writes:
            (pages,) = con.execute("PRAGMA page_count").fetchone()
            con.execute(f"PRAGMA max_page_count={pages + 2048}").fetchall()
        else:
            con.execute("PRAGMA query_only=1").fetchall()

    def run(self, sql: str, limits: Limits, share: float = 0.5) -> tuple[Any, ...]:
        """Run one statement; return rows, columns, error, reason and how many rows changed."""
        con = self.connection
        con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.value)
        con.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, min(limits.sql, limits.value))
        self.denied = ""
        self.watch.start(limits, share)
        try:
            return self._fetch(sql, limits)
        except sqlite3.Error as error:
            return ((), (), *self._describe_error(error, sql), 0)
        except sqlite3.Warning as error:  # how Python 3.11 refuses several statements
            return (), (), str(error), "several", 0
        except (ValueError, OverflowError) as error:
            return (), (), str(error), "syntax", 0
        except MemoryError:
            return (), (), "the query needs too much memory", "memory", 0
        except RecursionError:
            return (), (), "the query is too deep", "too_long", 0

    def close(self) -> None:
        """Release its memory."""
        self.connection.close()
        self._clock.close()

    def _fetch(self, sql: str, limits: Limits) -> tuple[Any, ...]:
        """Run a statement and fetch what it returns."""
        before = self.connection.total_changes
        cursor = self.connection.execute(sql)
        try:
            if cursor.description is None:
                if not sql.strip(" \t\r\n;"):
                    return (), (), "the statement is empty", "syntax", 0
                return (), (), None, None, self.connection.total_changes - before
            columns = tuple(column[0] for column in cursor.description)
            rows: list[tuple[Any, ...]] = []
            size = 0
            for row in cursor:
                rows.append(row)
                size += 8 * len(row) + sum([len(v) for v in row if type(v) in (str, bytes)])
                if len(rows) > limits.rows:
                    return (), (), f"more than {limits.rows} rows", "too_many_rows", 0
                if size > limits.size:
                    return (), (), f"the result is longer than {limits.size}", "too_long", 0
            return tuple(rows), columns, None, None, self.connection.total_changes - before
        finally:
            cursor.close()

    def _describe_error(self, error: sqlite3.Error, sql: str) -> tuple[str, str]:
        """Return what was wrong with a statement, in words and as a reason."""
        text = str(error)
        code = getattr(error, "sqlite_errorcode", None)
        code = code & 0xFF if code is not None else None
        if self.watch.stopped or code == sqlite3.SQLITE_INTERRUPT:
            return "the query takes too long", "timeout"
        if self.denied or code in _REFUSALS or "may not be modified" in text:
            words = sql.split(maxsplit=1)
            return f"not allowed: {self.denied or words[0].upper()[:20]}", "denied"
        if code in (sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            return "the query needs too much memory", "memory"
        if code == sqlite3.SQLITE_TOOBIG or text.startswith("too many") or "too large" in text:
            return text, "too_long"
        if code == sqlite3.SQLITE_CONSTRAINT:
            return text, "constraint"
        if "one statement" in text:
            return text, "several"
        return text, "syntax"


def _what_is_forbidden(action: int, one: Any, two: Any) -> str:
    """Say what is not allowed; "" if the statement's first word says it better."""
    if action == sqlite3.SQLITE_FUNCTION:
        return f"the function {two}"
    if action == sqlite3.SQLITE_READ:
        return f"to read {one}"
    if action in _WRITES and not str(one).startswith("sqlite_"):
        return f"to change {one}"
    return ""


def _clock(inner: sqlite3.Connection, name: str) -> Callable[..., Any]:
    """Return a time function of SQLite's for which the time is always `NOW`."""
    ahead = name == "strftime"

    def call(*args: Any) -> Any:
        values = list(args)
        if len(values) == int(ahead):
            values.append(NOW)
        values = [NOW if isinstance(v, str) and v.strip().lower() == "now" else v for v in values]
        marks = ", ".join("?" * len(values))
        return inner.execute(f"SELECT {name}({marks})", values).fetchone()[0]

    return call


class Server:
    """Answers requests, one at a time.

    Args:
        room: How many bytes of images may be open; a single image may be larger.
        heap: The limit of SQLite's heap in this process, in bytes.
    """

    def __init__(self, room: int, heap: int) -> None:
        self.room, self.watch = room, QueryMeter()
        self.open: OrderedDict[tuple[Any, ...], Database] = OrderedDict()
        self.collation = _collation()
        limit = sqlite3.connect(":memory:")
        limit.execute(f"PRAGMA hard_heap_limit={heap}").fetchall()
        limit.close()

    def answer(self, request: tuple[Any, ...]) -> Any:
        """Answer a request or, if its image is given, only open the database.

        The answer ``None`` asks for the image, or, once it is given, for the request again.
        """
        stamp, journal, sql, writes, limits, image = request
        bounds = Limits(*limits)
        try:
            database = self._find(stamp, journal, writes, bounds, image)
        except (sqlite3.Error, MemoryError) as error:
            return (), (), f"the database cannot be opened: {error}", "memory", 0
        if database is None or image is not None:
            return None
        found = database.run(sql, bounds)
        if writes and (found[3] or found[4]):
            self.open.pop((stamp, *journal))
            if found[3]:  # it may have run in part: the next one begins from the image
                database.close()
            else:
                self.open[(stamp, *journal, sql)] = database
        return found

    def _find(
        self, stamp: str, journal: tuple[str, ...], writes: bool, limits: Limits, image: Any
    ) -> Database | None:
        """Return the database that a request is about, or ``None`` if its image is needed."""
        key = (stamp, *journal) if writes else (stamp, None)
        database = self.open.get(key)
        if database is None:
            if image is None:
                return None
            self._make_room(len(image))
            database = Database(image, writes, self.watch, self.collation)
            for statement in journal:
                database.run(statement, limits, share=8.0)
            self.open[key] = database
        self.open.move_to_end(key)
        return database

    def _make_room(self, size: int) -> None:
        """Close the least recently used databases."""
        while self.open and (
            size + sum(d.size for d in self.open.values()) > self.room
            or sum(key[1:] != (None,) for key in self.open) >= OPEN_WRITES
        ):
            _, oldest = self.open.popitem(last=False)
            oldest.close()


def _collation() -> Any:
    """Import `collation.py`, which stands next to this file."""
    path = pathlib.Path(__file__).with_name("collation.py")
    spec = importlib.util.spec_from_file_location("collation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def send(stream: IO[bytes], value: Any) -> None:
    """Write a value."""
    data = marshal.dumps(value)
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def main() -> None:
    """Answer requests until the input ends."""
    room, heap = map(int, sys.argv[1:3])
    server = Server(room, heap)
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        request = marshal.loads(source.read(LENGTH.unpack(head)[0]))
        send(target, (time.process_time(), server.answer(request)))


if __name__ == "__main__":
    main()
