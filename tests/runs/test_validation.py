"""Validating a log of a few lines that are written by hand: each fault, its line, its words."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import xxhash

from piase_gym.runs import validation
from piase_gym.runs.log_file import GIVEN_UP
from piase_gym.runs.validation import ValidationReport, validate
from tests.helpers import log_lines

Row = dict[str, Any]
MANIFEST: Row = {**log_lines.MANIFEST, "world": "GridWorld"}
event = functools.partial(log_lines.event, event_id="")
STEP: Row = {
    "kind": "step",
    "commands": {"a": 0, "b": None},
    "outcomes": {"a": "ok", "b": "timeout"},
    "rewards": {"a": 0.5, "b": 0},
    "terminated": {"a": False, "b": False},
    "truncated": {"a": False, "b": False},
}


def goal(kind: str, **data: Any) -> Row:
    """Return the line of a goal."""
    return event(f"GOAL_{kind}", {"goal_id": "g", **data}, "a")


def run() -> list[Row]:
    """Return the lines of a sound run."""
    return [
        event("SIMULATION_CONTROL", MANIFEST),  # 1
        event("ENVIRONMENT_EVENT_OCCURRED", {"kind": "reset", "seed": 1}),  # 2
        goal("CREATED"),  # 3
        goal("ACTIVATED"),  # 4
        event("ENVIRONMENT_EVENT_OCCURRED", STEP) | {"step": 1},  # 5
        goal("STATUS_CHANGED", new_state="ACHIEVED") | {"step": 1},  # 6
        goal("STATE_CHANGED", new_state="ACHIEVED") | {"step": 1},  # 7
        event("SIMULATION_CONTROL", {"control": "end", "summary": {}}) | {"step": 1},  # 8
    ]


def written(rows: list[Row], folder: Path, *edits: Callable[[bytes], bytes]) -> Path:
    """Write lines, numbered and sealed by the rules of the documentation, and then edited."""
    schema = rows[0]["event_data"].get("schema_version", 3)
    lines = [
        orjson.dumps({**row, "event_id": row["event_id"] or f"{'r:' * (schema > 1)}{number}"})
        for number, row in enumerate(rows, 1)
    ]
    end = rows[-1]["event_data"]
    if end.get("control") == "end":
        before = b"".join(line + b"\n" for line in lines[:-1])
        end = {"lines": len(rows), **end, "checksum": xxhash.xxh3_64(before).hexdigest()}
        row = {**orjson.loads(lines[-1]), "event_data": {**end, "seal": "0" * 16}}
        unsealed = orjson.dumps(row) + b"\n"
        seal = xxhash.xxh3_64(before + unsealed).hexdigest()
        lines[-1] = unsealed[:-1].replace(b'"seal":"' + b"0" * 16, f'"seal":"{seal}'.encode())
    content = b"".join(line + b"\n" for line in lines)
    for edit in edits:
        assert edit(content) != content
        content = edit(content)
    path = folder / "run.jsonl"
    path.write_bytes(content)
    return path


def told(report: ValidationReport) -> list[tuple[int, str]]:
    """Return the problems of a report."""
    return [(problem.line, problem.reason) for problem in report.problems]


def test_a_sound_run_has_no_problem(tmp_path: Path) -> None:
    path = written(run(), tmp_path)
    report = validate(path)
    assert told(report) == []
    assert (report.lines, report.complete, report.ok, report.count) == (8, True, True, 0)
    assert (report.readable, report.sealed) == (True, True)
    assert report.event_types["SIMULATION_CONTROL"] == 2
    assert report.event_types.total() == 8
    assert str(report) == f"{path}: 8 lines, complete and sound"


def change(line: int, **fields: Any) -> Callable[[list[Row]], None]:
    """Return what gives fields of a line other values."""
    return lambda rows: rows[line - 1].update(fields)


def data(line: int, **entries: Any) -> Callable[[list[Row]], None]:
    """Return what gives entries of a line's data other values."""

    def edit(rows: list[Row]) -> None:
        rows[line - 1]["event_data"] = {**rows[line - 1]["event_data"], **entries}

    return edit


