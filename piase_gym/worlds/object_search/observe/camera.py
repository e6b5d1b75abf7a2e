"""A house as Bullet's camera sees it from an agent's pose: a picture, and what each pixel shows.

The camera has the field of view of the rules (`geometry.ACROSS`, `geometry.UPRIGHT`, the turns of
the head), which ends where sight ends. A scene has one body for each stretch of a wall or piece of
furniture, and one for each object; TinyRenderer draws it, without shadows, on the processor.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.bullet_client import BulletClient, p
from piase_gym.worlds.describing import Picture
from piase_gym.worlds.grids.codes import FLOOR, OUTSIDE, WALL
from piase_gym.worlds.grids.windows import DX, DY
from piase_gym.worlds.object_search.codes import HEIGHT, LOW, MAX_OBJECTS, TALL
from piase_gym.worlds.object_search.geometry import ACROSS, HALF, UPRIGHT, camera_axes

WIDTH: Final = 128
LINES: Final = round(WIDTH * UPRIGHT / ACROSS)
"""The height of a picture in pixels; `WIDTH` is its width."""
LEAST: Final = 6
"""The fewest pixels with which an object counts as seen."""
NEAR: Final = 0.05
SHAPES: Final = ("sphere", "box", "cylinder")
"""The shapes of objects, in turn."""
COLOURS: Final[Mapping[int, tuple[float, float, float]]] = {
    WALL: (0.80, 0.80, 0.82),
    LOW: (0.66, 0.56, 0.46),
    TALL: (0.50, 0.42, 0.35),
    FLOOR: (0.62, 0.62, 0.60),
}
AGENT: Final = (0.15, 0.15, 0.17)
AWAY: Final = (0.0, 0.0, -50.0)
"""Where a body is that nobody should see."""


def _hues(count: int) -> tuple[tuple[float, float, float], ...]:
    """Return colours that are as far from each other as possible, apart from brightness.

    Shares of red, green and blue add up to one and so form a triangle; these lie along its rim.
    """
    corners, each = np.eye(3), math.ceil(count / 3)
    found = []
    for k in range(count):
        side, along = divmod(k / each, 1.0)
        share = (1 - along) * corners[int(side)] + along * corners[(int(side) + 1) % 3]
        red, green, blue = (share / share.max()).tolist()
        found.append((red, green, blue))
    return tuple(found)


HUES: Final = _hues(MAX_OBJECTS)
"""The colour of each object, by its number."""


class CameraPose(NamedTuple):
    """Where an agent is and how it looks, in numbers: column, row, level, heading, pitch, roll."""

    x: int
    y: int
    z: int
    heading: int
    pitch: int
    roll: int


class Camera(BulletClient):
    """A client with the scene of one house.

    Attributes:
        things: Bullet's number for each object -> the object's own number.
    """

    def __init__(self) -> None:
        """Connect; there is no scene yet."""
        super().__init__()
        self.things: dict[int, int] = {}
        self._agents: list[int] = []

    def build(self, cells: NDArray[np.uint8], objects: int, agents: int) -> None:
        """Build a house.

        Args:
            cells: What fills its columns, row by row.
            objects: How many names of objects there are.
            agents: How many agents.
        """
        p.resetSimulation(physicsClientId=self.client)
        for code, x, y, wide in _stretches(cells):
            high = max(0.1, float(HEIGHT[code]))
            middle = (x + (wide - 1) / 2, -y, high / 2 if HEIGHT[code] else -0.05)
            self._body("box", (wide / 2, 0.5, high / 2), COLOURS[code], middle)
        sizes = (HALF, HALF, HALF)
        self.things = {
            self._body(SHAPES[k % len(SHAPES)], sizes, HUES[k]): k for k in range(objects)
        }
        self._agents = [self._body("sphere", (0.25, 0.25, 0.25), AGENT) for _ in range(agents)]

    def _body(
        self,
        kind: str,
        half: tuple[float, float, float],
        colour: tuple[float, float, float],
        place: Sequence[float] = AWAY,
    ) -> int:
        """Put up one body; return Bullet's number for it."""
        shapes = {
            "box": {"shapeType": p.GEOM_BOX, "halfExtents": half},
            "sphere": {"shapeType": p.GEOM_SPHERE, "radius": half[0]},
            "cylinder": {"shapeType": p.GEOM_CYLINDER, "radius": half[0], "length": 2 * half[2]},
        }
        seen = p.createVisualShape(
            **shapes[kind],
            rgbaColor=[*colour, 1.0],
            specularColor=[0.0, 0.0, 0.0],
            physicsClientId=self.client,
        )
        number: int = p.createMultiBody(0.0, -1, seen, list(place), physicsClientId=self.client)
        return number

    def put(
        self, things: Mapping[int, tuple[int, int, int]], agents: Sequence[CameraPose | None]
    ) -> None:
        """Move objects, by number, to (x, y, level), agents to their places, and others away."""
        for body, number in self.things.items():
            place = things.get(number)
            self._move(body, AWAY if place is None else (place[0], -place[1], place[2] + HALF))
        for body, eye in zip(self._agents, agents, strict=True):
            self._move(body, AWAY if eye is None else (eye.x, -eye.y, eye.z + 0.5))

    def _move(self, body: int, place: Sequence[float]) -> None:
        p.resetBasePositionAndOrientation(
            body, place, [0.0, 0.0, 0.0, 1.0], physicsClientId=self.client
        )

    def look(self, agent: int, eye: CameraPose, sight: int) -> tuple[Picture, NDArray[np.int32]]:
        """Return what an agent sees, and Bullet's number for the body in each pixel.

        Args:
            agent: The agent, which does not see its own body.
            eye: Where it is and where it looks.
            sight: How far it sees, in cells.
        """
        self._move(self._agents[agent], AWAY)
        turned = (eye.heading + 1) % 4
        body = np.array(
            [
                [DX[eye.heading], -DY[eye.heading], 0.0],
                [DX[turned], -DY[turned], 0.0],
                [0.0, 0.0, 1.0],
            ]
        )
        ahead, _, up = camera_axes(eye.pitch, eye.roll) @ body
        place = np.array([eye.x, -eye.y, eye.z + 0.5])
        view = p.computeViewMatrix(place.tolist(), (place + ahead).tolist(), up.tolist())
        across, upright = ACROSS * NEAR, UPRIGHT * NEAR
        lens = p.computeProjectionMatrix(-across, across, -upright, upright, NEAR, sight + 0.5)
        _, _, colours, _, mask = p.getCameraImage(
            WIDTH,
            LINES,
            view,
            lens,
            lightDirection=[0.4, -0.7, 1.6],
            lightColor=[1.0, 1.0, 1.0],
            lightAmbientCoeff=0.65,
            lightDiffuseCoeff=0.35,
            lightSpecularCoeff=0.0,
            shadow=0,
            renderer=p.ER_TINY_RENDERER,
            physicsClientId=self.client,
        )
        self._move(self._agents[agent], (eye.x, -eye.y, eye.z + 0.5))
        picture = np.asarray(colours, np.uint8).reshape(LINES, WIDTH, 4)[:, :, :3].copy()
        return picture, np.asarray(mask, np.int32).reshape(LINES, WIDTH).copy()


