"""The interfaces of the documents that piase_gym implements: ``Name(world, **config)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.core.documents import AbstractEnvironment as AbstractEnvironment
    from piase_gym.core.documents import Environment as Environment
    from piase_gym.core.documents import PerceptionInterface as PerceptionInterface
    from piase_gym.core.models import Action as Action
    from piase_gym.core.models import Observation as Observation
    from piase_gym.interfaces.base_env import BaseEnv as BaseEnv
    from piase_gym.interfaces.base_env import WorldBaseEnv as WorldBaseEnv
    from piase_gym.interfaces.base_env import base_envs as base_envs
    from piase_gym.interfaces.base_env import make_base_env as make_base_env
    from piase_gym.interfaces.base_env import register_base_env as register_base_env
    from piase_gym.interfaces.environment import (
        WorldAbstractEnvironment as WorldAbstractEnvironment,
    )
    from piase_gym.interfaces.environment import WorldEnvironment as WorldEnvironment
    from piase_gym.interfaces.environment_interface import (
        EnvironmentInterface as EnvironmentInterface,
    )
    from piase_gym.interfaces.own import as_parallel as as_parallel
    from piase_gym.interfaces.own import register_env as register_env
    from piase_gym.interfaces.perception_interface import (
        WorldPerceptionInterface as WorldPerceptionInterface,
    )

__getattr__, __dir__ = lazy(__name__)
