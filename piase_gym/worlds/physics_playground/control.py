"""From commands to forces: how rovers and spheres are driven.

A rover has two wheels. Each pushes along the heading with a force proportional to the lack of rim
speed, up to its traction, and resists sliding sideways; so a rover turns by different wheel
speeds. A sphere is driven by a force along its heading and turned by a torque, and drifts. The
gains are those of an explicit step: a share of the lack is made up for in each step.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from piase_gym.worlds.physics_playground.layouts import MASSES, ROVER, SPHERE, THRUST

TOP_SPEED = {"rover": 1.2, "sphere": 1.5}
"""m/s."""
TOP_SPIN = 3.0
"""Radians a second."""
TRACK = 2.0 * ROVER[1]
GRIP_ANGLE = math.radians(50.0)
REACH = 0.16
"""How far in front of an agent's hull the surface of what it grips may be."""


class Pose(NamedTuple):
    """Where an agent is and how it moves, in plain numbers.

    Attributes:
        position: x, y, z.
        ahead: Unit vector of its heading on the floor, x and y.
        velocity: x, y, z.
        spin: Angular velocity, x, y, z.
        up: Its own vertical, x, y, z.
    """

    position: tuple[float, float, float]
    ahead: tuple[float, float]
    velocity: tuple[float, float, float]
    spin: tuple[float, float, float]
    up: tuple[float, float, float]


def pose_of(raw: tuple[Any, ...]) -> Pose:
    """Return the pose of an agent from what Bullet tells."""
    position, (x, y, z, w), velocity, spin = raw
    c, s = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
    size = math.sqrt(c * c + s * s)
    ahead = (c / size, s / size) if size > 1e-9 else (1.0, 0.0)
    up = (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y))
    return Pose(position, ahead, velocity, spin, up)


def hull(body: str) -> float:
    """Return how far an agent reaches ahead of its centre."""
    return ROVER[0] if body == "rover" else SPHERE


Force = tuple[float, float, float]


def forces(
    body: str, pose: Pose, drive: float, turn: float, grounded: bool, seconds: float
) -> tuple[Force, Force]:
    """Return the force and the torque on an agent during one step.

    Args:
        body: ``rover`` or ``sphere``.
        pose: Where it is.
        drive: Wanted speed ahead, from -1 to 1 of the top speed.
        turn: Wanted spin to the left, from -1 to 1 of the top spin.
        grounded: Whether something carries it; in the air there is nothing to push against.
        seconds: The length of the step.
    """
    cx, cy = pose.ahead
    ahead = pose.velocity[0] * cx + pose.velocity[1] * cy
    left = pose.velocity[1] * cx - pose.velocity[0] * cy
    mass, thrust = MASSES[body], THRUST[body]
    gain = mass * min(0.5 / seconds, 8.0)
    if body == "rover":
        along, side, twist = _wheels(ahead, left, pose.spin[2], drive, turn, gain, thrust)
    else:
        rolling = thrust / TOP_SPEED[body]
        along = thrust * drive - min(rolling, gain) * ahead
        side = -min(rolling, gain) * left
        inertia = 0.4 * mass * SPHERE * SPHERE
        twist = inertia * min(0.5 / seconds, 8.0) * (TOP_SPIN * turn - pose.spin[2])
    if not grounded:
        along = side = twist = 0.0
    tilt = _upright(pose, seconds) if body == "sphere" else (0.0, 0.0)
    return (along * cx - side * cy, along * cy + side * cx, 0.0), (*tilt, twist)


def _wheels(
    ahead: float, left: float, spin: float, drive: float, turn: float, gain: float, thrust: float
) -> tuple[float, float, float]:
    """Return what two wheels push ahead and to the left, and by how much they twist."""
    arm, grip = TRACK / 2.0, thrust / 2.0
    pushes = []
    for y in (arm, -arm):  # the left wheel, the right wheel
        wanted = TOP_SPEED["rover"] * drive - y * TOP_SPIN * turn
        lack = wanted - (ahead - y * spin)
        pushes.append(min(grip, max(-grip, 0.5 * gain * lack)))
    skid = min(thrust, max(-thrust, -1.6 * gain * left))
    return pushes[0] + pushes[1], skid, arm * (pushes[1] - pushes[0])


def _upright(pose: Pose, seconds: float) -> tuple[float, float]:
    """Return the torque (x, y) by which a sphere's gyroscope keeps it upright."""
    stiff, damp = min(0.15 / seconds**2, 40.0), min(0.5 / seconds, 8.0)
    ux, uy, _ = pose.up
    return stiff * uy - damp * pose.spin[0], -stiff * ux - damp * pose.spin[1]


__all__ = [
    "GRIP_ANGLE",
    "REACH",
    "Pose",
    "forces",
    "hull",
    "pose_of",
]
