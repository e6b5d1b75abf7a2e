"""The checkers of PettingZoo, Gymnasium and Stable-Baselines3 on GridWorld's environments."""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

import piase_gym
from piase_gym.errors import ConfigError, UnsupportedError
from tests.helpers.checkers import (
    api_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)

GRIDS: list[dict[str, Any]] = [
    {"agents": 1},
    {"agents": 4, "layout": "four_rooms"},
    {"agents": 3, "layout": "door_key", "view": "vector"},
    {"agents": 2, "layout": "obstacles", "view": "text", "max_steps": 30},
    {"agents": 2, "view": "vector", "mask": "obs", "observe": "grid"},
    {"agents": 2, "view": "vector", "partners": {"agent_1": "random"}},
]
IDS = ["single", "rooms", "door", "text", "mask in obs", "partner"]

# PettingZoo's checkers warn about spaces that are not a Box or Discrete, and about the reset
# option that they pass themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably:UserWarning"),
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array:UserWarning"),
    pytest.mark.filterwarnings("ignore:reset option 'options' is unknown:UserWarning"),
    pytest.mark.filterwarnings("ignore:The base environment:UserWarning"),
]


@pytest.mark.parametrize("config", GRIDS, ids=IDS)
def test_parallel_api(config: dict[str, Any]) -> None:
    parallel_api_test(piase_gym.parallel_env("GridWorld", **config), num_cycles=250)


@pytest.mark.parametrize("config", GRIDS, ids=IDS)
def test_parallel_seed(config: dict[str, Any]) -> None:
    parallel_seed_test(lambda: piase_gym.parallel_env("GridWorld", **config), num_cycles=100)


@pytest.mark.parametrize("config", [c for c in GRIDS if c.get("view") != "text"])
def test_aec_api(config: dict[str, Any]) -> None:
    api_test(piase_gym.aec_env("GridWorld", **config), num_cycles=100)
    seed_test(lambda: piase_gym.aec_env("GridWorld", **config), num_cycles=60)


@pytest.mark.parametrize("config", GRIDS, ids=IDS)
def test_state(config: dict[str, Any]) -> None:
    state_test(
        piase_gym.aec_env("GridWorld", **config), piase_gym.parallel_env("GridWorld", **config)
    )


def test_render() -> None:
    pytest.importorskip("pygame")
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    render_test(lambda **kwargs: piase_gym.aec_env("GridWorld", agents=2, **kwargs))


@pytest.mark.parametrize("task", piase_gym.list_tasks("GridWorld"))
def test_every_id_is_in_the_registries(task: str) -> None:
    parallel = pettingzoo.make("parallel", task)
    assert list(parallel.reset(seed=1)[0]) == parallel.possible_agents
    assert pettingzoo.make("aec", task).possible_agents == parallel.possible_agents
    env = gymnasium.make(f"piase_gym:{task}")
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    assert info["seed"] == 1
    assert env.unwrapped.digest() == parallel.digest()  # type: ignore[attr-defined]


@pytest.mark.parametrize("view", ["vector", "text", "both"])
@pytest.mark.parametrize("agents", [1, 3])
def test_gymnasium_check_env(view: str, agents: int) -> None:
    env = gymnasium.make(
        "piase/GridWorld-DoorKey-8x8-v1", view=view, agents=agents, render_mode="rgb_array"
    )
    check_env(env.unwrapped, skip_render_check=True)  # render modes are tested above


def test_sb3_check_env() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gymnasium.make("piase/GridWorld-v1"), warn=True)
    checker.check_env(gymnasium.make("piase/GridWorld-v1", agents=3, observe="grid"), warn=True)


def test_the_aec_env_offers_what_the_parallel_env_adds() -> None:
    env = piase_gym.aec_env("GridWorld", agents=2, view="text")
    env.reset(seed=4)
    saved = env.snapshot()
    before = env.observe("agent_0")
    for _ in range(4):
        env.step(3)
    assert env.digest() != saved
    env.restore(saved)
    assert env.agent_selection == "agent_0"
    assert env.observe("agent_0") == before
    assert env.facts("agent_1").agent == "agent_1"
    assert env.unwrapped.events is env.events


@pytest.mark.parametrize("world", ["TextRoom", "Household", "SqlQuery"])
def test_pictures_keep_their_size_while_the_config_stays(world: str) -> None:
    env = piase_gym.gym_env(world, render_mode="rgb_array", max_steps=2)
    frames: list[Any] = []
    for seed in range(6):
        env.reset(seed=seed)
        frames += [env.render(), env.step(env.action_space.sample()) and env.render()]
    assert len({frame.shape for frame in frames}) == 1
    assert len({frame.tobytes() for frame in frames}) > 6


