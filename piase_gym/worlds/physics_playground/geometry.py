"""Rotations by quaternions (x, y, z, w), in plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

Triple = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


def rotate(q: Sequence[float], v: Sequence[float]) -> Triple:
    """Rotate a vector by a quaternion."""
    x, y, z, w = q
    a, b, c = v
    tx, ty, tz = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return (
        a + w * tx + y * tz - z * ty,
        b + w * ty + z * tx - x * tz,
        c + w * tz + x * ty - y * tx,
    )


def inverse(q: Sequence[float]) -> Quaternion:
    """Return the inverse rotation."""
    return -q[0], -q[1], -q[2], q[3]


def compose(p: Sequence[float], q: Sequence[float]) -> Quaternion:
    """Return the rotation that turns by `q`, then by `p`."""
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return (
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


def minus(a: Sequence[float], b: Sequence[float]) -> Triple:
    """Subtract."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def plus(a: Sequence[float], b: Sequence[float]) -> Triple:
    """Add."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def yaw(q: Sequence[float]) -> float:
    """Return the angle of a rotation about the vertical, from east to north."""
    x, y, z, w = q
    return math.atan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))


def upright(angle: float) -> Quaternion:
    """Return the rotation about the vertical by an angle, from east to north."""
    return 0.0, 0.0, math.sin(angle / 2.0), math.cos(angle / 2.0)


def nearest_of_crate(
    start: tuple[float, float],
    middle: tuple[float, float],
    turn: Sequence[float],
    half: Sequence[float],
) -> tuple[float, float]:
    """Return the point of a crate's outline on the floor that is nearest to a place."""
    angle = yaw(turn)
    c, s = math.cos(angle), math.sin(angle)
    dx, dy = start[0] - middle[0], start[1] - middle[1]
    along = max(-half[0], min(half[0], dx * c + dy * s))
    across = max(-half[1], min(half[1], dy * c - dx * s))
    return middle[0] + along * c - across * s, middle[1] + along * s + across * c
