"""Exports of a log of a few lines that are written by hand: every row and value of it."""

from __future__ import annotations

import csv
import gzip
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from piase_gym import runs
from piase_gym.errors import ConfigError, LogWriteError, RunError
from piase_gym.runs import row_files
from piase_gym.runs.exports import epoch, expanded, export
from tests.helpers import log_lines

ACTIONS = [{"type": "stay", "parameters": {}}]
MANIFEST: dict[str, Any] = {**log_lines.MANIFEST, "actions": ACTIONS}
STEP: dict[str, Any] = {
    "kind": "step",
    "commands": {"a": 0, "b": None},
    "outcomes": {"a": "ok", "b": "timeout"},
    "rewards": {"a": 0.5, "b": 0.0},
}
SENT = {
    "goal_id": "r:goal_2_a",
    "agent_id_acting": "a",
    "action_details": {"type": "stay", "parameters": {}},
}


def event(number: int, event_type: str, data: Any, agent: str = "system", **more: Any) -> Any:
    """Return a line of a log."""
    own = {
        "timestamp": f"2020-01-02T03:04:{number:02}.250000Z",
        "event_id": f"r:{number}",
        "step": number,
        "episode": 2,
    }
    return log_lines.event(event_type, data, agent, **{**own, **more})


def log(folder: Path, *rows: Any) -> Path:
    """Write a log of a manifest and lines."""
    path = folder / "run.jsonl"
    lines = [event(0, "SIMULATION_CONTROL", MANIFEST), *rows]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in lines))
    return path


@pytest.fixture
def rows() -> list[Any]:
    """A step, and a line with odd text."""
    return [
        event(1, "ENVIRONMENT_EVENT_OCCURRED", STEP),
        event(2, "SYSTEM_MESSAGE", {"text": "nil \0, 'quoted', é"}, "b"),
    ]


def flat(row: Any) -> dict[str, Any]:
    """Return a row with its data as text."""
    return {**row, "event_data": orjson.dumps(row["event_data"]).decode()}


@pytest.mark.parametrize("batch", [1, 2, 50])
def test_every_format_has_the_rows_in_order(
    batch: int, rows: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "BATCH", batch)
    path = log(tmp_path, *rows)
    wanted = [event(0, "SIMULATION_CONTROL", MANIFEST), *rows]
    out = tmp_path / "out"
    for name in ("a.jsonl", "a.jsonl.gz"):
        assert export(path, out / name) == out / name
        unpack = gzip.decompress if name.endswith("gz") else bytes
        lines = unpack((out / name).read_bytes()).splitlines()
        assert [orjson.loads(line) for line in lines] == wanted
    export(path, out / "a.csv")
    with (out / "a.csv").open(newline="", encoding="utf-8") as file:
        text = list(csv.reader(file))
    assert text[0] == [*wanted[0]]
    assert text[1:] == [[str(value) for value in flat(row).values()] for row in wanted]
    export(path, out / "a.db")
    with closing(sqlite3.connect(out / "a.db")) as base:
        assert list(base.execute("SELECT * FROM events")) == [
            tuple(flat(row).values()) for row in wanted
        ]
        indices = {row[0] for row in base.execute("SELECT sql FROM sqlite_master")}
    for name in ("event_type", "agent_id", "step"):
        assert f"CREATE INDEX by_{name} ON events ({name})" in indices


@pytest.mark.parametrize("batch", [1, 2, 50])
def test_columns_have_types(
    batch: int, rows: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "BATCH", batch)
    parquet, h5py = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("h5py")
    path = log(tmp_path, *rows)
    wanted = [event(0, "SIMULATION_CONTROL", MANIFEST), *rows]
    start = datetime(2020, 1, 2, 3, 4, 0, 250_000, tzinfo=UTC).timestamp()
    wanted = [{**flat(row), "timestamp": start + row["step"]} for row in wanted]
    export(path, tmp_path / "a.parquet", timestamps="epoch")
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.to_pylist() == wanted
    assert table.column_names == [*wanted[0]]
    kinds = {"timestamp": "double", "step": "int64", "episode": "int64"}
    assert [str(kind) for kind in table.schema.types] == [
        kinds.get(name, "string") for name in wanted[0]
    ]
    export(path, tmp_path / "a.h5", timestamps="epoch")
    with h5py.File(tmp_path / "a.h5") as file:
        group = file["events"]
        assert {name: group[name].dtype.kind for name in group} == {
            name: {"timestamp": "f", "step": "i", "episode": "i"}.get(name, "O")
            for name in wanted[0]
        }
        for name, column in group.items():
            values = [v.decode() if isinstance(v, bytes) else v for v in column[:].tolist()]
            assert values == [row[name] for row in wanted]
            assert (column.chunks is not None, column.compression) == (True, "gzip")


def test_names_of_streams_with_null_characters_are_whole_in_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = log(tmp_path, event(1, "SYSTEM_MESSAGE", {}, "a\0b"))
    export(path, tmp_path / "a.hdf5")
    with h5py.File(tmp_path / "a.hdf5") as file:
        assert file["events"]["agent_id"][1] == b"a\\u0000b"


def test_the_legacy_dialect_adds_two_names(rows: list[Any], tmp_path: Path) -> None:
    export(log(tmp_path, *rows), tmp_path / "a.jsonl", dialect="legacy", timestamps="epoch")
    told = [orjson.loads(line) for line in (tmp_path / "a.jsonl").read_bytes().splitlines()]
    more = {"source": "PiaSE.SimulationEngine", "data": STEP, "timestamp": epoch(OCCURRED)}
    assert told[1] == {**rows[0], **more}


