"""One Bullet client, and what of Bullet this world needs: nothing else imports pybullet.

All bodies are multibodies without links, built in one order after `resetSimulation`. The solver
does all of its iterations (no residual threshold): with a threshold Bullet stops earlier or later
depending on which islands it happens to solve together, and a restored client would diverge.
Files are not cached: Bullet would read an earlier snapshot of the same path.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.errors import SnapshotError
from piase_gym.worlds.physics_playground.config import HERTZ
from piase_gym.worlds.physics_playground.state import Body, Hold, PlayState

ITERATIONS = 10
GRIP_FORCE = 80.0
"""Newtons that a gripper holds with."""
SLOW_GRIP = 8
"""Steps in which what is gripped comes to its place in front of the agent."""
THICK = 0.5


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what C code writes to standard output and error away from the user."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        try:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            for number, file in zip((1, 2), kept, strict=True):
                os.dup2(file, number)
                os.close(file)


with _quiet():  # it announces when it was built
    import pybullet as p


class Reading:
    """What Bullet tells of all movable bodies at one moment: objects first, then agents.

    Attributes:
        raw: For each body (position, quaternion, velocity, spin), as Bullet tells it.
    """

    def __init__(self, raw: list[tuple[Any, ...]]) -> None:
        """Keep what Bullet told; arrays are made when they are asked for."""
        self.raw = raw

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """All of it: position, quaternion, velocity, spin; shape (bodies, 13)."""
        flat = [value for body in self.raw for part in body for value in part]
        return np.array(flat, np.float64).reshape(-1, 13)

    @property
    def position(self) -> NDArray[np.float64]:
        """Shape (bodies, 3)."""
        return self.table[:, :3]

    @property
    def quaternion(self) -> NDArray[np.float64]:
        """Shape (bodies, 4), x y z w."""
        return self.table[:, 3:7]

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Shape (bodies, 3)."""
        return self.table[:, 7:10]

    @property
    def spin(self) -> NDArray[np.float64]:
        """Angular velocity, shape (bodies, 3)."""
        return self.table[:, 10:13]

    @property
    def sound(self) -> bool:
        """Whether these are places and speeds that can be (no NaN, nothing a cannonball beats)."""
        flat = [value for place, _, speed, _ in self.raw for value in (*place, *speed)]
        return math.isfinite(sum(flat)) and max(flat) < 60.0 and min(flat) > -60.0


