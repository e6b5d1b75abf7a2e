"""Wrappers over the environments: one wrapper a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy
from piase_gym.wrappers.add_actuators import AddActuators
from piase_gym.wrappers.add_sensors import AddSensors
from piase_gym.wrappers.avt_log import AvtLogger

if TYPE_CHECKING:
    from piase_gym.wrappers.add_memory import AddMemory
    from piase_gym.wrappers.add_shared_memory import AddSharedMemory
    from piase_gym.wrappers.curriculum import CurriculumWrapper
    from piase_gym.wrappers.text_embedding import TextEmbedding, TextEmbeddingEnv

__all__ = [
    "AddActuators",
    "AddMemory",
    "AddSensors",
    "AddSharedMemory",
    "AvtLogger",
    "CurriculumWrapper",
    "TextEmbedding",
    "TextEmbeddingEnv",
]

__getattr__, __dir__ = lazy(__name__)
