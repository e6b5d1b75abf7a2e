"""What agents are given, made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

import piase_gym
from piase_gym.agents.base import BatchPercept, Feedback, Percept
from piase_gym.core.commands import Outcome


def percept_of(world: str, **config: Any) -> Percept:
    """Return what the first agent perceives at the start of an episode."""
    env = piase_gym.parallel_env(world, **config)
    env.reset(seed=0)
    return Percept(env.world, 0, 0)


def batch(seeds: list[int], noop: int | None = None) -> BatchPercept:
    """Return what is perceived in some environments with two actions."""
    count = len(seeds)
    masks = np.ones((count, 2), np.int8)
    zeros = np.zeros(count, np.int64)
    return BatchPercept(np.zeros((count, 3)), masks, np.array(seeds, np.uint64), zeros, noop)


def feedback(reward: float, terminated: bool = False, truncated: bool = False) -> Feedback:
    """Return what became of an action that was taken as it was meant."""
    return Feedback(reward, terminated, truncated, Outcome.OK)
