"""The bodies of agents, in metres, kilograms and newtons."""

from __future__ import annotations

import math
from typing import NamedTuple

ROVER = (0.18, 0.13, 0.07)
"""Half extents."""
SPHERE = 0.15
MASSES = {"rover": 2.0, "sphere": 1.5}
THRUST = {"rover": 20.0, "sphere": 12.0}
"""The largest force with which an agent drives, in newtons."""
TOP_SPEED = {"rover": 1.2, "sphere": 1.5}
"""m/s."""
TOP_SPIN = 3.0
"""Radians a second."""
HULL = math.hypot(ROVER[0], ROVER[1]) + 0.005
"""Where lidar rays start, in metres from the centre: just outside any agent."""
REACH = 0.16
"""How far in front of an agent's hull the surface of an object that it grips may be."""
GRIP_ANGLE = math.radians(50.0)
"""How far to the side of an agent's heading the object may be, in radians."""


def hull(body: str) -> float:
    """Return how far an agent reaches ahead of its centre."""
    return ROVER[0] if body == "rover" else SPHERE


class Pose(NamedTuple):
    """Where an agent is and how it moves, in plain numbers.

    Attributes:
        position: x, y, z.
        ahead: Unit vector of its heading on the floor, x and y.
        velocity: x, y, z.
        spin: Angular velocity, x, y, z.
    """

    position: tuple[float, float, float]
    ahead: tuple[float, float]
    velocity: tuple[float, float, float]
    spin: tuple[float, float, float]
