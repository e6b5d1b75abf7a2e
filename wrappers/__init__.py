"""Wrappers over the faces: one wrapper a file."""

from piase_gym.wrappers.add_actuators import AddActuators
from piase_gym.wrappers.add_sensors import AddSensors
from piase_gym.wrappers.avt_log import AvtLogger

__all__ = ["AddActuators", "AddSensors", "AvtLogger"]
