"""Live sinks beside files: databases and callbacks, and what becomes of those that fail."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
import time
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym import runs
from piase_gym.errors import ConfigError, LogSinkWarning, LogWriteError
from piase_gym.wrappers import AvtLogger
from tests.helpers.piaavt import lines
from tests.helpers.run_worlds import grid, play
from tests.worlds.sql_query.servers import missing, serving


def as_events(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of a database as the events that they stand for."""
    for row in rows:
        if isinstance(row["event_data"], str):
            row["event_data"] = json.loads(row["event_data"])
    return sorted(rows, key=lambda row: int(row["event_id"].rpartition(":")[2]))


def test_any_sqlalchemy_url_is_a_live_sink_beside_files_sqlite(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    path, base = tmp_path / "run.jsonl", tmp_path / "runs.db"
    sink = runs.SqlSink(f"sqlite:///{base}")
    env = AvtLogger(grid(), path, level="full", sinks=[sink])
    play(env, episodes=1)
    with closing(sqlite3.connect(base)) as reader:  # while the run goes on
        for _ in range(200):
            seen = reader.execute("SELECT count(*) FROM events").fetchone()[0]
            if seen > 20:
                break
            time.sleep(0.05)
    assert seen > 20
    play(env, episodes=1, seed=5)
    env.close()
    with closing(sqlite3.connect(base)) as reader:
        reader.row_factory = sqlite3.Row
        found = as_events([dict(row) for row in reader.execute("SELECT * FROM events")])
    assert found == lines(path)
    again = AvtLogger(grid(), sinks=[runs.SqlSink(f"sqlite:///{base}")])  # another run, one table
    again.close()
    with closing(sqlite3.connect(base)) as reader:
        names = reader.execute("SELECT DISTINCT simulation_run_id FROM events").fetchall()
    assert len(names) == 2


@pytest.mark.skipif(bool(missing("postgresql")), reason=missing("postgresql") or "it is here")
def test_any_sqlalchemy_url_is_a_live_sink_beside_files_postgresql(tmp_path: Path) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    path = tmp_path / "run.jsonl"
    with serving("postgresql") as url:
        env = AvtLogger(grid(), path, level="full", sinks=[runs.SqlSink(url, table="lines")])
        env.reset(seed=0)
        odd = {"zero": "a\x00b", "plain": "a\\u0000b", "text": "Grüße, 你好", "big": 2**60}
        env.post_event("odd", odd)
        play(env, episodes=2)
        env.close()
        engine = sqlalchemy.create_engine(url)
        with engine.connect() as reader:
            rows = reader.execute(sqlalchemy.text("SELECT * FROM lines")).mappings()
            found = as_events([dict(row) for row in rows])
            asked = "SELECT count(*) FROM lines WHERE event_data->>'kind' = 'step'"
            steps = reader.execute(sqlalchemy.text(asked)).scalar_one()
        engine.dispose()
    events = lines(path)
    posted = next(event for event in events if event["event_data"].get("kind") == "posted")
    assert posted["event_data"]["data"] == odd
    posted["event_data"]["data"]["zero"] = "a\ufffdb"  # PostgreSQL cannot keep a zero byte
    assert found == events
    assert steps == sum(event["event_data"].get("kind") == "step" for event in events)


def test_a_callback_is_a_live_sink(tmp_path: Path) -> None:
    path, seen, threads = tmp_path / "run.jsonl", list[Any](), set[str]()

    def listen(event: dict[str, Any]) -> None:
        seen.append(event)
        threads.add(threading.current_thread().name)

    env = AvtLogger(grid(), path, level="events", sinks=[runs.CallbackSink(listen)])
    play(env, episodes=2)
    env.close()
    assert seen == lines(path)
    assert threads == {"piase-live-sink"}


def test_what_was_taken_makes_room_again() -> None:
    sizes: list[int] = []
    sink = runs.CallbackSink(lambda event: sizes.append(len(event["text"])), room=10_000)
    for _ in range(10):
        sink.write(json.dumps({"text": "x" * 6000}).encode() + b"\n")
        end = time.monotonic() + 5
        while sink._taken < sink._given and time.monotonic() < end:
            time.sleep(0.001)
    sink.close()
    assert sizes == [6000] * 10


def test_what_has_no_room_is_refused_at_once() -> None:
    seen: list[Any] = []
    sink = runs.CallbackSink(seen.append, room=13)
    sink.write(b'{"number":1}\n')
    sink.close()
    assert seen == [{"number": 1}]
    sink = runs.CallbackSink(seen.append, room=12)
    with pytest.raises(OSError, match="0 bytes wait for it, and 13 more have no room"):
        sink.write(b'{"number":1}\n')


def test_what_is_taken_while_more_is_written_makes_room() -> None:
    taken = [threading.Event(), threading.Event()]

    class Piece(bytes):
        """A line that is counted only when the sink has taken the one before."""

        lengths = 0

        def __len__(self) -> int:
            self.lengths += 1
            if self.lengths == 2:  # the first time, it is asked whether there is room
                taken[0].set()
                assert taken[1].wait(10)
                time.sleep(0.05)  # until the sink's thread has counted it
            return super().__len__()

    def take(event: dict[str, Any]) -> None:
        assert taken[0].wait(10)
        if event["number"] == 1:
            taken[1].set()

    sink = runs.CallbackSink(take, room=32)
    sink.write(b'{"number":1}\n')
    sink.write(Piece(b'{"number":2}\n'))
    end = time.monotonic() + 5
    while sink._taken != sink._given and time.monotonic() < end:
        time.sleep(0.001)
    sink.write(b'{"number":3,"more":0}\n')  # too long, had the first still a share of the room
    sink.close()


class Wall:
    """A callback that never returns until it is let go."""

    def __init__(self) -> None:
        self.free = threading.Event()

    def __call__(self, _event: dict[str, Any]) -> None:
        self.free.wait(30)


def fails(event: dict[str, Any]) -> None:
    """Fail at the first step."""
    if event["event_data"].get("kind") == "step":
        raise ValueError("no steps, please")


@pytest.mark.parametrize("on_error", ["warn", "stop"])
@pytest.mark.parametrize(
    ("how", "options", "told"),
    [
        ("fails", {}, "no steps, please"),
        ("hangs", {"timeout": 0.2}, "it has taken nothing for 0.2 s"),
        ("is full", {"room": 4000}, "no room"),
    ],
)
def test_a_sink_that_fails_hangs_or_is_full_is_left_out_and_the_file_stays_whole(
    how: str, options: dict[str, Any], told: str, on_error: str, tmp_path: Path
) -> None:
    path, memory, wall = tmp_path / "run.jsonl", runs.MemorySink(), Wall()
    sink = runs.CallbackSink(fails if how == "fails" else wall, **options)
    env = AvtLogger(grid(), path, level="events", sinks=[sink, memory], on_error=on_error)
    caught: list[Any] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        began = time.monotonic()
        for seed in range(3):
            try:
                play(env, episodes=1, seed=seed)
                time.sleep(0.3)
            except LogWriteError as error:
                caught.append(str(error))
        try:
            env.close()
        except LogWriteError as error:
            caught.append(str(error))
        assert time.monotonic() - began < 10
    wall.free.set()
    if on_error == "warn":
        caught = [str(item.message) for item in heard if item.category is LogSinkWarning]
    assert len(caught) == 1
    assert told in caught[0]
    assert "callback" in caught[0]
    assert runs.validate(path).ok
    assert runs.replay(path).verdict == "sound"
    assert memory.events == lines(path)


def test_a_database_that_breaks_off_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    path, base = tmp_path / "run.jsonl", tmp_path / "runs.db"
    env = AvtLogger(grid(), path, sinks=[runs.SqlSink(f"sqlite:///{base}")])
    play(env, episodes=1)
    with closing(sqlite3.connect(base)) as other:
        other.execute("DROP TABLE events")

    def go_on() -> None:
        for seed in range(20):
            play(env, episodes=1, seed=seed)
            time.sleep(0.05)
        env.close()

    with pytest.warns(LogSinkWarning, match=r"runs\.db \(table events\).*no such table"):
        go_on()
    assert runs.replay(path).verdict == "sound"


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: runs.SqlSink("nonsense"), ConfigError, "no database URL"),
        (lambda: runs.SqlSink(3), ConfigError, "no database URL"),  # type: ignore[arg-type]
        (lambda: runs.SqlSink("sqlite://", table="a b"), ConfigError, "a word"),
        (lambda: runs.SqlSink("sqlite:////nowhere/x.db"), LogWriteError, "unable to open"),
        (lambda: runs.SqlSink("foo://x"), LogWriteError, "foo"),
        (
            lambda: runs.SqlSink("postgresql+psycopg://me:secret@127.0.0.1:1/x"),
            LogWriteError,
            r"me:\*\*\*@.* cannot be opened",
        ),
        (lambda: runs.CallbackSink(3), ConfigError, "a function"),  # type: ignore[arg-type]
        (lambda: runs.CallbackSink(print, timeout=0), ConfigError, "timeout"),
        (lambda: runs.CallbackSink(print, timeout="5"), ConfigError, "timeout"),  # type: ignore[arg-type]
        (lambda: runs.CallbackSink(print, room=-1), ConfigError, "room"),
    ],
)
def test_places_that_cannot_be_opened(make: Any, error: type[Exception], told: str) -> None:
    pytest.importorskip("sqlalchemy")
    with pytest.raises(error, match=told):
        make()


