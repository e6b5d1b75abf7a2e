"""The interfaces of the documents that piase_gym implements: ``Name(world, **config)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

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

__getattr__, __dir__ = lazy(__name__)
