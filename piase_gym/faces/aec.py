"""The AEC face: one agent after the other, over the parallel one."""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv
from pettingzoo.utils.conversions import parallel_to_aec

from piase_gym.config import WorldConfig
from piase_gym.faces.parallel import parallel_env


def aec_env(name: str | WorldConfig, **kwargs: Any) -> AECEnv[str, Any, Any]:
    """Make a world as a PettingZoo AECEnv; the arguments are those of `parallel_env`.

    All agents in play choose before the world advances by one step, so states are those of the
    parallel face.
    """
    env: AECEnv[str, Any, Any] = parallel_to_aec(parallel_env(name, **kwargs))
    return env


def make_task(task: str, **kwargs: Any) -> AECEnv[str, Any, Any]:
    """Make a registered id; the entry point of PettingZoo's registry."""
    return aec_env(task, **kwargs)