class Simulation:
    """A client of its own, from its making to `close`.

    Attributes:
        client: Bullet's number of the client.
        floor: Bullet's number of the floor; `edges` those of the walls around it.
        statics: Its numbers of the walls and ramps within the floor; `ramps` those of ramps.
        objects: Its numbers of the objects.
        agents: Its numbers of the agents.
        bodies: Objects, then agents: what is read.
    """

    def __init__(self) -> None:
        """Connect; the client also goes when the object does."""
        self.client: int = p.connect(p.DIRECT)
        if self.client < 0:
            raise RuntimeError("Bullet has no more clients; close some environments")
        self._closer = weakref.finalize(self, _disconnect, self.client)
        self.floor = -1
        self.edges: list[int] = []
        self.statics: list[int] = []
        self.ramps: list[int] = []
        self.objects: list[int] = []
        self.agents: list[int] = []
        self.bodies: list[int] = []
        self._joints: dict[int, int] = {}

    def close(self) -> None:
        """Disconnect, once."""
        self._closer()

    # -- building -------------------------------------------------------------------------

    def build(self, state: PlayState, size: tuple[float, float], substeps: int) -> None:
        """Build the scene anew, everything at its start."""
        client = self.client
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
        self._joints, self.edges = {}, []
        self._floor(size)
        self.statics = [self._body(body) for body in state.statics]
        self.objects = [self._body(body) for body in state.objects]
        self.agents = [self._body(body) for body in state.agents]
        self.bodies = [*self.objects, *self.agents]
        ramps = zip(self.statics, state.statics, strict=True)
        self.ramps = [number for number, body in ramps if body.shape == "ramp"]

    def _floor(self, size: tuple[float, float]) -> None:
        """Build the floor and a wall on each side."""
        half_x, half_y = size[0] / 2.0, size[1] / 2.0
        # A thick box: on a plane Bullet keeps too few contacts of a box that moves, and it sinks.
        half = [half_x + 2 * THICK, half_y + 2 * THICK, THICK]
        floor = Body("floor", "wall", half, 0.0, 1.0, 1.0, [0.0, 0.0, -THICK], 0.0)
        self.floor = self._body(floor)
        for side in (1, -1):
            for half, place in (
                ([THICK, half_y + 2 * THICK, THICK], [side * (half_x + THICK), 0.0, THICK]),
                ([half_x, THICK, THICK], [0.0, side * (half_y + THICK), THICK]),
            ):
                wall = Body("wall", "wall", half, 0.0, 0.5, 1.0, place, 0.0)
                self.edges.append(self._body(wall))

    def _body(self, body: Body) -> int:
        """Build one body. Returns Bullet's number of it."""
        number: int = p.createMultiBody(
            body.mass,
            self._shape(body),
            self._look_of_ramp(body) if body.shape == "ramp" else -1,
            body.position,
            [0.0, 0.0, math.sin(body.yaw / 2.0), math.cos(body.yaw / 2.0)],
            physicsClientId=self.client,
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
        p.changeDynamics(number, -1, **dynamics, physicsClientId=self.client)
        return number

    def _shape(self, body: Body) -> int:
        """Build a shape."""
        client, half = self.client, body.half
        if body.shape in ("ball", "sphere"):
            return int(
                p.createCollisionShape(p.GEOM_SPHERE, radius=half[0], physicsClientId=client)
            )
        if body.shape == "cylinder":
            return int(
                p.createCollisionShape(
                    p.GEOM_CYLINDER, radius=half[0], height=2 * half[2], physicsClientId=client
                )
            )
        if body.shape == "ramp":
            corners = wedge(half)
            return int(
                p.createCollisionShape(p.GEOM_MESH, vertices=corners, physicsClientId=client)
            )
        return int(p.createCollisionShape(p.GEOM_BOX, halfExtents=half, physicsClientId=client))

    def _look_of_ramp(self, body: Body) -> int:
        """Build what is seen of a ramp; Bullet draws other shapes as they collide."""
        corners, seen, normals = np.array(wedge(body.half)), [], []
        for face in WEDGE_FACES:
            a, b, c = corners[list(face)]
            normal = np.cross(b - a, c - a)
            if normal @ (a + b + c) < 0.0:  # Bullet draws corners that go around clockwise
                normal, b, c = -normal, c, b
            seen += [a.tolist(), c.tolist(), b.tolist()]
            normals += [(normal / np.linalg.norm(normal)).tolist()] * 3
        number: int = p.createVisualShape(
            p.GEOM_MESH,
            vertices=seen,
            indices=list(range(len(seen))),
            normals=normals,
            physicsClientId=self.client,
        )
        return number

    # -- running --------------------------------------------------------------------------

    def step(self) -> None:
        """Advance by one step of the environment; forces hold for all of its substeps."""
        p.stepSimulation(self.client)

    def read(self) -> Reading:
        """Read every movable body."""
        pose, speed, client = p.getBasePositionAndOrientation, p.getBaseVelocity, self.client
        return Reading([(*pose(body, client), *speed(body, client)) for body in self.bodies])

    def push(
        self, agent: int, place: Sequence[float], force: Sequence[float], torque: Sequence[float]
    ) -> None:
        """Apply a force at an agent's centre, which is at `place`, and a torque, for one step."""
        body, client = self.agents[agent], self.client
        p.applyExternalForce(body, -1, force, place, p.WORLD_FRAME, client)
        p.applyExternalTorque(body, -1, torque, p.WORLD_FRAME, client)

    def contacts(self, agent: int) -> list[tuple[int, float]]:
        """Return what an agent touches: Bullet's number, and how far up the contact pushes."""
        points = p.getContactPoints(bodyA=self.agents[agent], physicsClientId=self.client)
        return [(point[2], point[7][2]) for point in points if point[8] < TOUCH]

    def lidar(self, agent: int, starts: Rays, ends: Rays) -> list[float]:
        """Return how far each ray gets, as a share of its length; rays turn with the agent."""
        hits = p.rayTestBatch(
            starts,
            ends,
            parentObjectUniqueId=self.agents[agent],
            parentLinkIndex=-1,
            physicsClientId=self.client,
        )
        return [hit[2] for hit in hits]

    # -- grips ----------------------------------------------------------------------------

    def join(self, agent: int, hold: Hold) -> None:
        """Join an object to an agent.

        The two still collide: Bullet's filter of pairs does not survive a restored file.
        """
        client = self.client
        joint = p.createConstraint(
            self.agents[agent],
            -1,
            self.objects[hold.object],
            -1,
            p.JOINT_POINT2POINT if hold.towed else p.JOINT_FIXED,
            [0.0, 0.0, 0.0],
            hold.parent,
            hold.child,
            [0.0, 0.0, 0.0, 1.0],
            hold.turn,
            physicsClientId=client,
        )
        self._joints[agent] = joint
        p.changeConstraint(joint, maxForce=GRIP_FORCE, physicsClientId=client)
        self.draw_in(agent, hold)

    def draw_in(self, agent: int, hold: Hold) -> None:
        """Let the joint be where it is so many steps after the grip; a rod keeps its length."""
        if hold.towed:
            return
        left = 1.0 - min(hold.since, SLOW_GRIP) / SLOW_GRIP
        p.changeConstraint(
            self._joints[agent],
            jointChildPivot=[left * value for value in hold.child],
            jointChildFrameOrientation=hold.turn,
            maxForce=GRIP_FORCE,
            physicsClientId=self.client,
        )

    def part(self, agent: int) -> None:
        """Let go of what an agent holds."""
        p.removeConstraint(self._joints.pop(agent), physicsClientId=self.client)

    # -- the state is a value -------------------------------------------------------------

    def save(self) -> bytes:
        """Return what Bullet knows (poses, velocities, contacts) as the bytes of its own file."""
        with _scratch() as path:
            p.saveBullet(str(path), physicsClientId=self.client)
            return path.read_bytes()

    def load(self, data: bytes, holds: Sequence[Hold | None]) -> None:
        """Take up what `save` returned, after `build` of the same scene.

        Raises:
            SnapshotError: If Bullet cannot read it.
        """
        with _scratch() as path, _quiet():
            path.write_bytes(data)
            try:
                p.restoreState(fileName=str(path), physicsClientId=self.client)
            except p.error as error:
                raise SnapshotError(f"Bullet cannot restore this snapshot: {error}") from None
        for agent, hold in enumerate(holds):
            if hold is not None:
                self.join(agent, hold)

    def place(self, reading: Reading) -> None:
        """Put every body where a reading has it, at rest."""
        for body, (position, turn, *_) in zip(self.bodies, reading.raw, strict=True):
            p.resetBasePositionAndOrientation(body, position, turn, physicsClientId=self.client)

    # -- pictures -------------------------------------------------------------------------

    def paint(self, body: int, colour: tuple[float, float, float]) -> None:
        """Give a body a colour."""
        p.changeVisualShape(body, -1, rgbaColor=[*colour, 1.0], physicsClientId=self.client)

    def picture(
        self, eye: Sequence[float], target: Sequence[float], angle: float, side: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.float64]]:
        """Take a picture with Bullet's software renderer (6 to 10 ms for 84 by 84 pixels).

        Args:
            eye: Where the camera is.
            target: What is in the middle of the picture.
            angle: Degrees from its lower to its upper edge.
            side: Pixels.

        Returns:
            The picture (side, side, 3); for each pixel the number of the body it shows, or -1;
            and the matrix that takes homogeneous places to the picture, shape (4, 4).
        """
        up = [0.0, 0.0, 1.0]
        view = p.computeViewMatrix(list(eye), list(target), up)
        lens = p.computeProjectionMatrixFOV(angle, 1.0, 0.05, 60.0)
        image = p.getCameraImage(
            side, side, view, lens, renderer=p.ER_TINY_RENDERER, physicsClientId=self.client
        )
        colours = np.reshape(image[2], (side, side, 4))[..., :3].astype(np.uint8)
        bodies = np.reshape(image[4], (side, side)).astype(np.int32)
        matrix = (np.reshape(view, (4, 4)) @ np.reshape(lens, (4, 4))).T
        return colours, bodies, matrix


Rays = list[list[float]]
TOUCH = 0.005
"""Contact points that are nearer than this touch; Bullet keeps those that soon will."""


def version() -> str:
    """Return the version of pybullet; states and digests hold for one (platform, version)."""
    return metadata.version("pybullet")


def wedge(half: Sequence[float]) -> list[list[float]]:
    """Return the corners of a ramp that rises along x from the floor, around its centre."""
    x, y, z = half
    low = [[side, edge, -z] for side in (-x, x) for edge in (-y, y)]
    return [*low, [x, -y, z], [x, y, z]]


WEDGE_FACES = (
    *((0, 2, 1), (1, 2, 3)),  # below
    *((0, 1, 4), (1, 5, 4)),  # the slope
    *((2, 4, 3), (3, 4, 5)),  # the high end
    *((0, 4, 2), (1, 3, 5)),  # the sides
)


def _disconnect(client: int) -> None:
    """Close a client, unless it is gone with the whole process."""
    with contextlib.suppress(p.error):
        p.disconnect(client)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Yield a path for one of Bullet's files, which it only reads and writes on disk."""
    with tempfile.TemporaryDirectory(prefix="piase_") as folder:
        yield Path(folder, "state.bullet")