def test_gymnasium_wrappers() -> None:
    env: Any = gymnasium.make("piase/GridWorld-v1", max_episode_steps=5)
    env = gymnasium.wrappers.RecordEpisodeStatistics(env)
    env.reset(seed=0)
    for _ in range(5):
        *_, truncated, info = env.step(4)
    assert truncated
    assert info["episode"]["l"] == 5


def lengths_and_results(env: Any) -> list[tuple[int, Any]]:
    """Do nothing for an episode in every environment; return how long each was and its result."""
    vector = isinstance(env, gymnasium.vector.VectorEnv)
    env.reset(seed=0)
    step, truncated = 0, np.zeros(1)
    while not np.any(truncated):
        *_, terminated, truncated, info = env.step(np.full(2, 0) if vector else 0)
        step += 1
    assert np.all(truncated)
    assert not np.any(terminated)
    return [(step, result) for result in np.atleast_1d(info["result"])]


LIMITED = ["piase/GridWorld-DoorKey-8x8-v1", "piase/TextRoom-LostKey-v3", "piase/SocialDilemma-v1"]


@pytest.mark.parametrize("task", LIMITED)
def test_max_episode_steps_is_the_limit_of_the_world(task: str) -> None:
    env = gymnasium.make(task, max_episode_steps=3)
    assert env.unwrapped.config.max_steps == 3  # type: ignore[attr-defined]
    assert lengths_and_results(env) == [(3, "lost")]
    spec = env.spec
    assert spec is not None
    assert spec.max_episode_steps == 3
    for again in (spec, gymnasium.envs.registration.EnvSpec.from_json(spec.to_json())):
        assert lengths_and_results(gymnasium.make(again)) == [(3, "lost")]
    assert lengths_and_results(gymnasium.make(spec, max_episode_steps=2)) == [(2, "lost")]
    usual: Any = gymnasium.make(task, max_episode_steps=-1).unwrapped
    assert usual.config == gymnasium.make(task).unwrapped.config  # type: ignore[attr-defined]
    parallel = pettingzoo.make("parallel", task, max_cycles=3)
    parallel.reset(seed=0)
    for _ in range(3):
        *_, truncations, infos = parallel.step(dict.fromkeys(parallel.agents, 0))
    assert {infos[name]["result"] for name in truncations} == {"lost"}


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync", "async"])
@pytest.mark.parametrize("task", LIMITED)
def test_max_episode_steps_is_the_limit_of_every_world_of_a_vector(task: str, mode: str) -> None:
    env = gymnasium.make_vec(task, 2, vectorization_mode=mode, max_episode_steps=3)
    assert lengths_and_results(env) == [(3, "lost")] * 2
    env.close()
    if mode == "vector_entry_point":
        usual: Any = gymnasium.make_vec(task, 2, max_episode_steps=-1)
        config = usual.batch.world.config if hasattr(usual, "batch") else usual.envs[0].config
        assert config == gymnasium.make(task).unwrapped.config  # type: ignore[attr-defined]
        usual.close()


RELIMITED: list[tuple[dict[str, int], dict[str, int], int]] = [
    ({}, {"max_steps": 9}, 9),
    ({"max_steps": 15}, {"max_cycles": 9}, 9),
    ({"max_cycles": 15}, {"max_steps": 9}, 9),
    ({"max_steps": 15}, {"max_episode_steps": 20}, 20),
    ({"max_episode_steps": 15}, {"max_episode_steps": 20}, 20),
    ({"max_steps": 15}, {"max_episode_steps": -1}, 15),
    ({"max_steps": 15, "max_episode_steps": 15}, {}, 15),
]


@pytest.mark.parametrize(("first", "then", "limit"), RELIMITED)
@pytest.mark.parametrize("task", LIMITED[:2])
def test_a_call_overrules_the_limit_of_its_spec(
    task: str, first: dict[str, int], then: dict[str, int], limit: int
) -> None:
    made, many = gymnasium.make(task, **first), gymnasium.make_vec(task, 2, **first)
    assert made.spec is not None
    env = gymnasium.make(made.spec, **then)
    for one in (env, gymnasium.make(env.spec)):  # type: ignore[arg-type]
        assert one.unwrapped.config.max_steps == limit  # type: ignore[attr-defined]
    for spec in (made.spec, many.spec):
        vector: Any = gymnasium.make_vec(spec, 2, **then)
        again: Any = gymnasium.make_vec(vector.spec)
        for each in (vector, again):
            assert each.spec.max_episode_steps == limit
            each.close()
    many.close()


