"""Reading a log of a few lines: which events, which manifest, which ends, which faults."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from piase_gym import runs
from piase_gym.errors import ConfigError, RunError
from piase_gym.runs import reader
from piase_gym.runs.log_file import GIVEN_UP, Problem
from piase_gym.runs.reader import FIRST_LINES, damaged, lacking
from tests.helpers.log_lines import MANIFEST, event


def begin(**more: Any) -> dict[str, Any]:
    """Return a manifest's line."""
    return event("SIMULATION_CONTROL", {**MANIFEST, **more})


RESET = event("ENVIRONMENT_EVENT_OCCURRED", {"kind": "reset", "seed": 1})
STEP = event("ENVIRONMENT_EVENT_OCCURRED", {"kind": "step"})
GOAL = event("GOAL_CREATED", {}, "a")
END = event("SIMULATION_CONTROL", {"control": "end", "summary": {"steps": 1}})


def log(folder: Path, *rows: Any) -> Path:
    """Write a log; rows that are bytes are written as they are."""
    path = folder / "run.jsonl"
    lines = [row if isinstance(row, bytes) else orjson.dumps(row) for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def test_a_run_says_what_it_is(tmp_path: Path) -> None:
    path = log(tmp_path, begin(), RESET, STEP, END)
    run = runs.read(path)
    assert (run.path, run.level, run.run_id, run.experiment_id) == (path, None, "r", "e")
    assert run.manifest == MANIFEST
    assert run.agents == ["a", "b"]
    assert repr(run) == f"<Run r of Small at {path}>"
    assert list(run) == [begin(), RESET, STEP, END]
    assert list(run.numbered()) == list(enumerate([begin(), RESET, STEP, END], 1))
    assert list(run.steps()) == [STEP]
    assert (run.summary, run.complete, run.problems) == ({"steps": 1}, True, [])


@pytest.mark.parametrize(
    "last",
    [
        STEP,
        {**END, "event_type": "SYSTEM_MESSAGE"},
        event("SIMULATION_CONTROL", {"control": "stop", "summary": {}}),
        event("SIMULATION_CONTROL", {"control": "end", "summary": 3}),
        event("SIMULATION_CONTROL", {"control": "end"}),
    ],
)
def test_a_run_without_an_end_has_no_summary(last: Any, tmp_path: Path) -> None:
    run = runs.read(log(tmp_path, begin(), END, last))
    assert (run.summary, run.complete) == (None, False)


def test_the_ends_are_looked_for_once(tmp_path: Path) -> None:
    path = log(tmp_path, begin(), b"oops", END)
    run = runs.read(path)
    (problem,) = run.problems
    assert problem.line == 2
    path.write_bytes(b"")
    assert run.problems == [problem]
    assert run.summary == {"steps": 1}


def test_events_are_chosen_by_type_and_agent(tmp_path: Path) -> None:
    other = event("GOAL_CREATED", {}, "b")
    run = runs.read(log(tmp_path, begin(), RESET, GOAL, other, STEP))
    assert list(run.events("GOAL_CREATED")) == [GOAL, other]
    assert list(run.events(["GOAL_CREATED", "SIMULATION_CONTROL"])) == [begin(), GOAL, other]
    assert list(run.events(agent="a")) == [GOAL]
    assert list(run.events("GOAL_CREATED", "b")) == [other]
    assert list(run.events("ENVIRONMENT_EVENT_OCCURRED", "a")) == []
    assert list(run.events(iter(["GOAL_CREATED"]))) == [GOAL, other]
    assert list(run.events([])) == []


def test_lines_that_cannot_be_read_are_told_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_BAD", 3)
    less = {key: value for key, value in GOAL.items() if key != "agent_id"}
    run = runs.read(log(tmp_path, begin(), b"[1]", RESET, less, b"", STEP))
    told: list[Problem] = []
    assert list(run.events(report=told.append)) == [begin(), RESET, STEP]
    assert told == [
        Problem(2, "the line is a JSON list, not an object"),
        Problem(4, "the field 'agent_id' is missing"),
        Problem(5, "the line is empty"),
    ]
    run = runs.read(log(tmp_path, begin(), b"[1]", b"", b"", RESET, b"", STEP))
    told.clear()
    assert list(run.events(report=told.append)) == [begin(), RESET]
    assert [problem.line for problem in told] == [2, 3, 4, 6]
    assert told[-1].reason == GIVEN_UP
    assert list(run) == [begin(), RESET]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ""),
        ({"step": 0, "episode": 0}, ""),
        ({"step": (1 << 63) - 1, "episode": (1 << 63) - 1}, ""),
        ({"step": 1 << 63}, f"the field 'step' is {1 << 63}; it counts from 0"),
        ({"episode": 1 << 63}, f"the field 'episode' is {1 << 63}; it counts from 0"),
        ({"step": -1}, "the field 'step' is -1; it counts from 0"),
        ({"episode": -1}, "the field 'episode' is -1; it counts from 0"),
        ({"step": True}, "the field 'step' is not an integer"),
        ({"episode": 1.0}, "the field 'episode' is not an integer"),
        ({"event_id": 3}, "the field 'event_id' is not a string"),
        ({"timestamp": None}, "the field 'timestamp' is not a string"),
        ({"event_data": []}, "the field 'event_data' is not an object"),
        *(({key: ...}, f"the field {key!r} is missing") for key in GOAL),
    ],
)
def test_every_field_has_its_type(change: dict[str, Any], fault: str) -> None:
    line = {**GOAL, **change}
    assert lacking({key: value for key, value in line.items() if value is not ...}) == fault


