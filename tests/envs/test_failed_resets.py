"""A reset that finds no level leaves no episode, and says so, until another succeeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym import runs
from piase_gym.errors import GenerationError, ResetNeededError
from piase_gym.interfaces import BaseEnv
from piase_gym.wrappers import AvtLogger

WORLD = "Household"
ROOMS = {"rooms": ("bathroom",)}
IMPOSSIBLE: dict[str, Any] = {"receptacles": 4, "tasks": ("heat",)}
POSSIBLE: dict[str, Any] = {"receptacles": 12, "tasks": ("pick",)}
MAKERS = (piase_gym.parallel_env, piase_gym.aec_env, piase_gym.gym_env, BaseEnv)


def fail(env: Any) -> None:
    """Let a reset fail."""
    env.reset(seed=1)
    env.reconfigure(IMPOSSIBLE)
    with pytest.raises(GenerationError, match="no home of 4 receptacles has a task"):
        env.reset(seed=2)


@pytest.mark.parametrize("make", MAKERS)
def test_nobody_is_in_play_after_a_reset_that_failed(make: Any) -> None:
    env = make(WORLD, **ROOMS)
    fail(env)
    acts = {piase_gym.parallel_env: {"agent_0": 0}, BaseEnv: "look"}
    told = "the last reset of this Household failed"
    with pytest.raises(ResetNeededError, match=told):
        env.step(acts.get(make, 0))
    with pytest.raises(ResetNeededError, match=told):
        env.unwrapped.snapshot()
    if make is piase_gym.parallel_env:
        assert env.agents == []
    changed = env.unwrapped.modify({"max_steps": 50}) if make is not BaseEnv else None
    assert changed is None or changed.now == {}  # there is no episode in which it could hold
    env.reconfigure(POSSIBLE)
    env.reset(seed=2)
    kept = env.unwrapped.snapshot()
    env.step(acts.get(make, 0))
    env.reconfigure(IMPOSSIBLE)
    with pytest.raises(GenerationError):
        env.reset(seed=2)
    env.unwrapped.restore(kept)  # a snapshot is an episode, too
    env.step(acts.get(make, 0))
    env.close()


@pytest.mark.parametrize("again", [True, False])
def test_the_log_of_a_reset_that_failed_is_complete_and_replays(
    again: bool, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    env = piase_gym.parallel_env(WORLD, **ROOMS)
    logged = AvtLogger(env, path)
    logged.reset(seed=1)
    logged.step({"agent_0": 0})
    env.reconfigure(IMPOSSIBLE)
    with pytest.raises(GenerationError):
        logged.reset()
    if again:
        env.reconfigure(POSSIBLE)
        logged.reset()
        logged.step({"agent_0": 0})
    logged.close()
    report = runs.replay(path)
    assert report.ok, str(report)
    assert runs.validate(path).problems == []
    assert report.steps == 1 + again


def test_what_is_logged_after_a_reset_that_failed_begins_with_the_next_one(tmp_path: Path) -> None:
    env = piase_gym.parallel_env(WORLD, **ROOMS)
    fail(env)
    logged = AvtLogger(env, tmp_path / "run.jsonl")
    env.reconfigure(POSSIBLE)
    logged.reset(seed=3)
    logged.step({"agent_0": 0})
    logged.close()
    report = runs.replay(tmp_path / "run.jsonl")
    assert report.ok, str(report)
    assert report.episodes == 1
