"""What the tests of bad input share: environments, and how errors are held."""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import gymnasium
import pytest

from piase_gym.envs.aec import aec_env
from piase_gym.envs.parallel import WorldParallelEnv, parallel_env
from piase_gym.envs.single import GymEnv, gym_env
from piase_gym.errors import (
    PiaseError,
)
from tests.paths import ROOT

STAY, RIGHT = 4, 3
NAN, INF = math.nan, math.inf
ABSENT = 2**31 - 256  # where the kernels' codes for "no act" and invalid actions start
START: dict[str, Any] = {"agents": 2, "start_pos": [(0, 0), (3, 3)], "goal_pos": (1, 0)}


def short(value: object) -> str:
    """Name a case by its value."""
    if isinstance(value, type):
        return value.__name__
    return "object" if type(value) is object else repr(value)[:40]


def fresh(**fields: Any) -> WorldParallelEnv:
    """Return two agents in the middle of an episode; agent_0 stands beside the goal."""
    env = parallel_env("GridWorld", **{**START, **fields})
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, STAY))
    return env


def make_gymnasium(name: str, **fields: Any) -> GymEnv:
    """Make through Gymnasium's registry."""
    task = name if "/" in name else f"piase/{name}-v1"
    env = gymnasium.make(task, **fields).unwrapped
    assert isinstance(env, GymEnv)
    return env


MAKERS: dict[str, Callable[..., Any]] = {
    "parallel": parallel_env,
    "aec": aec_env,
    "gym": gym_env,
    "make": make_gymnasium,
}
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
both_makers = pytest.mark.parametrize("make", [parallel_env, gym_env], ids=["parallel", "gym"])


def refuse(error: type[PiaseError], words: tuple[str, ...], call: Callable[[], object]) -> None:
    """Check that a call raises an error of ours that holds all the words, in few of its own."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message
    assert len(message) < 2000


def assert_untouched(env: Any, call: Callable[[], object]) -> None:
    """Check that a call changes nothing and that the env goes on as its twin does."""
    before, digest = json.dumps(env.snapshot()), env.digest()
    call()
    assert env.digest() == digest
    assert json.dumps(env.snapshot()) == before
    twin = copy.deepcopy(env)
    played = getattr(env, "agents", None)
    acts = STAY if played is None else dict.fromkeys(played, STAY)
    env.step(acts)
    twin.step(acts)
    assert env.digest() == twin.digest() != digest


def run(code: str, **options: Any) -> str:
    """Run Python code in a process of its own and return what it printed."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        **options,
    )
    return done.stdout