@pytest.mark.parametrize("steps", [9, 20])
def test_a_call_overrules_the_limit_of_its_spec_in_gymnasiums_vectors(steps: int) -> None:
    spec = gymnasium.make(LIMITED[0], max_steps=15).spec
    vector: Any = gymnasium.make_vec(
        spec,  # type: ignore[arg-type]
        2,
        vectorization_mode="sync",
        max_episode_steps=steps,
    )
    assert [env.unwrapped.config.max_steps for env in vector.envs] == [steps] * 2
    vector.close()


def test_a_spec_has_the_limit_of_a_time_limit_and_of_a_change() -> None:
    env: Any = gymnasium.make(LIMITED[0], max_steps=15)
    for steps, limit in ((5, 5), (30, 15)):
        again: Any = gymnasium.make(gymnasium.wrappers.TimeLimit(env, steps).spec)
        assert lengths_and_results(again) == [(limit, "lost")]
    for steps in (9, 20):
        env.unwrapped.reconfigure({"max_steps": steps})
        env.reset(seed=0)
        assert lengths_and_results(gymnasium.make(env.spec)) == [(steps, "lost")]
    with pytest.raises(ConfigError, match=r"max_steps=30 .*=20; give max_episode_steps=30"):
        gymnasium.make(env.spec, max_steps=30)  # a TimeLimit would end episodes after 20
    vector: Any = gymnasium.make_vec(env.spec, 2, max_steps=30)
    assert lengths_and_results(vector) == [(30, "lost")] * 2


def test_a_limit_that_makes_no_sense() -> None:
    task = "piase/GridWorld-v1"
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(ConfigError, match="'max_steps' and 'max_episode_steps'"):
            make(task, max_steps=5, max_episode_steps=3)  # type: ignore[operator]
    with pytest.raises(ConfigError, match="max_steps"):
        gymnasium.make(task, max_episode_steps=0)
    with pytest.raises(ConfigError, match="max_steps"):
        gymnasium.make(gymnasium.make(task).spec, max_steps=[3])  # type: ignore[arg-type]
    env: Any = gymnasium.make(task, max_episode_steps=3).unwrapped
    with pytest.raises(ConfigError, match=r"max_steps=9 .*max_episode_steps=3"):
        env.reconfigure({"max_steps": 9})
    env.reconfigure({"max_steps": 3})
    env.reconfigure({"max_steps": 2})
    assert lengths_and_results(env) == [(2, "lost")]


def test_a_time_limit_allows_no_way_back() -> None:
    task = "piase/GridWorld-v1"
    for fields in ({"max_episode_steps": 5}, {"max_steps": 5, "max_episode_steps": 5}):
        env: Any = gymnasium.make(task, **fields)
        inner, fresh = env.unwrapped, gymnasium.make(task, **fields).unwrapped
        with pytest.raises(ConfigError, match=r"max_steps=9 .*max_episode_steps=5"):
            inner.reconfigure({"max_steps": 9})
        env.reset(seed=0)
        start = inner.snapshot()
        inner.restore(start)
        env.step(0)
        for each in (inner, fresh):
            with pytest.raises(UnsupportedError, match=r"TimeLimit.*make it with max_steps=5"):
                each.restore(start)
    free: Any = gymnasium.make(task, max_steps=5)
    free.reset(seed=0)
    free.step(0)
    free.unwrapped.restore(start)
    assert lengths_and_results(free) == [(5, "lost")]


def test_the_masks_are_those_of_the_learners_own_seat() -> None:
    fields: dict[str, Any] = {"agents": 2, "map": "@kG\n..@", "partners": "noop"}
    masks = []
    for agent in ("agent_0", "agent_1"):
        env = piase_gym.gym_env("GridWorld", agent=agent, **fields)
        _, info = env.reset(seed=0)
        assert env.action_masks().tolist() == info["action_mask"].astype(bool).tolist()
        assert (
            env.action_masks().tolist() == env.world.masks()[env.agent_index].astype(bool).tolist()
        )
        masks.append(env.action_masks().tolist())
        assert env.step(4)[4]["action_mask"].tolist() == env.world.masks()[env.agent_index].tolist()
    assert masks[0] != masks[1]
    vector: Any = gymnasium.make_vec("piase/GridWorld-v1", 2, agent="agent_1", **fields)
    vector.reset(seed=0)
    assert vector.action_masks().tolist() == [masks[1]] * 2


def test_spec_survives_json() -> None:
    env = gymnasium.make("piase/GridWorld-v1", agents=2, layout="four_rooms", view="text")
    assert env.spec is not None
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.reset(seed=5)[0] == env.reset(seed=5)[0]
