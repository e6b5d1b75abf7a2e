"""Faces: APIs over a world. A face translates names, actions and views; it holds no rule.

The interfaces of the seed documents are here by name; each is made as ``Face(world, **config)``.
They are imported when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from piase_gym.faces.base_env import (
        BaseEnv,
        base_envs,
        make_base_env,
        register_base_env,
    )
    from piase_gym.faces.hal import AbstractEnvironment, Environment
    from piase_gym.faces.interface import EnvironmentInterface
    from piase_gym.faces.perception import PerceptionInterface
    from piase_gym.faces.world_base_env import WorldBaseEnv
    from piase_gym.models import Action, Observation

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
    "AbstractEnvironment": "piase_gym.faces.hal",
    "Action": "piase_gym.models",
    "BaseEnv": "piase_gym.faces.base_env",
    "Environment": "piase_gym.faces.hal",
    "EnvironmentInterface": "piase_gym.faces.interface",
    "Observation": "piase_gym.models",
    "PerceptionInterface": "piase_gym.faces.perception",
    "WorldBaseEnv": "piase_gym.faces.world_base_env",
    "base_envs": "piase_gym.faces.base_env",
    "make_base_env": "piase_gym.faces.base_env",
    "register_base_env": "piase_gym.faces.base_env",
}


def __getattr__(name: str) -> Any:
    """Import a face when it is first asked for."""
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
