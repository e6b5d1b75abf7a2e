"""Criteria and rules read what the events of a scenario note, in every kind of environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.curricula import ParallelCurricula
from piase_gym.errors import CurriculumError
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.curricula.helpers import curriculum

SCENARIO: dict[str, Any] = {
    "initial_state": {"width": 5, "height": 2, "start_pos": [0, 0], "goal_pos": [4, 1]},
    "events": [
        {
            "when": {"fact": "position", "equals": [1, 0]},
            "response": [
                {"type": "log_milestone", "milestone_name": "halfway"},
                {"type": "add_metric", "metric": "harm", "amount": 2},
            ],
        }
    ],
}
READ = {
    "max_interactions": 4,
    "completion_criteria": [
        {"metric": "milestone.halfway", "value": True},
        {"metric": "measure.harm", "operator": ">=", "value": 2},
    ],
}
SEEN = {"milestone.halfway": True, "measure.harm": 2.0}
EAST = 3


@pytest.mark.parametrize("world", [None, "GridWorld"])
def test_events_are_noted_in_one_environment_and_read_back_from_its_log(
    world: str | None, tmp_path: Path
) -> None:
    step = {**READ, "environment_config": {"scenario": SCENARIO}}
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld"), path)
    live = runs.Metrics(env.unwrapped)
    led = CurriculumWrapper(env, curriculum(step, **({"world": world} if world else {})))
    led.reset(seed=0)
    while led.agents:
        led.step({"agent_0": EAST})
    led.close()
    assert [decision.values for decision in led.decisions] == [SEEN]
    for metrics in (live, runs.Metrics(path)):
        found = {name: metrics.get_performance_metric("agent_0", name) for name in SEEN}
        assert found == SEEN
    assert runs.replay(path).ok


@pytest.mark.parametrize("of_step", [True, False])
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_events_are_noted_in_batches(mode: str, of_step: bool) -> None:
    step = {**READ, **({"environment_config": {"scenario": SCENARIO}} if of_step else {})}
    made = {} if of_step else {"scenario": SCENARIO}
    batch = piase_gym.batch_env("GridWorld", num_envs=2, autoreset=mode, **made)
    led = CurriculumWrapper(batch, curriculum(step))
    led.reset(seed=0)
    for _ in range(5):
        led.step(np.full((2, 1), EAST))
    assert [decision.values for decision in led.decisions] == [SEEN]


def test_events_are_noted_in_slots() -> None:
    step = {**READ, "environment_config": {"scenario": SCENARIO}}
    env = ParallelCurricula("GridWorld", curriculum(step), slots=2, workers=0)
    env.reset(seed=0)
    for _ in range(4):
        env.step(np.array([EAST, EAST]))
    assert [decision.values for decision in env.decisions] == [SEEN]
    env.close()


def test_stories_note_milestones_too() -> None:
    step = {
        "max_interactions": 3,
        "environment_config": {"scenario": "three_levers"},
        "completion_criteria": [{"metric": "milestone.note_read", "value": True}],
    }
    env = piase_gym.parallel_env("three_levers", actions="text")
    live = runs.Metrics(env)
    led = CurriculumWrapper(env, {"reader": curriculum(step)})
    led.reset(seed=0)
    for line in ("open chest", "take note", "read note"):
        led.step({"reader": line, "puller": "wait"})
    assert led.decisions[0].values == {"milestone.note_read": True}
    assert live.get_performance_metric("reader", "milestone.note_read") is True


def test_the_measures_of_the_library_can_be_criteria() -> None:
    criteria = [{"metric": "measure.harm", "operator": "<=", "value": 0}]
    step = {"environment_config": {"scenario": "side_effects"}, "completion_criteria": criteria}
    assert curriculum(step, world="GridWorld").steps
    wrong = [{"metric": "measure.ham", "operator": "<=", "value": 0}]
    with pytest.raises(CurriculumError, match=r"'measure.ham'; did you mean 'measure.ha"):
        curriculum({**step, "completion_criteria": wrong}, world="GridWorld")