MOST_CAMERAS: Final = 4
"""The most clients, for all worlds of a process: building another house costs a few pictures."""
_POOL: dict[tuple[bytes, int, int], Camera] = {}
_USERS: weakref.WeakSet[Any] = weakref.WeakSet()


def camera_of(user: Any, cells: NDArray[np.uint8], objects: int, agents: int) -> Camera:
    """Return a camera in a house, for a world that uses it until its next call.

    Args:
        user: The world; see `release`.
        cells: What fills the columns of the house, row by row.
        objects: How many names of objects there are.
        agents: How many agents.

    Raises:
        CapacityError: If no client can be opened.
    """
    key = cells.tobytes(), objects, agents
    camera = _POOL.pop(key, None)
    if camera is None:
        oldest = next(iter(_POOL)) if len(_POOL) >= MOST_CAMERAS else None
        camera = Camera() if oldest is None else _POOL.pop(oldest)
        camera.build(cells, objects, agents)
    _POOL[key] = camera  # the most recently used is the last
    _USERS.add(user)
    return camera


def release(user: Any) -> None:
    """Note that a world needs no camera any more; once none does, the clients are closed."""
    _USERS.discard(user)
    if not _USERS:
        for camera in _POOL.values():
            camera.close()
        _POOL.clear()


def _stretches(cells: NDArray[np.uint8]) -> Iterator[tuple[int, int, int, int]]:
    """Yield code, first column, row and length of each stretch of equal columns in a row."""
    for y, row in enumerate(cells.tolist()):
        x = 0
        while x < len(row):
            code, start = row[x], x
            while x < len(row) and row[x] == code:
                x += 1
            if code != OUTSIDE:
                yield code, start, y, x - start
