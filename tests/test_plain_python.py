"""Kernels are Python: without the compiler the same rules give the same states."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

PLAY = """
import json, sys
import numpy as np
import piase_gym

name, fields = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
env = piase_gym.parallel_env(name, **fields)
env.reset(seed=3)
seen = [env.digest()]
for _ in range(25):
    if not env.agents:
        env.reset()
    env.step({agent: int(rng.integers(env.world.num_actions)) for agent in env.agents})
    seen.append(env.digest())
batch = piase_gym.batch_env(name, num_envs=2, **fields)
batch.reset(seed=3)
shape = (2, len(batch.agents))
for _ in range(10):
    batch.step(rng.integers(0, batch.action_space.n, shape))
    seen += batch.digests()
env.reconfigure({"max_steps": 20})
env.reset()
print(json.dumps([*seen, env.digest()]))
"""


def play(case: Any, **settings: str) -> Any:
    """Play in another process and return the digests of its states."""
    command = [sys.executable, "-W", "error", "-c", PLAY, json.dumps(case)]
    done = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "case",
    [
        ("GridWorld", {"layout": "door_key", "agents": 2, "width": 8, "height": 8}),
        ("GridWorld", {"layout": "tag", "agents": 3, "width": 8, "height": 8, "symbols": 2}),
        ("SocialDilemma", {"game": "prisoners_dilemma", "noise": 0.1}),
        ("SocialDilemma", {"game": "harvest", "agents": 3, "width": 12, "height": 10}),
        ("SocialDilemma", {"game": "cleanup", "agents": 3, "width": 12, "height": 10}),
    ],
    ids=["door_key", "tag", "matrix", "harvest", "cleanup"],
)
def test_the_same_states_without_the_compiler(case: Any) -> None:
    assert play(case, NUMBA_DISABLE_JIT="1") == play(case)
