"""Wrappers over the environments: one wrapper a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy
from piase_gym.wrappers.add_actuators import AddActuators
from piase_gym.wrappers.add_sensors import AddSensors
from piase_gym.wrappers.avt_log import AvtLogger

if TYPE_CHECKING:
    from piase_gym.wrappers.curriculum import CurriculumWrapper

__all__ = ["AddActuators", "AddSensors", "AvtLogger", "CurriculumWrapper"]

__getattr__, __dir__ = lazy(__name__)
