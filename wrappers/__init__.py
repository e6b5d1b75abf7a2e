"""Wrappers over the environments: one wrapper per file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.wrappers.add_actuators import AddActuators as AddActuators
    from piase_gym.wrappers.add_memory import AddMemory as AddMemory
    from piase_gym.wrappers.add_sensors import AddSensors as AddSensors
    from piase_gym.wrappers.add_shared_memory import AddSharedMemory as AddSharedMemory
    from piase_gym.wrappers.avt_log import AvtLogger as AvtLogger
    from piase_gym.wrappers.curriculum import CurriculumWrapper as CurriculumWrapper
    from piase_gym.wrappers.keep_agents import KeepAgents as KeepAgents
    from piase_gym.wrappers.text_embedding import TextEmbedding as TextEmbedding
    from piase_gym.wrappers.text_embedding import TextEmbeddingEnv as TextEmbeddingEnv

__getattr__, __dir__ = lazy(__name__)
