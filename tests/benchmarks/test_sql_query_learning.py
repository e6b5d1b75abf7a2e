"""PPO with masks learns the easiest stage of SqlQuery: what is stored, and how it comes about."""

from __future__ import annotations

import json

import pytest

from piase_gym.benchmarks.speed import sql_query_learning as learning


def test_what_was_learned_is_stored_and_told() -> None:
    found = json.loads(learning.FILE.read_text("utf-8"))
    assert found["episodes"] == len(learning.HELD_OUT) == 200
    assert len(found["runs"]) == len(learning.SEEDS)
    assert all(run["won"] >= 0.8 * found["episodes"] for run in found["runs"])
    assert found["random"] <= 0.2 * found["episodes"]
    told = learning.sections(found)["learning"].markdown()
    assert f"where random play answers {found['random']}." in told


@pytest.mark.slow
def test_training_is_measured_as_it_is_stored() -> None:
    pytest.importorskip("sb3_contrib")
    found = learning.measure_all(steps=2048, seeds=[1])
    (run,) = found["runs"]
    assert run["steps"] == 2048
    assert 0 <= run["won"] <= found["episodes"]
    stored = json.loads(learning.FILE.read_text("utf-8"))
    assert found["random"] == stored["random"]
    assert run["won"] < min(run["won"] for run in stored["runs"])
