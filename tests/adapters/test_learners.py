"""Every recipe of docs/learners.md runs, in a process of its own, and those that train learn."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

import piase_gym
from piase_gym.errors import ConfigError, SnapshotError
from piase_gym.wrappers.keep_agents import KeepAgents
from tests.helpers.checkers import parallel_api_test
from tests.helpers.warm_python import run_python
from tests.paths import DOCS, ROOT

PAGE = (DOCS / "learners.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^## (.*?)\n.*?```python\n(.*?)```", PAGE, re.M | re.S))
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


JUDGE = """
from tests.helpers.learning import gain

found = gain(act, task, **globals().get("fields", {}))
print(found)
assert found.low > 0, found
"""
"""What follows a block that has trained a policy."""


def missing(code: str) -> list[str]:
    """Return the libraries and checkouts that a block uses and that are not there."""
    names = set(re.findall(r"^(?:from|import) (\w+)", code, re.M))
    lacking = [name for name in names if importlib.util.find_spec(name) is None]
    if {"rllib", "tune"} & set(re.findall(r"^from ray(?: import |\.)(\w+)", code, re.M)):
        names |= {"tree", "tensorboardX"}  # Ray Core alone has the packages, but not what they need
        lacking = [name for name in names if importlib.util.find_spec(name) is None]
    checkouts = set(re.findall(r'os\.environ\["(\w+)"\](?! =)', code)) - os.environ.keys()
    return sorted(lacking) + [f"a checkout named by {name}" for name in sorted(checkouts)]


@pytest.mark.parametrize("title", RECIPES)
def test_recipes_run(title: str, tmp_path: Path) -> None:
    lacking = missing(RECIPES[title])
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed")
    code = RECIPES[title] + (JUDGE if "\ndef act(" in RECIPES[title] else "")
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env, warm = {**os.environ, "PYTHONPATH": path}, "with_others"
    if "stable_baselines3" in code:
        warm = "with_torch"
    run = run_python("-c", code, cwd=tmp_path, env=env, timeout=1200, warm=warm)
    assert run.returncode == 0, run.stderr


def test_every_block_has_a_section_of_its_own() -> None:
    assert list(RECIPES.values()) == BLOCKS


# -- the wrapper that SuperSuit needs ------------------------------------------------------


def kept(**config: Any) -> KeepAgents:
    """A wrapped GridWorld with vectors."""
    return KeepAgents(piase_gym.parallel_env("GridWorld", view="vector", **config))


@pytest.mark.filterwarnings("ignore:reset option 'options'")  # the checker passes it
def test_kept_agents_pass_pettingzoos_checker() -> None:
    parallel_api_test(kept(agents=3, max_steps=20), num_cycles=200)


def test_agents_are_kept_until_the_last_has_ended() -> None:
    env = kept(agents=2, start_pos=[(0, 0), (5, 5)], goal_pos=(1, 0), max_steps=3)
    env.reset(seed=0)
    both = ["agent_0", "agent_1"]
    shown, rewards, terminated, truncated, infos = env.step({"agent_0": 3, "agent_1": 4})
    assert rewards["agent_0"] > 0
    assert shown["agent_0"].any()  # the last observation of the winner
    assert infos["agent_0"]["result"].value == "won"
    assert not any(terminated.values())
    shown, rewards, terminated, truncated, infos = env.step({"agent_0": 3, "agent_1": 4})
    assert [list(part) for part in (shown, rewards, terminated, truncated, infos)] == [both] * 5
    assert not shown["agent_0"].any()
    assert shown["agent_0"] in env.observation_space("agent_0")
    assert rewards["agent_0"] == 0.0
    assert env.agents == both
    *_, terminated, truncated, _ = env.step({"agent_0": 3, "agent_1": 4})
    assert terminated == {"agent_0": True, "agent_1": False}
    assert truncated == {"agent_0": False, "agent_1": True}
    assert env.agents == []
    shown, _ = env.reset()
    assert env.agents == both
    assert all(np.any(row) for row in shown.values())


def test_how_agents_ended_is_in_snapshots() -> None:
    config: dict[str, Any] = {"start_pos": [(0, 0), (5, 5)], "goal_pos": (1, 0), "max_steps": 2}
    env, other = kept(agents=2, **config), kept(agents=2, **config)
    acts = {"agent_0": 3, "agent_1": 4}
    env.reset(seed=0)
    env.step(acts)  # agent_0 wins
    saved = json.loads(json.dumps(env.snapshot()))
    other.reset(seed=1)
    for damaged in (3, {"agent_0": True}, {"agent_0": []}):
        with pytest.raises(SnapshotError, match="the ends in this snapshot are damaged"):
            other.restore({**saved, "ends": damaged})
    other.restore(saved)
    won, cut = {"agent_0": True, "agent_1": False}, {"agent_0": False, "agent_1": True}
    assert other.step(acts)[2:4] == env.step(acts)[2:4] == (won, cut)
    other.restore({key: saved[key] for key in saved if key != "ends"})
    assert other.step(acts)[2:4] == (dict.fromkeys(won, False), dict.fromkeys(won, True))


class Fake(ParallelEnv[str, Any, Any]):
    """Two agents, of which the second is seen only where a script says so; zero is no view."""

    metadata = {"name": "fake"}

    def __init__(self, ends: list[dict[str, tuple[bool, bool]]]) -> None:
        self.possible_agents, self.agents = ["a", "b"], []
        self.ends, self.step_number = ends, 0

    def observation_space(self, agent: str) -> Any:
        return spaces.Box(3, 9, (2,), np.int8)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        self.agents, self.step_number = ["a"], 0
        return {"a": np.full(2, 5, np.int8)}, {"a": {}}

    def step(self, actions: Any) -> Any:
        assert set(actions) == set(self.agents)
        told = self.ends[self.step_number]
        self.step_number += 1
        names = list(self.agents)
        self.agents = [name for name in names if name not in told]
        ended = {name: told.get(name, (False, False)) for name in names}
        return (
            {name: np.full(2, 5, np.int8) for name in names},
            dict.fromkeys(names, 1.0),
            {name: end[0] for name, end in ended.items()},
            {name: end[1] for name, end in ended.items()},
            {name: {} for name in names},
        )


def test_what_absent_agents_are_shown_is_in_their_space_and_their_own() -> None:
    env = KeepAgents(Fake([{}, {"a": (True, False)}]))
    shown, _ = env.reset()
    assert shown["b"].tolist() == [3, 3]  # zeros are not in the space
    assert shown["b"] in env.observation_space("b")
    shown["b"][:] = 9  # whoever writes into it changes nothing
    shown, rewards, *_ = env.step({"a": 0, "b": 1})
    assert (shown["b"].tolist(), rewards) == ([3, 3], {"a": 1.0, "b": 0.0})


def test_ends_are_told_at_the_end_and_forgotten_after_it() -> None:
    inner = Fake([{}, {"a": (True, False)}])
    env = KeepAgents(inner)
    env.reset()
    *_, terminated, truncated, _ = env.step({"a": 0, "b": 0})
    assert not any((*terminated.values(), *truncated.values()))
    *_, terminated, truncated, _ = env.step({"a": 0, "b": 0})
    # who never entered is cut off with the rest
    assert (terminated, truncated) == ({"a": True, "b": False}, {"a": False, "b": True})
    inner.ends = [{"a": (False, True)}]
    env.reset()
    *_, terminated, truncated, _ = env.step({"a": 0, "b": 0})
    assert (terminated, truncated) == ({"a": False, "b": False}, {"a": True, "b": True})
    inner.possible_agents = ["a", "b"]
    inner.ends = [{"a": (True, False), "b": (True, False)}]
    env.reset()
    inner.agents = ["a", "b"]
    env.step({"a": 0, "b": 0})
    inner.ends = [{"a": (True, False)}]
    env.reset()
    *_, terminated, truncated, _ = env.step({"a": 0})
    assert (terminated["b"], truncated["b"]) == (False, True)  # not as in the episode before


@pytest.mark.parametrize("view", ["both", "text"])
def test_other_views_are_refused_with_a_sentence(view: str) -> None:
    with pytest.raises(ConfigError, match="view"):
        piase_gym.batch_env("GridWorld", num_envs=2, view=view)
