"""piase_gym: multi-agent worlds, each readable as a vector and as text from the same facts.

Importing this package registers its ids with Gymnasium and PettingZoo and does nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym import errors, plugins
from piase_gym.core.commands import Command, Outcome, Result
from piase_gym.lazy import lazy
from piase_gym.registry import (
    TaskSpec,
    WorldSpec,
    list_tasks,
    list_worlds,
    register_task,
    register_world,
)
from piase_gym.shipped import register_shipped

if TYPE_CHECKING:
    from piase_gym.core.documents import AbstractEnvironment, Environment, PerceptionInterface
    from piase_gym.envs.aec import aec_env
    from piase_gym.envs.batch import batch_env
    from piase_gym.envs.parallel import parallel_env
    from piase_gym.envs.single import gym_env
    from piase_gym.interfaces.base_env import BaseEnv
    from piase_gym.interfaces.environment_interface import EnvironmentInterface
    from piase_gym.interfaces.own import as_parallel, register_env
    from piase_gym.names import parse_text
    from piase_gym.simulation.simulation import Simulation

__version__ = "0.1.0"


__all__ = [
    "AbstractEnvironment",
    "BaseEnv",
    "Command",
    "Environment",
    "EnvironmentInterface",
    "Outcome",
    "PerceptionInterface",
    "Result",
    "Simulation",
    "TaskSpec",
    "WorldSpec",
    "__version__",
    "aec_env",
    "as_parallel",
    "batch_env",
    "errors",
    "gym_env",
    "list_tasks",
    "list_worlds",
    "parallel_env",
    "parse_text",
    "plugins",
    "register_env",
    "register_task",
    "register_world",
]

__getattr__, __dir__ = lazy(__name__)


register_shipped()
plugins.register_rows()  # last: they import this package
