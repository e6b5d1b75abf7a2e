"""An environment loads what it needs, so that a fresh process soon takes its first step."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
import piase_gym
env = piase_gym.parallel_env({task!r}, view="vector")
env.reset(seed=0)
env.step({{agent: 0 for agent in env.agents}})
print(*sys.modules)
"""
LATER = {
    "piase_gym.scenarios.loader": "schemas of scenarios",
    "scipy.ndimage": "patches of colour",
    "scipy.optimize": "scores of descriptions",
    "ruamel.yaml": "files of scenarios",
    "torch": "learners",
    "pandas": "tables",
}
"""What takes long to import, and what it is for."""


@pytest.mark.parametrize("task", ["piase/GridWorld-v1", "piase/ObjectSearch-v3"])
def test_nothing_is_loaded_that_is_needed_later(task: str) -> None:
    command = [sys.executable, "-c", CODE.format(task=task)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "piase_gym.envs.parallel" in loaded
    assert loaded & set(LATER) == set()
