"""Wrappers over the environments: one wrapper a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from piase_gym.wrappers.add_actuators import AddActuators
from piase_gym.wrappers.add_sensors import AddSensors
from piase_gym.wrappers.avt_log import AvtLogger

if TYPE_CHECKING:
    from piase_gym.wrappers.curriculum import CurriculumWrapper

__all__ = ["AddActuators", "AddSensors", "AvtLogger", "CurriculumWrapper"]


def __getattr__(name: str) -> Any:
    """Import the engine of curricula when it is first asked for."""
    if name == "CurriculumWrapper":
        from piase_gym.wrappers.curriculum import CurriculumWrapper

        return CurriculumWrapper
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
