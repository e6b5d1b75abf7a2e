"""The interfaces of the documents that piase_gym implements.

Each is made as ``Name(world, **config)``. They are imported when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from piase_gym.core.models import Action, Observation
    from piase_gym.interfaces.base_env import (
        BaseEnv,
        WorldBaseEnv,
        base_envs,
        make_base_env,
        register_base_env,
    )
    from piase_gym.interfaces.environment import AbstractEnvironment, Environment
    from piase_gym.interfaces.environment_interface import EnvironmentInterface
    from piase_gym.interfaces.perception_interface import PerceptionInterface

__all__ = [
    "AbstractEnvironment",
    "Action",
    "BaseEnv",
    "Environment",
    "EnvironmentInterface",
    "Observation",
    "PerceptionInterface",
    "WorldBaseEnv",
    "base_envs",
    "make_base_env",
    "register_base_env",
]

_LAZY = {
    "AbstractEnvironment": "piase_gym.interfaces.environment",
    "Action": "piase_gym.core.models",
    "BaseEnv": "piase_gym.interfaces.base_env",
    "Environment": "piase_gym.interfaces.environment",
    "EnvironmentInterface": "piase_gym.interfaces.environment_interface",
    "Observation": "piase_gym.core.models",
    "PerceptionInterface": "piase_gym.interfaces.perception_interface",
    "WorldBaseEnv": "piase_gym.interfaces.base_env",
    "base_envs": "piase_gym.interfaces.base_env",
    "make_base_env": "piase_gym.interfaces.base_env",
    "register_base_env": "piase_gym.interfaces.base_env",
}


def __getattr__(name: str) -> Any:
    """Import an environment when it is first asked for."""
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
