"""docs/runs.md: what it tells of speed is what was measured and stored, by the command it names."""

from __future__ import annotations

import json

import pytest

from piase_gym import runs
from piase_gym.benchmarks.speed import logs


def test_everything_is_stored() -> None:
    found = json.loads(logs.FILE.read_text("utf-8"))
    assert [row["level"] for row in found["levels"]] == list(runs.LEVELS)
    assert [row["slots"] for row in found["batches"]] == list(logs.BATCHES)
    assert [row["slots"] for row in found["columns"]] == list(logs.COLUMNS)
    assert all(row["added"] < row["bare"] for row in found["columns"])
    assert found["replay"]["equal"]
    assert found["reading"]["events"] == found["reading"]["lines"] >= logs.EVENTS
    lines = {row["level"]: row["lines"] for row in found["levels"]}
    assert lines["critical"] < 0.2 < 1.0 < lines["actions"] < 1.2 < lines["events"] < lines["full"]


def test_everything_is_measured_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "BATCHES", (2, 3))
    monkeypatch.setattr(logs, "COLUMNS", (4,))
    monkeypatch.setattr(logs, "BURST", 20)
    found = json.loads(json.dumps(logs.measure_all(events=500, rounds=2)))
    parts = {name: part.markdown() for name, part in logs.sections(found).items()}
    for row in found["levels"]:
        assert f"| `{row['level']}` | {row['bare']:.2f} | {row['added']:.2f} |" in parts["levels"]
    for row in found["batches"]:
        assert f"| {row['slots']} | {row['bare']:.2f} | {row['added']:.2f} |" in parts["batches"]
    assert f"counts {found['reading']['events']:,} events" in parts["others"]
    assert found["machine"] in parts["others"]
    assert found["replay"]["equal"]
    assert found["replay"]["steps"] > 2000
