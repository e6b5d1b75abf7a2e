"""From commands to forces: how rovers and spheres are driven.

A rover has two wheels. Each pushes along the heading with a force proportional to the lack of rim
speed, up to its traction, and resists sliding sideways; so a rover turns by different wheel
speeds. A sphere is driven by a force along its heading and turned by a torque, and drifts. The
gains are those of an explicit step: a share of the lack is made up for in each step.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from piase_gym.compiled import inline, kernel
from piase_gym.worlds.physics_playground.levels.bodies import ROVER, TOP_SPEED, TOP_SPIN
from piase_gym.worlds.physics_playground.rules.record import GROUNDED

ROVER_SPEED = TOP_SPEED["rover"]
ARM = ROVER[1]
"""How far a wheel is from the middle."""


@inline
def clip(value, limit):
    """Return a value, at most `limit` and at least ``-limit``."""
    if value > limit:
        return limit
    return -limit if value < -limit else value


@inline
def wheel(s, a, arm, ahead, spin):
    """Return the force ahead of the wheel that is `arm` metres to the left."""
    wanted = ROVER_SPEED * s.drives[a, 0] - arm * TOP_SPIN * s.drives[a, 1]
    lack = wanted - (ahead - arm * spin)
    return clip(0.5 * s.gain * lack, s.thrust / 2.0)


@kernel
def drive(scene):
    """Work out the force and the torque on every agent during one step.

    In the air there is nothing to push against; a sphere's gyroscope keeps it upright there too.
    """
    s = scene[0]
    for a in range(s.agents):
        b = s.objects + a
        cx, cy = s.ahead[a, 0], s.ahead[a, 1]
        vx, vy, spin = s.table[b, 7], s.table[b, 8], s.table[b, 12]
        ahead, left = vx * cx + vy * cy, vy * cx - vx * cy
        along = side = twist = 0.0
        if s.touch[a, GROUNDED]:
            if s.rover:
                on_left, on_right = wheel(s, a, ARM, ahead, spin), wheel(s, a, -ARM, ahead, spin)
                along, twist = on_left + on_right, ARM * (on_right - on_left)
                side = clip(-1.6 * s.gain * left, s.thrust)
            else:
                along = s.thrust * s.drives[a, 0] - s.rolling * ahead
                side = -s.rolling * left
                twist = s.turning * (TOP_SPIN * s.drives[a, 1] - spin)
        s.force[a, 0], s.force[a, 1] = along * cx - side * cy, along * cy + side * cx
        s.torque[a, 2] = twist
        if not s.rover:
            s.torque[a, 0] = s.stiff * s.up[a, 1] - s.damp * s.table[b, 10]
            s.torque[a, 1] = -s.stiff * s.up[a, 0] - s.damp * s.table[b, 11]
