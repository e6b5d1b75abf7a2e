"""Plain rules are compiled by themselves: they do what all rules do, and only where they may."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.worlds.grid_world.cells import WALL
from piase_gym.worlds.grid_world.rules.kernels import KERNELS, PLAIN, SEARCHED

PLAIN_CONFIGS: list[tuple[dict[str, Any], Any]] = [
    ({"layout": "door_key", "agents": 4, "width": 9, "height": 7, "max_steps": 60}, PLAIN),
    ({"layout": "four_rooms", "agents": 2, "width": 13, "height": 13, "max_steps": 50}, PLAIN),
    ({"layout": "empty", "agents": 3, "width": 5, "height": 5, "random_goals": 2}, PLAIN),
    ({"layout": "empty", "start_pos": (2, 1), "goal_pos": (3, 3), "max_steps": 40}, PLAIN),
    ({"layout": "maze", "agents": 1, "width": 11, "height": 11, "max_steps": 50}, SEARCHED),
    ({"layout": "door_key", "width": 9, "height": 7, "goal_pos": (5, 2)}, SEARCHED),
    ({"layout": "obstacles", "agents": 4, "width": 5, "height": 5, "max_steps": 30}, SEARCHED),
]
FULL = {"see_through_walls": False}


@pytest.mark.parametrize(("config", "kernels"), PLAIN_CONFIGS)
def test_a_world_does_the_same_with_all_rules(config: dict[str, Any], kernels: Any) -> None:
    env, other = (piase_gym.parallel_env("GridWorld", view="both", **config) for _ in range(2))
    assert env.world.kernels is kernels
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


@pytest.mark.parametrize(("config", "kernels"), PLAIN_CONFIGS)
def test_a_batch_does_the_same_with_all_rules(config: dict[str, Any], kernels: Any) -> None:
    env, other = (piase_gym.batch_env("GridWorld", num_envs=5, **config) for _ in range(2))
    other.batch.kernels = KERNELS
    np.testing.assert_equal(env.reset(seed=3), other.reset(seed=3))
    drawn = np.random.default_rng(2)
    for _ in range(150):
        acts = drawn.integers(6, size=env.batch.events.shape, dtype=np.int32)
        np.testing.assert_equal(env.step(acts), other.step(acts))
        assert env.batch.states.tobytes() == other.batch.states.tobytes()
    assert env.batch.kernels is kernels
    assert other.batch.kernels is KERNELS


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
    assert env.batch.kernels is PLAIN
    env.reconfigure(FULL, [1])
    env.step(np.zeros((2, 1), np.int32))
    assert env.batch.kernels is KERNELS
    mixed = piase_gym.batch_env("GridWorld", num_envs=2, width=6, height=6, configs=[{}, FULL])
    mixed.reset(seed=0)
    mixed.step(np.zeros((2, 1), np.int32))
    assert mixed.batch.kernels is KERNELS
    for twin in (copy.deepcopy(mixed), pickle.loads(pickle.dumps(mixed))):
        twin.step(np.zeros((2, 1), np.int32))
        assert twin.batch.kernels is KERNELS


def test_batches_search_levels_as_soon_as_one_config_needs_it() -> None:
    sizes, maze = {"width": 9, "height": 9}, {"layout": "maze"}
    env = piase_gym.batch_env("GridWorld", num_envs=2, **sizes)
    env.reset(seed=0)
    assert env.batch.kernels is PLAIN
    env.reconfigure(maze, [1])
    env.reset(seed=5)
    assert env.batch.kernels is SEARCHED
    env.step(np.zeros((2, 1), np.int32))
    single = piase_gym.parallel_env("GridWorld", **sizes, **maze)
    single.reset(seed=6)
    single.step({"agent_0": 0})
    assert env.batch.states["cells"][1].tobytes() == single.world.states["cells"].tobytes()
    assert (env.batch.states["cells"][1] == WALL).sum() > (
        env.batch.states["cells"][0] == WALL
    ).sum()


def test_a_wide_envelope_takes_all_rules() -> None:
    env = piase_gym.parallel_env("GridWorld", envelope={"status": 1})
    assert env.world.config.plain_rules
    assert env.world.kernels is KERNELS
