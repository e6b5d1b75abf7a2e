"""PPO with masks learns the easiest stage of SqlQuery: what is stored, and how it comes about."""

from __future__ import annotations

import json
from typing import Any

import pytest

import piase_gym
from piase_gym.benchmarks.evaluation.levels import level_of, part_of
from piase_gym.benchmarks.speed import sql_query_learning as learning


def test_what_was_learned_is_stored_and_told() -> None:
    found = json.loads(learning.FILE.read_text("utf-8"))
    assert found["episodes"] == learning.EPISODES == 200
    assert len(found["runs"]) == len(learning.SEEDS)
    assert all(run["won"].count("1") >= 0.8 * len(run["won"]) for run in found["runs"])
    assert found["random"] <= 0.2 * found["episodes"]
    told = learning.sections(found)["learning"].markdown()
    assert "of 200 questions that training never met it answers" in told
    assert f"where random play answers {found['random']}." in told


def test_runs_on_the_same_questions_tell_no_more_about_others() -> None:
    found = json.loads(learning.FILE.read_text("utf-8"))
    runs = [{**run, "won": "1" * 200} for run in found["runs"]]
    told = learning.sections({**found, "runs": runs})["learning"].markdown()
    assert "95 % interval 98 to 100" in told  # Wilson's, of 200 trials and not of 600


def test_questions_are_those_that_training_never_meets(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[Any] = []

    def noted(*args: Any, **options: Any) -> Any:
        played.append(piase_gym.benchmarks.evaluate(*args, **options))
        return played[-1]

    monkeypatch.setattr(learning, "evaluate", noted)
    monkeypatch.setattr(learning, "EPISODES", 20)
    assert learning.answers("noop") == "0" * 20
    world = piase_gym.parallel_env(learning.TASK, view="vector").world
    (results,) = played
    parts = {part_of(level_of(world, record.seed)) for record in results.episodes}
    assert parts == {"held_out"}


@pytest.mark.slow
def test_training_is_measured_as_it_is_stored() -> None:
    pytest.importorskip("sb3_contrib")
    found = learning.measure_all(steps=2048, seeds=[1])
    (run,) = found["runs"]
    assert run["steps"] == 2048
    assert len(run["won"]) == found["episodes"]
    assert found["random"] <= 0.2 * found["episodes"]
    stored = json.loads(learning.FILE.read_text("utf-8"))
    assert {*found} == {*stored}
    assert run["won"].count("1") < min(run["won"].count("1") for run in stored["runs"])