OCCURRED = "2020-01-02T03:04:01.250000Z"


def test_times_of_day_are_seconds_since_1970() -> None:
    assert epoch("1970-01-01T00:00:01.500000Z") == 1.5
    assert epoch("1970-01-02T00:00:00.000000Z") == 86_400.0


def test_a_step_is_followed_by_what_it_stands_for(rows: list[Any], tmp_path: Path) -> None:
    found = list(expanded(runs.read(log(tmp_path, *rows))))
    assert [(row["event_id"], row["agent_id"], row["event_type"]) for row in found] == [
        ("r:0", "system", "SIMULATION_CONTROL"),
        ("r:1", "system", "ENVIRONMENT_EVENT_OCCURRED"),
        ("r:1.1", "a", "AGENT_ACTION_SENT_TO_ENV"),
        ("r:1.2", "a", "AGENT_ACTION_EXECUTED_IN_ENV"),
        ("r:1.3", "a", "REWARD_SIGNAL_ISSUED"),
        ("r:1.4", "b", "AGENT_ACTION_SENT_TO_ENV"),
        ("r:1.5", "b", "AGENT_ACTION_EXECUTED_IN_ENV"),
        ("r:1.6", "b", "REWARD_SIGNAL_ISSUED"),
        ("r:2", "b", "SYSTEM_MESSAGE"),
    ]
    assert found[2] == {
        **rows[0],
        "event_id": "r:1.1",
        "agent_id": "a",
        "event_type": "AGENT_ACTION_SENT_TO_ENV",
        "source_component_id": "PiaAGI.Agent_a",
        "source_type": "AGENT",
        "event_data": SENT,
    }
    assert found[4]["source_component_id"] == "PiaSE.Environment_Small"
    assert found[4]["source_type"] == "ENVIRONMENT"
    export(log(tmp_path, *rows), tmp_path / "a.jsonl", expand=True)
    written = [orjson.loads(line) for line in (tmp_path / "a.jsonl").read_bytes().splitlines()]
    assert written == found
    # At the end of a log, too.
    assert len(list(expanded(runs.read(log(tmp_path, rows[0]))))) == 8


def test_lines_that_are_there_stay_in_place(rows: list[Any], tmp_path: Path) -> None:
    command = {"action_command": {"action_type": "stay"}}
    logged = [
        event(1, "AGENT_ACTION_SENT_TO_ENV", {**SENT, **command}, "a", event_id="r:9"),
        event(1, "REWARD_SIGNAL_ISSUED", {"reward_value": 0.0, "reason": "timeout"}, "b"),
        event(1, "REWARD_SIGNAL_ISSUED", {"reward_value": 9.0, "reason": "timeout"}, "b"),
    ]
    found = list(expanded(runs.read(log(tmp_path, rows[0], *logged))))
    assert [row["event_id"] for row in found] == [
        "r:0",
        "r:1",
        "r:9",
        "r:1.2",
        "r:1.3",
        "r:1.4",
        "r:1.5",
        "r:1",
        "r:1",
    ]
    assert found[2] == logged[0]
    # The same data of another agent, type or step are another line.
    for change in ({"agent_id": "b"}, {"event_type": "SYSTEM_MESSAGE"}, {"step": 2}):
        other = {**logged[0], **change}
        found = list(expanded(runs.read(log(tmp_path, rows[0], other))))
        assert (len(found), found[-1]) == (9, other)


def test_damage_is_told_with_the_line(rows: list[Any], tmp_path: Path) -> None:
    step = {key: value for key, value in STEP.items() if key != "outcomes"}
    path = log(tmp_path, rows[1], event(1, "ENVIRONMENT_EVENT_OCCURRED", step))
    with pytest.raises(RunError, match=r"run\.jsonl: line 3: event_data lacks 'outcomes'"):
        list(expanded(runs.read(path)))
    path = log(tmp_path, event(1, "SYSTEM_MESSAGE", {}, timestamp="noon"))
    with pytest.raises(RunError, match=r"run\.jsonl: event r:1: time data 'noon'"):
        export(path, tmp_path / "a.csv", timestamps="epoch")


def test_formats_go_by_the_name_or_the_ending(rows: list[Any], tmp_path: Path) -> None:
    path = log(tmp_path, *rows)
    export(path, tmp_path / "table", format="csv")
    assert (tmp_path / "table").read_text("utf-8").startswith("timestamp,")
    allowed = r"allowed: \.csv, \.parquet, .*; or name a format: csv, .*chat"
    with pytest.raises(ConfigError, match=rf"the ending of 'a\.txt' is unknown; {allowed}"):
        export(path, tmp_path / "a.txt")
    with pytest.raises(ConfigError, match="unknown format 'cvs'; did you mean 'csv'"):
        export(path, tmp_path / "a.txt", format="cvs")
    with pytest.raises(ConfigError, match="unknown timestamps 'unix'"):
        export(path, tmp_path / "a.csv", timestamps="unix")
    with pytest.raises(ConfigError, match=r"a\.csv\.gz: only JSON Lines are written as \.gz"):
        export(path, tmp_path / "a.csv.gz")
    with pytest.raises(LogWriteError, match="is the log itself"):
        export(path, path, overwrite=True)
    assert not (tmp_path / "a.csv").exists()