BEFORE = "2020-01-02T03:04:05.249999Z"
FAULTS: dict[str, tuple[Callable[[list[Row]], Any], list[tuple[int, str]]]] = {
    "twice": (
        change(4, event_id="r:3"),
        [(4, "event_id r:3 is there twice"), (5, "r:5 follows 3")],
    ),
    "zero": (
        change(1, event_id="r:0"),
        [(1, "event_id r:0 is there twice"), (2, "event_id r:2 follows 0")],
    ),
    "ahead": (change(4, event_id="r:9"), [(4, "event_id r:9 follows 3"), (5, "r:5 follows 9")]),
    "no number": (change(4, event_id="x"), [(4, "event_id x follows 3")]),
    "another run": (
        change(4, simulation_run_id="s", event_id="s:4"),
        [(4, "the line is of another run, 's'"), (5, "event_id r:5 follows 3")],
    ),
    "another experiment": (
        change(4, experiment_id="f"),
        [(4, "the line is of another run, 'r'"), (5, "event_id r:5 follows 3")],
    ),
    "time": (
        change(4, timestamp=BEFORE),
        [(4, f"the timestamp {BEFORE} is before that of the line before")],
    ),
    "step": (change(4, step=7), [(5, "step 1 follows step 7")]),
    "no manifest": (
        change(1, event_type="SYSTEM_MESSAGE"),
        [(1, "the first line is not a manifest")],
    ),
    "another manifest": (
        lambda rows: rows.insert(1, event("SIMULATION_CONTROL", MANIFEST)),
        [(2, "there is a second manifest")],
    ),
    "no world": (data(1, world="Atlantis"), [(1, "Atlantis")]),
    "damaged manifest": (data(1, agents=3), [(1, "the manifest's 'agents' is missing or not a")]),
    "count": (data(8, lines=9), [(8, "the run had 9 lines; here are 8")]),
    "summary": (lambda rows: rows.pop(), [(7, "the run was cut short: there is no summary")]),
    "type": (change(2, event_type="NEWS"), [(2, "unknown event type 'NEWS'")]),
    "created": (lambda rows: rows.insert(3, goal("CREATED")), [(4, "goal 'g' was created before")]),
    "never created": (
        lambda rows: rows.pop(2),
        [(n, "goal 'g' was never created") for n in (3, 5, 6)],
    ),
    "no goal": (
        data(3, goal_id=3),
        [
            (3, "a goal line without goal_id"),
            *((n, "goal 'g' was never created") for n in (4, 6, 7)),
        ],
    ),
    "state": (data(7, new_state="HAPPY"), [(7, "unknown goal state 'HAPPY'")]),
    "another end": (
        data(7, new_state="FAILED"),
        [(7, "goal 'g' changes from ACHIEVED, which was its end")],
    ),
    "not active": (
        lambda rows: rows.pop(3),
        [(n, "goal 'g' changes from CREATED, which was its end") for n in (5, 6)],
    ),
    "blank": (change(2, agent_id=" "), [(2, "the field 'agent_id' is blank or not a string")]),
    "no moment": (
        change(2, timestamp="noon"),
        [(2, "the timestamp 'noon' is not ISO 8601 in UTC")],
    ),
    "no day": (
        change(1, timestamp="2019-02-29T03:04:05.25Z"),
        [(1, "the timestamp '2019-02-29T03:04:05.25Z' is not ISO 8601 in UTC")],
    ),
    "source type": (change(2, source_type="USER"), [(2, "unknown source_type 'USER'")]),
    "log level": (change(2, log_level="LOUD"), [(2, "unknown log_level 'LOUD'")]),
    "field": (change(2, step=-1), [(2, "the field 'step' is -1; it counts from 0")]),
    "commands": (data(5, commands=3), [(5, "a step line whose 'commands' is not an object")]),
    "no rewards": (data(5, rewards=None), [(5, "a step line whose 'rewards' is not an object")]),
    "agents": (
        data(5, rewards={"a": 1.0}),
        [(5, "the agents of 'rewards' are not those of 'commands'")],
    ),
    "value": (
        data(5, terminated={"a": 0, "b": False}),
        [(5, "a step line with a value in 'terminated' that cannot be there")],
    ),
    "boolean command": (
        data(5, commands={"a": True, "b": 1}),
        [(5, "a step line with a value in 'commands' that cannot be there")],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_told_at_its_line(name: str, tmp_path: Path) -> None:
    edit, wanted = FAULTS[name]
    rows = run()
    edit(rows)
    report = validate(written(rows, tmp_path))
    found = told(report)
    assert len(found) == len(wanted) == report.count
    for (line, reason), (at, words) in zip(found, wanted, strict=True):
        assert at == line
        assert words in reason
    warned = name in ("summary", "type")
    assert {problem.severity for problem in report.problems} == {"warning" if warned else "error"}
    assert (report.ok, report.readable) == (False, warned)
    assert report.complete == (name != "summary")


def test_lines_that_are_none_are_told_once(tmp_path: Path) -> None:
    path = written(run(), tmp_path, lambda text: text.replace(b'{"kind":"reset"', b'{"kind":reset'))
    found = told(validate(path))
    assert [line for line, _ in found] == [2]  # the checksum says no more than that
    path = written([*run(), event("SYSTEM_MESSAGE", {}) | {"step": 1}], tmp_path)
    found = told(validate(path))
    assert (9, "there is a line after the summary") in found


def test_changes_are_known_by_the_checksum_and_the_seal(tmp_path: Path) -> None:
    path = written(run(), tmp_path, lambda text: text.replace(b'"seed":1', b'"seed":2'))
    assert told(validate(path)) == [(8, "lines were changed after they were written (checksum)")]
    path = written(run(), tmp_path, lambda text: text.replace(b'"summary":{', b'"summary":{ '))
    assert told(validate(path)) == [(8, "the summary was changed after it was written (seal)")]


@pytest.mark.parametrize("schema", [1, 2])
def test_only_logs_of_the_first_schema_may_lack_a_seal(schema: int, tmp_path: Path) -> None:
    rows = run()
    rows[0]["event_data"] = {**MANIFEST, "schema_version": schema}

    def without(text: bytes) -> bytes:
        return text[: text.rindex(b',"seal"')] + b"}}\n"

    path = written(rows, tmp_path, without)
    report = validate(path)
    assert (report.ok, report.sealed) == (schema == 1, schema > 1)
    if schema == 1:
        assert str(report) == f"{path}: 8 lines, complete, but unsealed (schema 1)"


def test_of_many_problems_the_first_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"oops\n" * 200)
    report = validate(path)
    assert (report.count, len(report.problems), report.lines) == (201, 100, 200)
    assert str(report).splitlines()[0] == f"{path}: 200 lines, 201 problems"
    assert str(report).splitlines()[1:] == [f"  {problem}" for problem in report.problems[:20]]
    assert not report.readable
    monkeypatch.setattr(validation, "MOST_BAD", 3)
    report = validate(path)
    assert (report.lines, report.count) == (4, 6)
    assert told(report)[-2:] == [(4, GIVEN_UP), (4, "the run was cut short: there is no summary")]


def test_types_of_ones_own_do_not_hide_what_is_wrong(tmp_path: Path) -> None:
    *rows, end = run()
    path = written([*rows, *[event("MINE", {}) | {"step": 1}] * 1200, end], tmp_path)
    report = validate(path)
    assert (report.lines, report.count, report.errors) == (1208, 1200, 0)
    assert report.readable
    assert report.complete
    path.write_bytes(path.read_bytes() + b"oops\n")
    assert (validate(path).errors, validate(path).readable) == (1, False)


def test_an_empty_log_is_none(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"")
    report = validate(path)
    assert told(report) == [(1, "the log is empty")]
    assert (report.readable, report.lines) == (False, 0)


def test_what_cannot_be_read_on_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(gzip.compress(b"") + b"no gzip")
    report = validate(path)
    assert (len(report.problems), report.lines, report.complete) == (1, 0, False)
    assert report.problems[0].line == 1
    assert report.problems[0].reason.startswith("the compressed data is damaged: ")


def test_a_report_is_readable_from_its_first_line_on() -> None:
    assert [ValidationReport("x", lines).readable for lines in (0, 1)] == [False, True]
