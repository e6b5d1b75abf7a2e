"""Adapters: worlds in the form that a learning library takes.

Each is imported when it is first asked for, because the libraries exclude each other: ray[rllib]
pins one version of Gymnasium.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from piase_gym.adapters.encoders import CellEncoder, CellFeatures
    from piase_gym.adapters.rllib_env import rllib
    from piase_gym.adapters.sb3 import sb3_vec

__all__ = ["CellEncoder", "CellFeatures", "rllib", "sb3_vec"]

_LAZY = {
    "CellEncoder": "piase_gym.adapters.encoders",
    "CellFeatures": "piase_gym.adapters.encoders",
    "rllib": "piase_gym.adapters.rllib_env",
    "sb3_vec": "piase_gym.adapters.sb3",
}


def __getattr__(name: str) -> Any:
    """Import an adapter when it is first asked for."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
