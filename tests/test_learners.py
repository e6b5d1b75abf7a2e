"""Every recipe of docs/learners.md runs, in a process of its own."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.errors import ConfigError
from piase_gym.wrappers.keep_agents import KeepAgents

from .checkers import parallel_api_test

PAGE = (Path(__file__).parents[1] / "docs" / "learners.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^## (.*?)\n.*?```python\n(.*?)```", PAGE, re.M | re.S))
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


def missing(code: str) -> list[str]:
    """Return the libraries that a block imports and that are not installed."""
    names = set(re.findall(r"^(?:from|import) (\w+)", code, re.M))
    return sorted(name for name in names if importlib.util.find_spec(name) is None)


@pytest.mark.parametrize("title", RECIPES)
def test_recipes_run(title: str) -> None:
    lacking = missing(RECIPES[title])
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed")
    command = [sys.executable, "-c", RECIPES[title]]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
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


@pytest.mark.parametrize("view", ["both", "text"])
def test_other_views_are_refused_with_a_sentence(view: str) -> None:
    with pytest.raises(ConfigError, match="view='vector'"):
        KeepAgents(piase_gym.parallel_env("GridWorld", view=view))
    with pytest.raises(ConfigError, match="view"):
        piase_gym.batch_env("GridWorld", num_envs=2, view=view)
