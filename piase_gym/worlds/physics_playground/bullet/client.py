"""One Bullet client: how a scene is built in it, and the calls that this world makes as it runs.

All bodies are multibodies without links, built in one order after `resetSimulation`. The solver
does all of its iterations (no residual threshold): with a threshold Bullet stops earlier or later
depending on which islands it happens to solve together, and a restored client would diverge.
Files are not cached: Bullet would read an earlier snapshot of the same path.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from piase_gym.errors import SnapshotError
from piase_gym.worlds.bullet_client import BulletClient, p, quiet
from piase_gym.worlds.physics_playground.bullet.save_file import rebuilt
from piase_gym.worlds.physics_playground.config import HERTZ
from piase_gym.worlds.physics_playground.geometry import upright
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.state import Body, Hold, PlayState

ITERATIONS = 10
THICK = 0.5


def ground(size: tuple[float, float]) -> list[Body]:
    """Return the floor and a wall on each side of it."""
    half_x, half_y = size[0] / 2.0, size[1] / 2.0
    # A thick box: on a plane Bullet keeps too few contacts of a moving box, and the box sinks.
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
    """Build one body; return Bullet's number for it."""
    number: int = p.createMultiBody(
        body.mass,
        _shape(client, body),
        -1,
        body.position,
        upright(body.yaw),
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
    """Build the shape of a body; return Bullet's number for it."""
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
    """Return the corners of a ramp that rises along x from the floor, relative to its centre."""
    x, y, z = half
    low = [[side, edge, -z] for side in (-x, x) for edge in (-y, y)]
    return [*low, [x, -y, z], [x, y, z]]


DEPTH = -30.0
"""The height in metres of objects that are away, below the floor; they fall a little in a step."""
GRIP_FORCE = 80.0
"""The force with which a gripper holds, in newtons."""
SLOW_GRIP = 8
"""How many steps a gripped object takes to reach its place in front of the agent."""
TOUCH = 0.005
"""Bodies with a smaller gap at a contact point touch; Bullet also keeps points that soon will."""
POINT_OTHER, POINT_NORMAL, POINT_GAP = 2, 7, 8
Rays = list[list[float]]


class Simulation(BulletClient):
    """One Bullet client with a scene, connected from its creation until `close`.

    Attributes:
        floor: Bullet's number for the floor.
        edges: Bullet's numbers for the walls around it.
        statics: Bullet's numbers for the walls and ramps within the floor.
        ramps: The numbers of the ramps among them.
        objects: Bullet's numbers for the objects.
        agents: Bullet's numbers for the agents.
        bodies: The numbers of objects, then agents: the bodies that are read.
        joined: The agents that hold something, in the order in which Bullet solves their joints.
    """

    def __init__(self) -> None:
        """Connect."""
        super().__init__()
        self._joints: dict[int, int] = {}
        self.joined: list[int] = []

    def build(self, state: PlayState, size: tuple[float, float], substeps: int) -> None:
        """Build the scene from scratch, with everything at its start."""
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
        self.floor, *self.edges = (_body(client, body) for body in ground(size))
        self.statics = [_body(client, body) for body in state.statics]
        built = zip(self.statics, state.statics, strict=True)
        self.ramps = [number for number, body in built if body.shape == "ramp"]
        self.objects = [_body(client, body) for body in state.objects]
        self.agents = [_body(client, body) for body in state.agents]
        self.bodies = [*self.objects, *self.agents]
        self._joints, self.joined = {}, []

    # -- running --------------------------------------------------------------------------

    def step(self) -> None:
        """Advance by one step of the environment; forces hold for all of its substeps."""
        p.stepSimulation(self.client)

    def read(self) -> BodyReadings:
        """Read every movable body."""
        pose, speed, client = p.getBasePositionAndOrientation, p.getBaseVelocity, self.client
        return BodyReadings([(*pose(body, client), *speed(body, client)) for body in self.bodies])

    def push(
        self, agent: int, place: Sequence[float], force: Sequence[float], torque: Sequence[float]
    ) -> None:
        """Apply a force at an agent's centre, which is at `place`, and a torque, for one step."""
        body, client = self.agents[agent], self.client
        p.applyExternalForce(body, -1, force, place, p.WORLD_FRAME, client)
        p.applyExternalTorque(body, -1, torque, p.WORLD_FRAME, client)

    def contacts(self, agent: int) -> Sequence[tuple[Any, ...]]:
        """Return an agent's contact points, as Bullet reports them.

        Each has the number of the other body at `POINT_OTHER`, the direction in which that body
        pushes the agent at `POINT_NORMAL`, and how far apart the two are at `POINT_GAP`; with a
        gap under `TOUCH`, they touch.
        """
        points: Sequence[tuple[Any, ...]] = p.getContactPoints(
            bodyA=self.agents[agent], physicsClientId=self.client
        )
        return points

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

        The two still collide: Bullet's filter of pairs is lost when a file is restored.
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
        self.joined.append(agent)
        p.changeConstraint(joint, maxForce=GRIP_FORCE, physicsClientId=client)
        self.draw_in(agent, hold)

    def draw_in(self, agent: int, hold: Hold) -> None:
        """Set the joint to its place `hold.since` steps after the grip; a rod keeps its length."""
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
        """Let go of what an agent holds; in Bullet's list, the last joint takes the freed place."""
        p.removeConstraint(self._joints.pop(agent), physicsClientId=self.client)
        place, last = self.joined.index(agent), self.joined.pop()
        if last != agent:
            self.joined[place] = last

    # -- objects that are away ------------------------------------------------------------

    def put(self, number: int, position: Sequence[float], yaw: float = 0.0) -> None:
        """Put an object somewhere, at rest."""
        body, client = self.objects[number], self.client
        p.resetBasePositionAndOrientation(body, position, upright(yaw), physicsClientId=client)

    def put_away(self, numbers: Sequence[int]) -> None:
        """Put objects where nothing else is: below the floor, apart from each other."""
        for number in numbers:
            self.put(number, [2.0 * (number - 8), 0.0, DEPTH])

    # -- the state is a value -------------------------------------------------------------

    def save(self) -> bytes:
        """Return what Bullet knows (poses, velocities, contacts) as the bytes of its own file."""
        with _scratch() as path:
            p.saveBullet(str(path), physicsClientId=self.client)
            return path.read_bytes()

    def load(self, data: bytes, holds: Sequence[Hold | None], joined: Sequence[int]) -> None:
        """Restore what `save` returned, after `build` of the same scene.

        Args:
            data: The bytes, which may come from anywhere; see `save_file`.
            holds: What each agent holds.
            joined: The agents that hold something, in the order of their joints.

        Raises:
            SnapshotError: If the bytes are not of this scene.
        """
        try:
            checked = rebuilt(data, self.save(), len(self.bodies))
        except ValueError as error:
            raise SnapshotError(f"PhysicsPlayground: {error}") from None
        with _scratch() as path:
            path.write_bytes(checked)
            try:
                with quiet():
                    p.restoreState(fileName=str(path), physicsClientId=self.client)
            except p.error as error:
                raise SnapshotError(f"Bullet cannot restore this snapshot: {error}") from None
        for agent in joined:
            hold = holds[agent]
            assert hold is not None
            self.join(agent, hold)

    def place(self, reading: BodyReadings) -> None:
        """Put every body where a reading has it, at rest."""
        for body, (position, turn, *_) in zip(self.bodies, reading.raw, strict=True):
            p.resetBasePositionAndOrientation(body, position, turn, physicsClientId=self.client)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Yield a path for one of Bullet's files, in memory where the system has such files.

    Bullet only reads and writes paths, and a file on a disk costs more than all that is in it.
    """
    if sys.platform == "linux":
        file = os.memfd_create("piase_state")
        try:
            yield Path(f"/proc/self/fd/{file}")
        finally:
            os.close(file)
    else:
        with tempfile.TemporaryDirectory(prefix="piase_") as folder:
            yield Path(folder, "state.bullet")
