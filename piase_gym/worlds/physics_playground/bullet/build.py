"""How a scene is built in Bullet.

All bodies are multibodies without links, built in one order after `resetSimulation`. The solver
does all of its iterations (no residual threshold): with a threshold Bullet stops earlier or later
depending on which islands it happens to solve together, and a restored client would diverge.
Files are not cached: Bullet would read an earlier snapshot of the same path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from piase_gym.worlds.physics_playground.bullet.quiet_import import p
from piase_gym.worlds.physics_playground.config import HERTZ
from piase_gym.worlds.physics_playground.state import Body, PlayState

ITERATIONS = 10
THICK = 0.5


@dataclass
class Built:
    """Bullet's numbers of what was built.

    Attributes:
        floor: The floor.
        edges: The walls around it.
        statics: The walls and ramps within the floor.
        ramps: The ramps among them.
        objects: The objects.
        agents: The agents.
    """

    floor: int = -1
    edges: list[int] = field(default_factory=list)
    statics: list[int] = field(default_factory=list)
    ramps: list[int] = field(default_factory=list)
    objects: list[int] = field(default_factory=list)
    agents: list[int] = field(default_factory=list)

    @property
    def bodies(self) -> list[int]:
        """Objects, then agents: what is read."""
        return [*self.objects, *self.agents]


def build(client: int, state: PlayState, size: tuple[float, float], substeps: int) -> Built:
    """Build a scene anew in a client, everything at its start."""
    p.resetSimulation(physicsClientId=client)
    p.setPhysicsEngineParameter(
        fixedTimeStep=substeps / HERTZ,
        numSubSteps=substeps,
        numSolverIterations=ITERATIONS,
        solverResidualThreshold=0.0,
        deterministicOverlappingPairs=1,
        enableFileCaching=0,
        physicsClientId=client,
    )
    p.setGravity(0.0, 0.0, -state.gravity, physicsClientId=client)
    floor, *edges = (_body(client, body) for body in ground(size))
    statics = [_body(client, body) for body in state.statics]
    ramps = zip(statics, state.statics, strict=True)
    return Built(
        floor=floor,
        edges=edges,
        statics=statics,
        ramps=[number for number, body in ramps if body.shape == "ramp"],
        objects=[_body(client, body) for body in state.objects],
        agents=[_body(client, body) for body in state.agents],
    )


def ground(size: tuple[float, float]) -> list[Body]:
    """Return the floor and a wall on each side of it."""
    half_x, half_y = size[0] / 2.0, size[1] / 2.0
    # A thick box: on a plane Bullet keeps too few contacts of a box that moves, and it sinks.
    half = [half_x + 2 * THICK, half_y + 2 * THICK, THICK]
    found = [Body("floor", "wall", half, 0.0, 1.0, 1.0, [0.0, 0.0, -THICK], 0.0)]
    for side in (1, -1):
        for half, place in (
            ([THICK, half_y + 2 * THICK, THICK], [side * (half_x + THICK), 0.0, THICK]),
            ([half_x, THICK, THICK], [0.0, side * (half_y + THICK), THICK]),
        ):
            found.append(Body("wall", "wall", half, 0.0, 0.5, 1.0, place, 0.0))
    return found


def _body(client: int, body: Body) -> int:
    """Build one body. Returns Bullet's number of it."""
    number: int = p.createMultiBody(
        body.mass,
        _shape(client, body),
        -1,
        body.position,
        [0.0, 0.0, math.sin(body.yaw / 2.0), math.cos(body.yaw / 2.0)],
        physicsClientId=client,
    )
    dynamics: dict[str, Any] = {
        "lateralFriction": body.friction,
        "restitution": body.restitution,
        "linearDamping": 0.0,
        "angularDamping": 0.05,
    }
    if body.shape in ("ball", "cylinder"):
        dynamics["rollingFriction"] = dynamics["spinningFriction"] = 0.003
    if body.shape == "sphere":
        dynamics["localInertiaDiagonal"] = [1.0, 1.0, 0.4 * body.mass * body.half[0] ** 2]
    p.changeDynamics(number, -1, **dynamics, physicsClientId=client)
    return number


def _shape(client: int, body: Body) -> int:
    """Build a shape."""
    half = body.half
    shapes: dict[str, dict[str, Any]] = {
        "ball": {"shapeType": p.GEOM_SPHERE, "radius": half[0]},
        "sphere": {"shapeType": p.GEOM_SPHERE, "radius": half[0]},
        "cylinder": {"shapeType": p.GEOM_CYLINDER, "radius": half[0], "height": 2 * half[2]},
        "ramp": {"shapeType": p.GEOM_MESH, "vertices": wedge(half)},
    }
    box = {"shapeType": p.GEOM_BOX, "halfExtents": half}
    return int(p.createCollisionShape(**shapes.get(body.shape, box), physicsClientId=client))


def wedge(half: Sequence[float]) -> list[list[float]]:
    """Return the corners of a ramp that rises along x from the floor, around its centre."""
    x, y, z = half
    low = [[side, edge, -z] for side in (-x, x) for edge in (-y, y)]
    return [*low, [x, -y, z], [x, y, z]]
