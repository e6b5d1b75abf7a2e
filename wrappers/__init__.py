"""Wrappers over the faces: one wrapper a file."""

from piase_gym.wrappers.avt_log import AvtLogger

__all__ = ["AvtLogger"]
