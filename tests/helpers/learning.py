"""Whether what a library has trained is better than chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import piase_gym
from piase_gym.benchmarks.evaluation.statistics import Interval, paired_difference

Act = Callable[[NDArray[Any], NDArray[Any]], int]
HELD_OUT = 2_000_000
"""The first seed of the levels that are played here, on which nothing is trained."""


def returns(act: Act, task: str, episodes: int, **fields: Any) -> NDArray[np.float64]:
    """Return what all agents together get in each episode, all playing one policy.

    Args:
        act: Takes an agent's observation (float32) and its mask, and returns an action.
        task: An id.
        episodes: How many are played.
        fields: Fields of the config.
    """
    env = piase_gym.parallel_env(task, view="vector", dtype="float32", **fields)
    gained = np.zeros(episodes)
    for episode in range(episodes):
        shown, infos = env.reset(seed=HELD_OUT + episode)
        while env.agents:
            acts = {name: act(shown[name], infos[name]["action_mask"]) for name in env.agents}
            shown, rewards, _, _, infos = env.step(acts)
            gained[episode] += sum(rewards.values())
    return gained


def chance(seed: int = 0) -> Act:
    """Return a policy that draws from the legal actions."""
    rng = np.random.default_rng(seed)
    return lambda shown, mask: int(rng.choice(np.flatnonzero(mask)))


def gain(act: Act, task: str, episodes: int = 60, **fields: Any) -> Interval:
    """Return by how much a policy beats the legal draws, on the same levels, with its interval."""
    mine = returns(act, task, episodes, **fields)
    return paired_difference(mine, returns(chance(), task, episodes, **fields))
