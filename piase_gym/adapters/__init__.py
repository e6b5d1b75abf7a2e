"""Adapters: worlds in the form that a learning library takes."""

from __future__ import annotations

from piase_gym.adapters.sb3 import sb3_vec

__all__ = ["sb3_vec"]
