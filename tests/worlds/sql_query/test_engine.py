"""The engine: hostile statements, limits, and what a process keeps to itself."""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym.adapters.intercode import SqlEnv
from piase_gym.core.commands import Command
from piase_gym.errors import ConfigError, UnsupportedError
from piase_gym.worlds.sql_query.levels.dataset import Database, from_file, read_schema
from piase_gym.worlds.sql_query.levels.domains import build
from piase_gym.worlds.sql_query.rules import engine
from piase_gym.worlds.sql_query.rules.engine import REASONS, LocalEngine, Result
from piase_gym.worlds.sql_query.rules.worker import Limits
from tests.worlds.sql_query.hostile import ATTEMPTS

PATIENCE = 20.0
"""Seconds that anything may take on a machine with other things to do."""


@pytest.fixture(scope="module")
def database() -> Database:
    return build("library", 0, 3, 7, 60).database


@pytest.fixture(autouse=True)
def _forget() -> None:
    engine._memory.clear()


def content(database: Database) -> list[tuple[Any, ...]]:
    """Return all rows, as read by SQLite without any engine of ours."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(database.image)
        tables = [table.name for table in database.schema]
        return [row for name in tables for row in connection.execute(f"SELECT * FROM {name}")]


def test_a_machine_that_starts_no_process_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **_more: Any) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(UnsupportedError, match="cannot be started: Too many open files"):
        engine.Worker()._start()


def test_there_are_enough_attempts() -> None:
    assert len(ATTEMPTS) >= 80
    assert len({row.sql for row in ATTEMPTS}) == len(ATTEMPTS)
    assert {reason for row in ATTEMPTS for reason in row.reasons} <= set(REASONS)


@pytest.mark.parametrize("writes", [False, True])
def test_hostile_statements_fail_for_the_right_reason(
    database: Database, tmp_path: Path, writes: bool
) -> None:
    """Read-only and writing engines refuse the same, but for what writing tasks may write."""
    file = tmp_path / "loot.db"
    file.write_bytes(database.image)
    before, rows = file.read_bytes(), content(database)
    player = LocalEngine(database, writes)
    allowed = ("INSERT INTO author", "DELETE FROM author", "UPDATE author", "REPLACE INTO author")
    whole = LocalEngine(database).execute("SELECT count(*), sum(id) FROM author")
    for sql, reasons in ATTEMPTS:
        statement = sql.replace("{file}", str(file))
        if writes and (statement.startswith(allowed) or " DELETE FROM author" in sql[:40]):
            continue
        start = time.monotonic()
        found = player.execute(statement)
        assert found.reason in reasons, (sql[:80], found.reason, found.error)
        assert found.error, sql[:80]
        assert found.rows == () == found.columns, sql[:80]
        assert time.monotonic() - start < PATIENCE, sql[:80]
        clean = player.execute("SELECT count(*), sum(id) FROM author")
        assert clean == whole, sql[:80]
    assert player.journal == ()
    assert content(database) == rows
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_hostile_lines_cost_a_turn_and_nothing_else(tmp_path: Path) -> None:
    """As actions of an episode: a typed outcome, an observation in its space, a clean next one."""
    env = piase_gym.parallel_env(
        "SqlQuery", domains=("library",), max_steps=200, actions="text", view="both"
    )
    env.reset(seed=1)
    world: Any = env.world
    opening, image = env.digest(), world.setting.database.image
    for sql, _ in ATTEMPTS:
        line = sql.replace("{file}", str(tmp_path / "loot.db"))
        observations, _, ended, cut, infos = env.step({"agent_0": line})
        assert env.observation_space("agent_0").contains(observations["agent_0"])
        info = infos["agent_0"]
        whole = line == line.encode("utf-8", "replace").decode()  # else `?` stands in the query
        allowed = ("failed", "timeout", "too_long", "unparsable") if whole else ("ok",)
        assert info["outcome"] in allowed, (sql[:60], info)
        assert info.get("error") in (None, *REASONS)
        assert not ended["agent_0"]
        assert not cut["agent_0"]
    for sql, _ in ATTEMPTS[:50]:  # the same as data
        env.step({"agent_0": Command("query", {"sql": sql})})
    assert world.setting.database.image == image
    assert not any(tmp_path.iterdir())
    env.reset(seed=1)
    assert env.digest() == opening
    gold = world.setting.task.gold
    assert env.step({"agent_0": gold})[4]["agent_0"]["score"] == 1.0


def test_what_may_be_asked(database: Database) -> None:
    """What people need to look at a schema, and functions that follow from their arguments."""
    player = LocalEngine(database)
    tables = player.execute("SHOW TABLES;").rows
    assert tables == (("author",), ("book",), ("loan",))
    described = player.execute("describe `book`").rows
    schema = {table.name: table for table in database.schema}
    assert [row[0] for row in described] == [column.name for column in schema["book"].columns]
    assert player.execute("SELECT name FROM pragma_table_info('book')").rows == tuple(
        (row[0],) for row in described
    )
    assert player.execute("SELECT value FROM json_each('[1, 2]')").rows == ((1,), (2,))
    assert player.execute("SELECT date('now'), strftime('%Y')").rows == (("2026-01-01", "2026"),)
    assert player.execute("WITH x(a) AS (VALUES (1), (2)) SELECT count(*) FROM x").rows == ((2,),)
    assert player.execute("EXPLAIN QUERY PLAN SELECT * FROM book").reason is None
    window = "SELECT id, row_number() OVER (ORDER BY id DESC) FROM author ORDER BY id LIMIT 1"
    count = player.execute("SELECT count(*) FROM author").rows[0][0]
    assert player.execute(window).rows == ((1, count),)


def test_limits_are_kept(database: Database) -> None:
    numbers = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT {}) SELECT "
    few = LocalEngine(database, limits=Limits(rows=5))
    assert len(few.execute(numbers.format(5) + "n FROM r").rows) == 5
    assert few.execute(numbers.format(6) + "n FROM r").reason == "too_many_rows"
    little = LocalEngine(database, limits=Limits(work=10))
    assert little.execute("SELECT 1").reason is None
    assert little.execute(numbers.format(99999) + "count(*) FROM r").reason == "timeout"
    short = LocalEngine(database, limits=Limits(value=1000, sql=100))
    assert short.execute("SELECT length(printf('%999s', 1))").rows == ((999,),)
    assert short.execute("SELECT hex(zeroblob(501))").reason == "too_long"
    assert short.execute("SELECT " + " " * 100 + "1").reason == "too_long"
    small = LocalEngine(database, limits=Limits(size=1000))
    assert small.execute(numbers.format(20) + "printf('%99s', n) FROM r").reason == "too_long"


def test_work_is_counted_alike_again_and_again(database: Database) -> None:
    """The border between what is allowed and what is too much lies at one number."""
    numbers = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT {}) SELECT "
    player = LocalEngine(database, limits=Limits(work=50))

    def too_much(count: int) -> bool:
        engine._memory.clear()
        return player.execute(numbers.format(count) + "count(*) FROM r").reason == "timeout"

    low, high = 1, 100_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if too_much(middle) else (middle, high)
    assert 1000 < low < 20_000
    for _ in range(3):
        assert not too_much(low)
        assert too_much(high)


def test_writes_are_a_value(database: Database) -> None:
    one, other = LocalEngine(database, writes=True), LocalEngine(database, writes=True)
    assert one.execute("UPDATE author SET name = 'Zed' WHERE id = 1").changed == 1
    gone = one.execute("DELETE FROM author WHERE id = 2 RETURNING id")
    assert gone.rows == ((2,),)
    assert gone.changed == 1
    assert other.execute("SELECT count(*) FROM author WHERE id < 3").rows == ((2,),)
    assert one.execute("INSERT INTO author (id) VALUES (1)").reason == "constraint"
    asked = "SELECT id, name FROM author WHERE id < 3"
    assert one.execute(asked).rows == ((1, "Zed"),)
    again = LocalEngine(database, writes=True)
    again.journal = one.journal
    engine._worker(os.getpid()).stop()  # nothing is lost with the process
    assert again.execute(asked).rows == one.execute(asked).rows == ((1, "Zed"),)
    assert LocalEngine(database).execute(asked).rows != ((1, "Zed"),)


def test_a_statement_that_fails_half_way_changes_nothing(database: Database) -> None:
    player = LocalEngine(database, writes=True, limits=Limits(rows=2))
    before = player.execute("SELECT sum(id), count(*) FROM book").rows
    assert player.execute("DELETE FROM book RETURNING id").reason == "too_many_rows"
    assert player.execute("UPDATE book SET id = id + 1 RETURNING id").reason is not None
    assert player.journal == ()
    assert player.execute("SELECT sum(id), count(*) FROM book").rows == before
    grow = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
    grown = player.execute(grow + "INSERT INTO author (name) SELECT printf('%90000s', n) FROM r")
    assert grown.reason in ("memory", "timeout")
    assert player.execute("SELECT max(length(name)) < 100 FROM author").rows == ((1,),)


def test_a_worker_that_is_gone_is_replaced(database: Database) -> None:
    player = LocalEngine(database)
    assert player.execute("SELECT 1").rows == ((1,),)
    process = engine._worker(os.getpid())._process
    assert process is not None
    process.kill()
    process.wait()
    engine._memory.clear()
    first, second = player.execute("SELECT 1"), player.execute("SELECT 2")
    assert first.reason in (None, "memory")
    assert second.rows == ((2,),)


def test_a_worker_that_ends_in_the_midst_of_a_query_is_replaced(database: Database) -> None:
    player = LocalEngine(database)
    assert player.execute("SELECT 3").rows == ((3,),)
    process = engine._worker(os.getpid())._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)  # it takes the query, and never answers
    end = threading.Timer(0.2, process.kill)
    end.start()
    assert player.execute("SELECT 4").reason == "memory"
    end.join()
    assert player.execute("SELECT 5").rows == ((5,),)


def test_a_busy_machine_fails_no_query_where_cpu_time_is_unknown(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = LocalEngine(database, limits=Limits(seconds=2.0))
    assert player.execute("SELECT 6").rows == ((6,),)
    process = engine._worker(os.getpid())._process
    assert process is not None
    monkeypatch.delattr("os.sysconf")  # as on Windows
    os.kill(process.pid, signal.SIGSTOP)
    go_on = threading.Timer(1.5, os.kill, (process.pid, signal.SIGCONT))
    go_on.start()
    assert player.execute("SELECT 7").rows == ((7,),)
    go_on.join()


def _ask(database: Database, pipe: Any) -> None:
    pipe.send(LocalEngine(database).execute("SELECT count(*) + 1 FROM author").rows)


def test_a_forked_process_has_a_worker_of_its_own(database: Database) -> None:
    player = LocalEngine(database)
    count = player.execute("SELECT count(*) FROM author").rows[0][0]
    mine = engine._worker(os.getpid())._process
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_ask, args=(database, there))
    child.start()
    assert here.recv() == ((count + 1,),)
    child.join()
    assert mine is not None
    assert mine.poll() is None
    assert player.execute("SELECT count(*) + 2 FROM author").rows == ((count + 2,),)


def test_a_process_may_have_many_files_open(database: Database) -> None:
    """The numbers of the worker's pipes are then larger than some ways of waiting can take."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1300:
        pytest.skip("a process may not have so many files open here")
    engine._worker(os.getpid()).stop()
    with contextlib.ExitStack() as stack:
        for _ in range(1100):
            stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        assert LocalEngine(database).execute("SELECT 40 + 2").rows == ((42,),)
    engine._worker(os.getpid()).stop()


