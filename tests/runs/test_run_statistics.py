"""Counts and returns of a run, by hand."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from piase_gym import runs
from piase_gym.runs.statistics import GoalCount


def test_a_log_is_counted_by_hand(tmp_path: Path) -> None:
    def end(agent: str, reason: str, state: str, total: Any, steps: int) -> dict[str, Any]:
        data = {"new_state": state, "reason": reason, "metrics": {"return": total, "steps": steps}}
        data["goal_id"] = f"r:goal_3_{agent}"
        return {"event_type": "GOAL_STATUS_CHANGED", "agent_id": agent, "event_data": data}

    own_goal = {"goal_id": "to rest", "new_state": "ACHIEVED", "metrics": {"energy": 1.0}}
    step_goal = {"new_state": "ACHIEVED", "reason": "the step is complete"}
    rows = [
        end("a", "won", "ACHIEVED", 1.5, 4),
        end("a", "lost", "FAILED", -0.5, 6),
        end("a", "ended", "ACHIEVED", None, 2),
        end("a", "reset", "ABANDONED", 9.0, 9),
        end("b", "reset", "ABANDONED", 9.0, 9),
        {"event_type": "GOAL_STATUS_CHANGED", "agent_id": "a", "event_data": step_goal},
        {"event_type": "GOAL_STATUS_CHANGED", "agent_id": "a", "event_data": own_goal},
        {"event_type": "OTHER", "agent_id": "b", "event_data": {"metrics": {}}},
    ]
    lines = [*map(orjson.dumps, rows), b"oops", b"[]", b"{}"]
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = runs.stats(path)
    assert (found.lines, found.unread) == (11, 3)
    assert found.size == path.stat().st_size
    assert found.event_types == {"GOAL_STATUS_CHANGED": 7, "OTHER": 1}
    assert found.agents == {"a": 6, "b": 2}
    states = Counter(ACHIEVED=2, FAILED=1, ABANDONED=1)
    assert found.goals == {
        "a": GoalCount(states, 3, 1.0, 12),
        "b": GoalCount(Counter(ABANDONED=1), 0, 0.0, 0),
    }
    one, two = found.goals["a"], found.goals["b"]
    assert (one.episodes, one.mean_return, one.mean_length) == (4, pytest.approx(1 / 3), 4.0)
    assert (two.episodes, two.mean_return, two.mean_length) == (1, None, None)
    assert str(found.problem).startswith("line 9: the line is not JSON")
    path.write_bytes(b'{"agent_id": "a", "event_type": "OTHER"}\n' + lines[0])
    assert str(runs.stats(path).problem) == "line 1: the line lacks 'event_data'"
    path.write_bytes(b"")
    assert (runs.stats(path).lines, runs.stats(path).size) == (0, 0)


def test_the_end_of_what_can_be_read_is_told(tmp_path: Path) -> None:
    line = b'{"event_type": "OTHER", "agent_id": "a", "event_data": {}}\n'
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(gzip.compress(line * 3) + b"\x1f\x8b and more")
    found = runs.stats(path)
    assert (found.lines, found.unread) == (3, 1)
    assert str(found.problem).startswith("line 4: the compressed data is damaged")
