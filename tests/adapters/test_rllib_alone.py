"""The RLlib adapter around an environment that is played from a list, where there is no RLlib."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import piase_gym
from piase_gym.core.rng import episode_seed
from piase_gym.errors import ConfigError
from tests import probes

probes.register()


class Base:
    """As much of RLlib's class as the adapter needs."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> None:
        """Do nothing."""


@pytest.fixture(scope="module")
def adapter() -> Iterator[Any]:
    """The module of the adapter, as it is where RLlib is installed."""
    names = ["ray", "ray.rllib", "ray.rllib.env", "ray.rllib.env.multi_agent_env"]
    before = {name: sys.modules.get(name) for name in names}
    for name in names:
        sys.modules[name] = ModuleType(name)
    sys.modules[names[-1]].MultiAgentEnv = Base  # type: ignore[attr-defined]
    path = Path(piase_gym.__file__).parent / "adapters" / "rllib_env.py"
    spec = importlib.util.spec_from_file_location("rllib_env_alone", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name, kept in before.items():
        if kept is None:
            del sys.modules[name]
        else:
            sys.modules[name] = kept


BOX = spaces.Box(0, 255, (2,), np.uint8)


class Played:
    """A ParallelEnv whose steps are known beforehand: who ends, and who is in play then."""

    def __init__(self, *steps: tuple[dict[str, str], list[str]]) -> None:
        self.possible_agents = ["bob", "ann", "cat"]
        self.steps = list(steps)
        self.agents: list[str] = []
        self.metadata = {"name": "played"}
        self.unwrapped = SimpleNamespace(render_mode="ansi")
        self.resets: list[Any] = []
        self.given: list[Any] = []
        self.closed = 0

    def observation_space(self, agent: str) -> Any:
        return BOX

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(3)

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        self.resets.append((seed, options))
        self.agents = ["bob", "ann"]
        self.infos = {name: {"seed": [1]} for name in self.agents}
        return {name: np.array([1, 2], np.uint8) for name in self.agents}, self.infos

    def step(self, actions: Any) -> Any:
        self.given.append(actions)
        ends, after = self.steps.pop(0)
        names = {*self.agents, *after}
        self.agents = after
        return (
            {name: np.array([3, 4], np.uint8) for name in names},
            dict.fromkeys(names, np.float32(0.5)),
            {name: np.bool_(ends.get(name) == "end") for name in names},
            {name: np.bool_(ends.get(name) == "cut") for name in names},
            {name: {"x": [1]} for name in names},
        )

    def render(self) -> str:
        return "a picture"

    def close(self) -> None:
        self.closed += 1


def test_agents_are_sorted_and_have_spaces_from_the_start(adapter: Any) -> None:
    played = Played()
    env = adapter.RllibEnv(played, 3)
    assert env.possible_agents == env.agents == ["ann", "bob", "cat"]
    assert env._agent_ids == {"ann", "bob", "cat"}
    assert list(env.observation_spaces) == list(env.action_spaces) == ["ann", "bob", "cat"]
    assert env.observation_spaces["cat"] == spaces.Box(0, 255, (2,), np.float32)
    assert env.action_space["ann"] == spaces.Discrete(3)
    assert env.observation_space["bob"].dtype == np.float32
    assert env.metadata == {"name": "played"}
    assert env.metadata is not played.metadata
    assert (env.render_mode, env.render(), env.worker) == ("ansi", "a picture", 3)
    env.close()
    assert (env.agents, played.closed) == ([], 1)


def test_answers_are_sorted_copies_in_plain_numbers(adapter: Any) -> None:
    played = Played(({}, ["bob", "ann"]))
    env = adapter.RllibEnv(played)
    observations, infos = env.reset()
    assert list(observations) == list(infos) == env.agents == ["ann", "bob"]
    assert observations["ann"].dtype == np.float32
    infos["ann"]["seed"].append(2)
    assert played.infos["ann"]["seed"] == [1]
    actions = {"ann": 1, "bob": 2}
    observations, rewards, terminated, truncated, _ = env.step(actions)
    assert played.given == [actions]
    assert played.given[0] is not actions
    assert list(observations) == ["ann", "bob"]
    assert rewards == {"ann": 0.5, "bob": 0.5}
    assert all(type(value) is float for value in rewards.values())
    assert terminated == truncated == {"ann": False, "bob": False, "__all__": False}
    assert all(type(value) is bool for value in terminated.values())


@pytest.mark.parametrize(
    ("ends", "terminated", "truncated"),
    [
        (
            {"ann": "end", "bob": "end"},
            {"ann": True, "bob": True, "__all__": True},
            {"ann": False, "bob": False, "__all__": False},
        ),
        (
            {"ann": "end", "bob": "cut"},
            {"ann": True, "bob": False, "__all__": False},
            {"ann": False, "bob": False, "__all__": True},
        ),
        (
            {"ann": "cut", "bob": "cut"},
            {"ann": False, "bob": False, "__all__": False},
            {"ann": False, "bob": False, "__all__": True},
        ),
    ],
)
def test_a_limit_that_ends_an_episode_is_told_of_all(
    ends: Any, terminated: Any, truncated: Any, adapter: Any
) -> None:
    env = adapter.RllibEnv(Played((ends, [])))
    env.reset()
    found = env.step({"ann": 0, "bob": 0})
    assert found[2:4] == (terminated, truncated)


def test_a_limit_of_one_agent_is_its_own_while_others_go_on(adapter: Any) -> None:
    env = adapter.RllibEnv(Played(({"ann": "cut"}, ["bob"]), ({"bob": "end"}, [])))
    env.reset()
    found = env.step({"ann": 0, "bob": 0})
    assert found[3] == {"ann": True, "bob": False, "__all__": False}
    assert env.agents == ["ann", "bob"]
    found = env.step({"bob": 0})
    assert found[2] == {"bob": True, "__all__": True}
    assert env.agents == ["bob"]


def test_ends_are_kept_back_while_somebody_new_comes(adapter: Any) -> None:
    """The last that were seen end, and another enters in the same step."""
    steps: Any = (({"ann": "end", "bob": "end"}, ["cat"]), ({}, ["cat"]), ({"cat": "end"}, []))
    env = adapter.RllibEnv(Played(*steps))
    env.reset()
    found = env.step({"ann": 0, "bob": 0})
    assert list(found[0]) == ["cat"]
    assert found[2] == {"cat": False, "__all__": False}
    assert env.agents == ["cat"]
    found = env.step({"cat": 0})
    assert list(found[0]) == ["ann", "bob", "cat"]
    assert found[2] == {"ann": True, "bob": True, "cat": False, "__all__": False}
    found = env.step({"cat": 0})
    assert found[2] == {"cat": True, "__all__": True}
    env.parallel.steps = [({"ann": "end", "bob": "end"}, ["cat"])]
    env.reset()
    assert (env._held, env._gone, env._seen) == ([], set(), {"ann", "bob"})


def test_who_ended_before_is_not_waited_for(adapter: Any) -> None:
    env = adapter.RllibEnv(Played(({"ann": "end"}, ["bob"]), ({"bob": "end"}, ["cat"])))
    env.reset()
    assert env.step({"ann": 0, "bob": 0})[2] == {"ann": True, "bob": False, "__all__": False}
    assert env.step({"bob": 0})[2] == {"cat": False, "__all__": False}


def test_nothing_is_kept_back_while_somebody_known_goes_on(adapter: Any) -> None:
    env = adapter.RllibEnv(Played(({"ann": "end"}, ["bob", "cat"]), ({"bob": "end"}, ["cat"])))
    env.reset()
    assert env.step({"ann": 0, "bob": 0})[2]["ann"] is True
    assert env.step({"bob": 0, "cat": 0})[2]["bob"] is True


def test_seeds_are_those_of_a_worker(adapter: Any) -> None:
    played = Played()
    env = adapter.RllibEnv(played, 2)
    env.reset(seed=7, options={"a": 1})
    assert played.resets == [(episode_seed(7, 2 << 32), {"a": 1})]
    env.reset()
    assert played.resets[-1] == (None, None)
    first = adapter.RllibEnv(Played())
    first.reset(seed=7)
    assert first.parallel.resets == [(7, None)]
    with pytest.raises(ConfigError):
        first.reset(seed=-1)


def test_a_check_of_rllib_is_no_seed(adapter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "fresh_seed", lambda: 999)
    played = Played()
    env = adapter.RllibEnv(played)
    env.reset(seed=42, options={})
    for _ in range(2):
        env.reset()
    assert [seed for seed, _ in played.resets] == [42, 999, None]
    seeded = Played()
    env = adapter.RllibEnv(seeded)
    env.reset(seed=41, options={})
    env.reset(seed=42, options={})
    env.reset()
    assert [seed for seed, _ in seeded.resets] == [41, 42, None]


def test_masks_have_the_names_of_rllib(adapter: Any) -> None:
    both = spaces.Dict(observation=BOX, action_mask=spaces.Box(0, 1, (3,), np.int8))
    space = adapter.rllib_space(both)
    assert set(space.spaces) == {"observations", "action_mask"}
    assert space["action_mask"] == spaces.Box(0, 1, (3,), np.float32)
    shown = {"observation": np.array([1, 2], np.uint8), "action_mask": np.ones(3, np.int8)}
    found = adapter.rllib_observation(shown)
    assert {name: value.tolist() for name, value in found.items()} == {
        "observations": [1, 2],
        "action_mask": [1, 1, 1],
    }
    assert found["observations"].dtype == np.float32


def test_what_the_adapter_takes(adapter: Any) -> None:
    env = adapter.rllib("PointProbe", worker=1, agents=2)
    assert env.possible_agents == ["agent_0", "agent_1"]
    assert (env.worker, env.parallel.view) == (1, "vector")
    made = piase_gym.parallel_env("PointProbe", view="vector")
    assert adapter.rllib(made).parallel is made
    with pytest.raises(ConfigError, match="agents cannot be changed: this ParallelEnv is made al"):
        adapter.rllib(made, agents=2)
    for worker in (-1, True, 1.0, 1 << 31):
        with pytest.raises(ConfigError, match="workers are integers from 0 on"):
            adapter.rllib("PointProbe", worker=worker)
    adapter.rllib("PointProbe", worker=(1 << 31) - 1)
    for wrong in ({"view": "text"}, {"actions": "text"}):
        with pytest.raises(ConfigError, match="learners"):
            adapter.rllib("PointProbe", **wrong)
    with pytest.raises(ConfigError, match="learners"):
        adapter.rllib(piase_gym.parallel_env("PointProbe"))
    with pytest.raises(ConfigError, match=r"an adapter takes a world's name, .* not a int"):
        adapter.rllib(3)
