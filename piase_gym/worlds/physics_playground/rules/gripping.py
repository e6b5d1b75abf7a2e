"""What agents can grip: the nearest thing in front of them that nobody holds up."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numpy as np

from piase_gym.compiled import helper, kernel
from piase_gym.worlds.physics_playground.levels.bodies import GRIP_ANGLE
from piase_gym.worlds.physics_playground.rules.driving import clip
from piase_gym.worlds.physics_playground.rules.record import CRATE_CODE


@helper
def held_by_anybody(s, number, raised):
    """Return whether any agent holds an object; with `raised`, whether one holds it up."""
    for a in range(s.agents):
        if s.held[a] == number and not (raised and s.towed[a]):
            return True
    return False


@helper
def to_crate(s, i, dx, dy):
    """Return the way to the nearest point of a crate's outline, given the way to its middle."""
    qx, qy, qz, qw = s.table[i, 3], s.table[i, 4], s.table[i, 5], s.table[i, 6]
    turn = math.atan2(2.0 * (qx * qy + qw * qz), 1.0 - 2.0 * (qy * qy + qz * qz))
    c, n = math.cos(turn), math.sin(turn)
    along = clip(-dx * c - dy * n, s.half[i, 0])
    across = clip(dx * n - dy * c, s.half[i, 1])
    return dx + along * c - across * n, dy + along * n + across * c


@helper
def gap_ahead(s, a, i):
    """Return how far ahead of an agent's centre an object begins (inf if it is not ahead)."""
    b = s.objects + a
    if abs(s.table[i, 2] - s.table[b, 2]) > s.half[i, 2] + 0.15:
        return np.inf
    dx, dy = s.table[i, 0] - s.table[b, 0], s.table[i, 1] - s.table[b, 1]
    if s.kind[i] == CRATE_CODE:
        dx, dy = to_crate(s, i, dx, dy)
    cx, cy = s.ahead[a, 0], s.ahead[a, 1]
    ahead, left = dx * cx + dy * cy, dy * cx - dx * cy
    if ahead <= 0.0 or math.atan2(abs(left), ahead) > GRIP_ANGLE:
        return np.inf
    return math.sqrt(dx * dx + dy * dy) - (0.0 if s.kind[i] == CRATE_CODE else s.half[i, 0])


@helper
def graspable(s, a):
    """Return the object that an agent with free hands would grip: the nearest in front, or -1."""
    found, best, b = -1, np.inf, s.objects + a
    for i in range(s.objects):
        wide = s.near + max(s.half[i, 0], s.half[i, 1], s.half[i, 2])
        dx, dy = s.table[i, 0] - s.table[b, 0], s.table[i, 1] - s.table[b, 1]
        if abs(dx) > wide or abs(dy) > wide or held_by_anybody(s, i, True):
            continue
        gap = gap_ahead(s, a, i)
        if gap <= s.near and gap < best:
            found, best = i, gap
    return found


@helper
def reach_out(s):
    """Find out for each agent what it could grip now."""
    for a in range(s.agents):
        s.grasp[a] = graspable(s, a) if s.grips and s.held[a] < 0 else -1


@kernel
def grasp_again(scene):
    """Find out again what can be gripped, after somebody has gripped or let go."""
    reach_out(scene[0])
