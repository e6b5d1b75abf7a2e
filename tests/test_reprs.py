"""What a cell of a notebook shows of a result is short, however much was played."""

from __future__ import annotations

from pathlib import Path

import piase_gym
from piase_gym import curricula, runs, scenarios
from piase_gym.benchmarks import evaluate
from piase_gym.curricula.simulated_learner import simulate
from piase_gym.wrappers import AvtLogger

MOST = 1000


def test_what_is_read_and_played_through_is_named() -> None:
    scenario, curriculum = scenarios.load("lost_key"), curricula.load("door_key")
    assert repr(scenario) == "<Scenario 'lost_key' of TextRoom: The Lost Key>"
    assert repr(curriculum) == str(curriculum)
    assert repr(curriculum) == "<DevelopmentalCurriculum 'Doors and keys': 5 steps of GridWorld>"
    assert len(repr(simulate(curriculum, 0.2, most=9))) < MOST
    manager = curricula.CurriculumManager()
    step = manager.start("agent_0", curriculum)
    assert step.order == 1
    assert len(repr(manager.agent_progress)) < MOST


def test_results_say_what_was_evaluated() -> None:
    results = evaluate({"mine": "random"}, "piase/TextRoom-LostKey-v3", episodes=2)
    named = "<Results of piase/TextRoom-LostKey-v3: 1 setting, 2 episodes of mine>"
    assert repr(results) == named


def test_a_report_of_forks_leaves_out_the_branches(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("TextRoom", max_steps=20), path)
    env.reset(seed=0)
    for _ in range(3):
        env.step({"agent_0": 0})
    env.close()
    report = runs.fork(path, at=1, players={"agent_0": "random"}, pairs=9, steps=10)
    assert len(report.branches) == 9
    assert len(repr(report)) < MOST
