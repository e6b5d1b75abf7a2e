"""Adapters: worlds in the form that a learning library takes.

Each is imported when it is first asked for, because the libraries conflict: ray[rllib]
pins one version of Gymnasium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.adapters.alfworld import get_environment
    from piase_gym.adapters.encoders import CellEncoder, CellFeatures
    from piase_gym.adapters.intercode import SqlEnv
    from piase_gym.adapters.rllib_env import rllib
    from piase_gym.adapters.sb3 import sb3_vec

__all__ = ["CellEncoder", "CellFeatures", "SqlEnv", "get_environment", "rllib", "sb3_vec"]

__getattr__, __dir__ = lazy(__name__)