def test_damaged_values_are_told_with_file_and_line() -> None:
    path = Path("run.jsonl")
    told = "run.jsonl: line 3: event_data "
    assert str(damaged(path, 3, KeyError("seed"))) == f"{told}lacks 'seed'"
    assert str(damaged(path, 3, TypeError("odd"))) == f"{told}is damaged: odd"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "line 1: the log is empty$"),
        ([b"oops"], "line 1: the line is not JSON"),
        ([{**begin(), "step": -1}], "line 1: the field 'step' is -1"),
        ([RESET], "line 1: a run starts with its manifest, not ENVIRONMENT_EVENT_OCCURRED"),
        ([END], "line 1: a run starts with its manifest, not SIMULATION_CONTROL"),
        ([{**begin(), "event_type": "OTHER"}], "a run starts with its manifest, not OTHER"),
        ([begin(schema_version=4)], r"run\.jsonl: line 1: this log has schema version 4"),
    ],
)
def test_what_is_no_log_is_told(rows: list[Any], told: str, tmp_path: Path) -> None:
    path = log(tmp_path, *rows)
    with pytest.raises(RunError, match=told) as caught:
        runs.read(path)
    assert str(path) in str(caught.value)


def test_folders_and_levels_are_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is a folder, not a log"):
        runs.read(tmp_path)
    with pytest.raises(RunError, match="named by the path of its log, not by 5"):
        runs.read(5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown level 'most'"):
        runs.read(log(tmp_path, begin()), level="most")
    with pytest.raises(RunError, match="has lines already"):
        runs.read(log(tmp_path, begin()), level="full")
    with pytest.raises(RunError, match="cannot be read"):
        runs.read("a\0b")


@pytest.mark.parametrize(
    ("between", "world"),
    [
        ([], "New"),
        ([b"oops", {"a": 1}, GOAL], "New"),
        ([RESET], "Small"),
        ([event("ENVIRONMENT_STATE_CHANGED", {"kind": "restore"})], "Small"),
        ([GOAL] * (FIRST_LINES - 2), "New"),
        ([GOAL] * (FIRST_LINES - 1), "Small"),
    ],
)
def test_another_manifest_holds_if_it_comes_before_the_first_reset(
    between: list[Any], world: str, tmp_path: Path
) -> None:
    again = begin(control="rebuild", world="New")
    run = runs.read(log(tmp_path, begin(), *between, again, RESET))
    assert run.manifest == {**MANIFEST, "world": world}


def test_the_last_of_several_manifests_holds(tmp_path: Path) -> None:
    again = [begin(control="rebuild", world=name) for name in ("New", "Newer")]
    assert runs.read(log(tmp_path, begin(), *again)).manifest["world"] == "Newer"


def test_tables_are_over_the_events(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    run = runs.read(log(tmp_path, begin(), GOAL, STEP))
    frame = run.to_pandas(agent="a")
    assert frame.shape == (1, 12)
    assert frame["event_type"].tolist() == ["GOAL_CREATED"]
    assert frame["timestamp"][0].isoformat() == "2020-01-02T03:04:05.250000+00:00"
    bad = runs.read(log(tmp_path, begin(), {**GOAL, "timestamp": "noon"}))
    with pytest.raises(RunError, match=r"^a timestamp is damaged: .*noon"):
        bad.to_pandas()


def test_queries_are_over_events_and_steps(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    data = {
        "kind": "step",
        "commands": {"a": 3, "b": None},
        "outcomes": {"a": "ok", "b": "timeout"},
        "rewards": {"a": 0.5, "b": 0.0},
        "terminated": {"a": True, "b": False},
        "truncated": {"a": False, "b": True},
    }
    folder = tmp_path / "it's"
    folder.mkdir()
    run = runs.read(log(folder, begin(), {**STEP, "event_data": data, "step": 4}))
    assert run.sql("SELECT * FROM steps ORDER BY agent_id") == [
        (4, 0, "a", "3", "ok", 0.5, True, False),
        (4, 0, "b", "null", "timeout", 0.0, False, True),
    ]
    assert run.sql("SELECT count(*), max(step) FROM events") == [(2, 4)]


@pytest.mark.parametrize("name", ["run[1].jsonl", "a*.jsonl", "b?.jsonl", "step=9/x.jsonl", "c.gz"])
def test_queries_read_the_lines_of_this_log_and_no_others(name: str, tmp_path: Path) -> None:
    """Whatever the name means to a database, and whatever stands between the lines."""
    pytest.importorskip("duckdb")
    for other in ("run1.jsonl", "aa.jsonl", "bb.jsonl"):
        (tmp_path / other).write_bytes(orjson.dumps(begin()) + b"\n" + orjson.dumps(STEP) * 9)
    bad = [b"", b"[1]", b'{"event_type": "A"}', orjson.dumps({**STEP, "event_data": []}), b'{"torn']
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\n".join([orjson.dumps(begin()), orjson.dumps(STEP), *bad]))
    found = [(event["step"], event["event_id"]) for event in runs.read(path)]
    assert len(found) == 2
    assert runs.read(path).sql("SELECT step, event_id FROM events") == found
    packed = tmp_path / "packed.jsonl"
    packed.write_bytes(gzip.compress(path.read_bytes())[:-8])  # cut short, and not named so
    assert runs.read(packed).sql("SELECT step, event_id FROM events") == found
