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
    from piase_gym.interfaces.environment import (
        AbstractEnvironment,
        Environment,
        WorldAbstractEnvironment,
        WorldEnvironment,
    )
    from piase_gym.interfaces.environment_interface import EnvironmentInterface
    from piase_gym.interfaces.own import as_parallel, register_env
    from piase_gym.interfaces.perception_interface import (
        PerceptionInterface,
        WorldPerceptionInterface,
    )

__all__ = [
    "AbstractEnvironment",
    "Action",
    "BaseEnv",
    "Environment",
    "EnvironmentInterface",
    "Observation",
    "PerceptionInterface",
    "WorldAbstractEnvironment",
    "WorldBaseEnv",
    "WorldEnvironment",
    "WorldPerceptionInterface",
    "as_parallel",
    "base_envs",
    "make_base_env",
    "register_base_env",
    "register_env",
]

__getattr__, __dir__ = lazy(__name__)
