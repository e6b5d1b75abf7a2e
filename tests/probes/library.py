"""The checkers of PettingZoo, Gymnasium and Stable-Baselines3, with what is to be let pass."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from piase_gym.envs.aec import aec_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from tests.helpers.checkers import (
    api_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)

Config = Mapping[str, Any]

# message, why it is let pass
LET_PASS = (
    ("reset option 'options' is unknown", "the checkers pass an option of their own invention"),
    ("Observation space for each agent probably should be", "it is a Dict or a Text on purpose"),
    ("Observation is not a NumPy array", "it is a dict or a string on purpose"),
    ("Action space for each agent probably should be", "it is a Text on purpose"),
)


@contextmanager
def tolerant(*more: str) -> Iterator[None]:
    """Let the known warnings of checkers pass."""
    with warnings.catch_warnings():
        for message in (*(row[0] for row in LET_PASS), *more):
            warnings.filterwarnings("ignore", f".*{message}")
        yield


def check_parallel(name: str, **config: Any) -> None:
    """PettingZoo's tests of the parallel environment."""
    env = parallel_env(name, **config)
    env.reset(seed=1)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(number + 1)
    with tolerant():
        parallel_api_test(env, num_cycles=60)
        parallel_seed_test(lambda: parallel_env(name, **config))


def check_aec(name: str, **config: Any) -> None:
    """PettingZoo's tests of the AEC environment."""
    with tolerant():
        if config.get("view") != "text":  # api_test asks every observation for its dtype
            api_test(aec_env(name, **config), num_cycles=40)
        if not config.get("join_at"):  # seed_test seeds only the spaces of those present at first
            seed_test(lambda: aec_env(name, **config), num_cycles=20)
        state_test(aec_env(name, **config), parallel_env(name, **config))


def check_render(name: str, monkeypatch: pytest.MonkeyPatch, **config: Any) -> None:
    """PettingZoo's test of pictures, the window included if pygame is there."""
    env = parallel_env(name, render_mode="ansi", **config)
    env.reset(seed=0)
    assert isinstance(env.render(), str)
    env.render_mode = "rgb_array"
    picture = env.render()
    assert picture.dtype == np.uint8
    assert picture.ndim == 3
    assert picture.std() > 0
    if importlib.util.find_spec("pygame") is not None:
        monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
        with tolerant():
            render_test(lambda render_mode: aec_env(name, render_mode=render_mode, **config))


def check_gymnasium(name: str, *more: str, **config: Any) -> None:
    """Gymnasium's checker."""
    with tolerant(*more):
        check_env(gym_env(name, **config), skip_render_check=True)


def check_sb3(name: str, *more: str, **config: Any) -> None:
    """Stable-Baselines3's checker."""
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    with tolerant(*more):
        sb3.check_env(gym_env(name, **config))
