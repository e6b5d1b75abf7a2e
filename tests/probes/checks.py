"""What both probes are held to beyond the conformance kit, and which of its checks they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import piase_gym
from piase_gym import testing
from piase_gym.envs.parallel import parallel_env

Config = Mapping[str, Any]

# `library` runs the checkers of other libraries, with more views and kinds of actions.
LIBRARIES = ("pettingzoo", "gymnasium_checker", "sb3", "human")
CONTRACT = [c.name for c in testing.WORLD_CHECKS if not c.name.startswith(LIBRARIES)]


def check_damage(name: str, config: Config, **larger: Any) -> None:
    """Damaged states are refused, and the world is as before."""
    env, other = parallel_env(name, **config), parallel_env(name, **{**config, **larger})
    env.reset(seed=1)
    other.reset(seed=1)
    before, good = env.digest(), env.world.get_state()
    bad: list[Any] = [{}, other.world.get_state(), *({**good, key: None} for key in good)]
    bad += [{**good, key: {**good[key], "t": "x"}} for key in good if "t" in good[key]]
    for state in bad:
        with pytest.raises(piase_gym.errors.SnapshotError):
            env.world.set_state(state)
        assert env.digest() == before
