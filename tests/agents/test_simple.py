"""Partners that play as the world's script or oracle: what becomes of their memory."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import piase_gym


def make(partner: str) -> Any:
    """Make a house in which a partner remembers what it has seen."""
    return piase_gym.parallel_env("ObjectSearch", agents=2, partners={"agent_1": partner})


def digests(env: Any, steps: int) -> list[str]:
    """Stand still for some steps, and return the digest after each."""
    found = []
    for _ in range(steps):
        env.step({"agent_0": env.world.commands.index(env.world.noop)})
        found.append(env.digest())
    return found


@pytest.mark.parametrize(("partner", "steps"), [("scripted", 12), ("oracle", 3)])
def test_a_snapshot_has_one_future(partner: str, steps: int) -> None:
    env, other = make(partner), make(partner)
    env.reset(seed=0)
    digests(env, steps)
    snapshot = json.loads(json.dumps(env.snapshot()))
    kept = copy.deepcopy(env)
    played = digests(env, steps)
    assert digests(kept, steps) == played  # a copy remembers
    other.restore(snapshot)
    env.restore(snapshot)  # what it has seen since is forgotten, too
    assert digests(env, steps) == digests(other, steps)