def test_a_table_with_other_columns_is_refused_at_once(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    base = tmp_path / "runs.db"
    with closing(sqlite3.connect(base)) as other:
        other.execute("CREATE TABLE events (event_id TEXT)")
    with pytest.raises(LogWriteError, match=r"runs\.db \(table events\) cannot be opened: no such"):
        runs.SqlSink(f"sqlite:///{base}")


def test_a_sink_that_comes_too_late_is_closed_and_its_thread_ends() -> None:
    class Late(runs.MemorySink):
        closed = threading.Event()

        def close(self) -> None:
            self.closed.set()

    def make() -> Late:
        time.sleep(0.3)
        return Late()

    with pytest.raises(LogWriteError, match=r"slow cannot be opened: no answer within 0\.05 s"):
        runs.LiveSink(make, "slow", timeout=0.05)
    assert Late.closed.wait(10)


@pytest.mark.parametrize("timeout", [math.inf, 1e300, np.int64(5), np.float32(5)])
def test_a_sink_may_have_any_time(timeout: Any) -> None:
    def make() -> runs.MemorySink:
        time.sleep(0.05)
        return runs.MemorySink()

    runs.LiveSink(make, "patient", timeout=timeout).close()


@pytest.mark.parametrize("on_error", ["warn", "stop"])
@pytest.mark.parametrize("kind", ["file", "callback"])
def test_a_sink_of_a_run_that_has_ended_is_refused(
    kind: str, on_error: str, tmp_path: Path
) -> None:
    sink: Any = runs.CallbackSink(lambda event: None)
    if kind == "file":
        sink = runs.FileSink(tmp_path / "run.jsonl")
    env = AvtLogger(grid(), sinks=[sink])
    env.close()
    told = "it is closed; make another one for each run"
    again = grid()
    if on_error == "warn":
        with pytest.warns(LogSinkWarning, match=told):
            runs.record(again, sinks=[sink], on_error=on_error)
    else:
        with pytest.raises(LogWriteError, match=told):
            runs.record(again, sinks=[sink], on_error=on_error)
    again.close()


def test_a_line_is_in_a_table_once(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    base = tmp_path / "runs.db"
    env = AvtLogger(grid(), tmp_path / "run.jsonl", sinks=[runs.SqlSink(f"sqlite:///{base}")])
    play(env, episodes=1)
    env.close()
    with closing(sqlite3.connect(base)) as other:
        columns = other.execute("PRAGMA table_info(events)").fetchall()
        assert [name for _, name, _, _, _, key in columns if key] == ["event_id"]
        with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
            other.execute("INSERT INTO events SELECT * FROM events LIMIT 1")
