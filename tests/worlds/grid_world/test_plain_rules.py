"""Plain rules are compiled by themselves: they do what all rules do, and only where they may."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.worlds.grid_world.rules.kernels import KERNELS, PLAIN

PLAIN_CONFIGS: list[dict[str, Any]] = [
    {"layout": "door_key", "agents": 4, "width": 9, "height": 7, "max_steps": 60},
    {"layout": "four_rooms", "agents": 2, "width": 13, "height": 13, "max_steps": 50},
    {"layout": "maze", "agents": 1, "width": 11, "height": 11, "max_steps": 50},
    {"agents": 3, "width": 5, "height": 5, "random_goals": 2, "max_steps": 40},
    {"agents": 6, "width": 6, "height": 6, "obstacle_density": 0.2, "max_steps": 30},
]
FULL = {"see_through_walls": False}


def step(env: Any) -> Any:
    """Return the step that a batch took last, which names the kernel."""
    return env.batch.kernel_step


@pytest.mark.parametrize("config", PLAIN_CONFIGS)
def test_a_world_does_the_same_with_all_rules(config: dict[str, Any]) -> None:
    env, other = (piase_gym.parallel_env("GridWorld", view="both", **config) for _ in range(2))
    assert env.world.kernels is PLAIN
    other.world.kernels = KERNELS
    drawn = np.random.default_rng(1)
    for seed in range(6):
        for found, expected in zip(env.reset(seed=seed), other.reset(seed=seed), strict=True):
            np.testing.assert_equal(found, expected)
        while env.agents:
            acts = {agent: int(drawn.integers(6)) for agent in env.agents}
            for found, expected in zip(env.step(acts), other.step(acts), strict=True):
                np.testing.assert_equal(found, expected)
            assert env.world.states.tobytes() == other.world.states.tobytes()


@pytest.mark.parametrize("config", PLAIN_CONFIGS)
def test_a_batch_does_the_same_with_all_rules(config: dict[str, Any]) -> None:
    env, other = (piase_gym.batch_env("GridWorld", num_envs=5, **config) for _ in range(2))
    other.batch.kernel_step = KERNELS.step
    np.testing.assert_equal(env.reset(seed=3), other.reset(seed=3))
    drawn = np.random.default_rng(2)
    for _ in range(150):
        acts = drawn.integers(6, size=env.batch.events.shape, dtype=np.int32)
        np.testing.assert_equal(env.step(acts), other.step(acts))
        assert env.batch.states.tobytes() == other.batch.states.tobytes()
    assert step(env) is PLAIN.step
    assert step(other) is KERNELS.step


def test_other_rules_are_taken_as_soon_as_a_config_needs_them() -> None:
    env = piase_gym.parallel_env("GridWorld", width=6, height=6)
    env.reset(seed=0)
    assert env.world.kernels is PLAIN
    env.modify(FULL)
    assert env.world.kernels is KERNELS
    env.modify({"see_through_walls": True})
    assert env.world.kernels is PLAIN
    env.reconfigure(FULL)
    assert env.world.kernels is PLAIN
    env.reset()
    assert env.world.kernels is KERNELS
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.world.kernels is KERNELS


def test_batches_take_other_rules_as_soon_as_one_config_needs_them() -> None:
    env = piase_gym.batch_env("GridWorld", num_envs=2, width=6, height=6)
    env.reset(seed=0)
    env.step(np.zeros((2, 1), np.int32))
    assert step(env) is PLAIN.step
    env.reconfigure(FULL, [1])
    env.step(np.zeros((2, 1), np.int32))
    assert step(env) is KERNELS.step
    mixed = piase_gym.batch_env("GridWorld", num_envs=2, width=6, height=6, configs=[{}, FULL])
    mixed.reset(seed=0)
    mixed.step(np.zeros((2, 1), np.int32))
    assert step(mixed) is KERNELS.step
    for twin in (copy.deepcopy(mixed), pickle.loads(pickle.dumps(mixed))):
        twin.step(np.zeros((2, 1), np.int32))
        assert step(twin) is KERNELS.step


def test_a_wide_envelope_takes_all_rules() -> None:
    env = piase_gym.parallel_env("GridWorld", envelope={"status": 1})
    assert env.world.config.plain_rules
    assert env.world.kernels is KERNELS
