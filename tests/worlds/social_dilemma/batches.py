"""A batch of dilemmas beside single environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import piase_gym


def require_same_play(
    fields: dict[str, Any], count: int, steps: int, draw: Callable[[Any], int]
) -> None:
    """Check that `count` slots play like single environments; `draw` draws an agent's action."""
    batch = piase_gym.batch_env("SocialDilemma", num_envs=count, **fields)
    envs = [piase_gym.parallel_env("SocialDilemma", view="vector", **fields) for _ in range(count)]
    batch.reset(seed=3)
    for number, env in enumerate(envs):
        env.reset(seed=3 + number)
    for _ in range(steps):
        acts = np.array([[draw(envs[0]) for _ in batch.agents] for _ in range(count)])
        seen, rewards, *_ = batch.step(acts)
        for number, env in enumerate(envs):
            if not env.agents:
                env.reset()
            else:
                observations, paid, *_ = env.step(
                    dict(zip(env.agents, acts[number].tolist(), strict=True))
                )
                assert rewards[number].tolist() == list(paid.values())
                for agent, vector in enumerate(observations.values()):
                    np.testing.assert_array_equal(seen[number, agent], vector)
            assert batch.digest(number) == env.digest()