def test_queries_run_where_pipes_cannot_be_polled(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("select.poll")  # as on Windows
    engine._worker(os.getpid()).stop()
    assert LocalEngine(database).execute("SELECT 40 + 2").rows == ((42,),)


def test_the_process_of_the_caller_keeps_its_memory() -> None:
    """200 MB in a database of the caller's, beside 1,000 open episodes."""
    code = """
import sqlite3, piase_gym
envs = [piase_gym.parallel_env("SqlQuery", max_steps=5) for _ in range(20)]
worlds = [env.world for env in envs]
import copy
for k, env in enumerate(envs):
    env.reset(seed=k)
open_ones = [copy.deepcopy(world) for world in worlds for _ in range(49)] + worlds
assert len(open_ones) == 1000
from piase_gym.worlds.sql_query.players.oracle import SqlQueryOracle
for world in open_ones:
    world.step([SqlQueryOracle(world).act(0)])
own = sqlite3.connect(":memory:")
assert own.execute("PRAGMA hard_heap_limit").fetchone() == (0,)
assert own.execute("PRAGMA soft_heap_limit").fetchone() == (0,)
own.execute("CREATE TABLE big (data)")
own.executemany("INSERT INTO big VALUES (zeroblob(?))", [(1_000_000,)] * 200)
assert own.execute("SELECT sum(length(data)) FROM big").fetchone() == (200_000_000,)
assert len(own.execute("SELECT hex(zeroblob(5000000))").fetchone()[0]) == 10_000_000
assert all(world.step([SqlQueryOracle(world).act(0)]).rewards == [1.0] for world in open_ones)
own.close()
print("healthy")
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True)
    assert (done.stdout, done.stderr) == (b"healthy\n", b"")


def test_files_are_read_and_never_changed(tmp_path: Path, database: Database) -> None:
    path = tmp_path / "shop.sqlite"
    path.write_bytes(database.image)
    found = from_file(path)
    assert found.name == "shop"
    assert found.schema == database.schema
    player = LocalEngine(found, writes=True)
    assert player.execute("DELETE FROM loan").changed > 0
    assert path.read_bytes() == database.image
    for spoilt in (
        b"",
        b"not a database",
        b"SQLite format 3\0" + b"x" * 5000,
        database.image[:5000],
        database.image[:4096] + b"\xff" * (len(database.image) - 4096),
    ):
        path.write_bytes(spoilt)
        with pytest.raises(ConfigError, match=r"shop\.sqlite: this is no SQLite database") as told:
            from_file(path)
        assert "\n" not in str(told.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        from_file(tmp_path / "missing.db")


def test_a_database_with_a_write_ahead_log_is_read_when_all_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (5)")
        connection.commit()
        with pytest.raises(ConfigError, match=r"changes are still in shop\.sqlite-wal"):
            from_file(path)
    assert LocalEngine(from_file(path)).execute("SELECT x FROM t").rows == ((5,),)


def test_a_folder_of_sqlite_files_is_a_dataset(tmp_path: Path, database: Database) -> None:
    """Tasks beside SQLite files are played; a file that is none is one clear error."""
    (tmp_path / "shop.sqlite").write_bytes(database.image)
    task = {"db": "shop", "query": "How many?", "gold": "SELECT count(*) FROM author"}
    (tmp_path / "tasks.json").write_text(json.dumps([task]), "utf-8")
    env = piase_gym.parallel_env("SqlQuery", dataset=str(tmp_path), task=0, actions="text")
    env.reset(seed=0)
    env.step({"agent_0": task["gold"]})
    assert env.step({"agent_0": "submit"})[1] == {"agent_0": 1.0}
    for place in (tmp_path, tmp_path / "tasks.json"):  # InterCode's calls take them, too
        intercode = SqlEnv(data_path=place)
        assert intercode.reset(0) == ("How many?", {})
        intercode.step(task["gold"])
        assert intercode.step("submit")[1] == 1.0
        intercode.close()
    (tmp_path / "shop.sqlite").write_bytes(b"SQLite format 3" + bytes(9000))
    with pytest.raises(ConfigError, match="this is no SQLite database"):
        piase_gym.parallel_env("SqlQuery", dataset=str(tmp_path))
    (tmp_path / "shop.sqlite").rename(tmp_path / "other.db")
    (tmp_path / "other.db").write_bytes(database.image)
    with pytest.raises(ConfigError, match="no database 'shop'"):
        piase_gym.parallel_env("SqlQuery", dataset=str(tmp_path))
    (tmp_path / "tasks.json").write_text("{}", "utf-8")
    with pytest.raises(ConfigError, match=r"^SqlQuery: 'tasks\.json' must be a list of tasks"):
        piase_gym.parallel_env("SqlQuery", dataset=str(tmp_path))


def test_tables_are_described_whatever_they_are_called(tmp_path: Path) -> None:
    names = ("order", "Order Details", "table", "tables", "a-b")
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        for name in names:
            connection.execute(f'CREATE TABLE "{name}" (id INTEGER PRIMARY KEY, n TEXT)')
        connection.commit()
    task = {"db": "shop", "query": "How many?", "gold": 'SELECT count(*) FROM "order"'}
    (tmp_path / "tasks.json").write_text(json.dumps([task]), "utf-8")
    env = piase_gym.parallel_env(
        "SqlQuery", dataset=str(tmp_path), actions="text", view="text", discover=True
    )
    env.reset(seed=0)
    env.step({"agent_0": "tables"})
    for name in names:
        *_, infos = env.step({"agent_0": f"describe {name}"})
        assert infos["agent_0"]["outcome"] == "ok", name
        (found,) = [table for table in env.facts("agent_0").tables if table.name == name]
        assert [column.name for column in found.columns] == ["id", "n"]


def test_schemas_are_read_as_they_were_declared() -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            'CREATE TABLE B (x, "odd name" VARCHAR(9), PRIMARY KEY (x)); '
            "CREATE TABLE a (id INTEGER PRIMARY KEY, b REFERENCES b, c INT REFERENCES B(x)); "
            "CREATE VIEW v AS SELECT 1; CREATE INDEX i ON a (b);"
        )
        a, b = read_schema(connection.serialize())
    assert (a.name, b.name) == ("a", "B")
    assert [tuple(column) for column in b.columns] == [
        ("x", "", True),
        ("odd name", "VARCHAR(9)", False),
    ]
    assert [tuple(link) for link in a.references] == [("c", "B", "x"), ("b", "B", "x")]


def test_large_databases_have_room() -> None:
    """One that is larger than all room for databases is opened, and queries still have memory."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE big (data)")
        connection.executemany("INSERT INTO big VALUES (zeroblob(?))", [(100_000,)] * 250)
        connection.commit()
        large = Database("large", connection.serialize())
    asked = LocalEngine(large).execute("SELECT count(*), sum(length(data)) FROM big")
    assert asked.rows == ((250, 25_000_000),)
    assert LocalEngine(large, writes=True).execute("DELETE FROM big").changed == 250
    engine._worker(os.getpid()).stop()


def test_results_that_only_read_are_remembered_within_bounds(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.Memory, "most", 5000)
    player = LocalEngine(database)
    for k in range(300):
        assert player.execute(f"SELECT {k}, name FROM author LIMIT 3").rows[0][0] == k
        assert engine._memory.size <= 5000 + engine.Memory.largest
    first = player.execute("SELECT 7")
    assert player.execute("SELECT 7") is first
    assert isinstance(first, Result)
    other = Database("other", database.image, "mysql")
    assert engine._memory.get((other.stamp, other.dialect, "SELECT 7", Limits())) is None


def test_an_interrupted_statement_leaves_no_answer_behind(database: Database) -> None:
    slow = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 30000000) SELECT "
    player = LocalEngine(database, limits=Limits(work=10**9, seconds=2 * PATIENCE))
    assert player.execute("SELECT 1").rows == ((1,),)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            player.execute(slow + "count(*) FROM r")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert player.execute("SELECT 2").rows == ((2,),)
