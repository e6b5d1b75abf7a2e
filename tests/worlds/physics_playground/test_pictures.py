"""Pictures of PhysicsPlayground, pixel by pixel, and its boards in letters, as they were.

When one of these fails, look at the picture (``env.render()``), and write the file anew with
``python -m tests.worlds.physics_playground.test_pictures``. Arithmetic differs a little between
processors: a colour may differ by `MOST`, and one pixel in a thousand, at an edge, by more.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pybullet")

from scipy.spatial.transform import Rotation

import piase_gym
from piase_gym.worlds.physics_playground.observe.pictures import ROVER_PARTS, SPHERE_PARTS
from piase_gym.worlds.physics_playground.observe.raycast import (
    Camera,
    Mark,
    Solid,
    draw,
    parts_with,
)
from tests.helpers.needs import need

FILE = Path(__file__).with_name("golden_pictures.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
MOST, SIDE = 2, 96
EVERYTHING: dict[str, Any] = {
    "task": "gather",
    "agents": 3,
    "size": (5.0, 4.0),
    "objects": [
        {"kind": "box", "position": (0.0, 0.5), "radius": 0.2},
        {"kind": "ball", "position": (1.0, -0.5), "radius": 0.25},
        {"kind": "cylinder", "position": (-0.75, -0.5), "radius": 0.15},
        {"kind": "crate", "position": (0.75, 1.4)},
        {"kind": "box", "absent": True},
    ],
    "walls": [{"position": (-1.5, 0.5), "length": 1.0, "angle": 60.0, "height": 0.4}],
    "ramps": [{"position": (1.75, 1.0), "length": 1.0, "width": 0.6, "height": 0.3, "angle": 30.0}],
    "start_pos": ((-0.75, 1.5), (0.25, -1.0), (-1.0, -1.5)),
    "goal_pos": (-1.75, -1.25),
    "zone": 0.5,
}  # fmt: skip
RACE: dict[str, Any] = {
    "task": "reach",
    "agents": 2,
    "body": "sphere",
    "size": (2.0, 6.0),
    "start_pos": ((0.0, 1.0), (0.5, -1.0)),
    "goal_pos": (-0.5, 0.0),
    "tolerance": 0.4,
}
HALL: dict[str, Any] = {
    "task": "reach",
    "agents": 8,
    "size": (20.0, 20.0),
    "start_pos": tuple((x, y) for x in (-9.7, 9.7) for y in (-9.7, -9.0, 9.0, 9.7)),
    "goal_pos": (0.0, 5.0),
}
"""Agents at the edges, whose marks are outside where they head for them."""


def board(config: dict[str, Any], viewer: int | None) -> tuple[Any, str]:
    """Return a picture of an episode that begins, from above or through somebody's eyes."""
    need("PhysicsPlayground")
    env = piase_gym.parallel_env("PhysicsPlayground", **config)
    env.reset(seed=3)
    camera = "overhead" if viewer is None else "egocentric"
    picture, letters = env.world.picture(camera, viewer or 0, SIDE), env.world.ansi()
    env.close()
    return picture, letters


def solids(eye: tuple[float, float, float], cut: bool = False) -> tuple[Any, str]:
    """Return a picture of turned solids above and on each other."""
    turns = Rotation.from_euler("xyz", [(20, 30, 40), (10, 0, 70), (0, 0, 25), (80, 10, 0)], True)
    turn = list(turns.as_matrix())
    things = (
        Solid("box", (0.3, 0.2, 0.1), (0.0, 0.0, 0.5), turn[0], (0.9, 0.2, 0.1)),
        Solid("ball", (0.25, 0.25, 0.25), (0.5, 0.6, 0.25), turn[1], (0.1, 0.8, 0.2)),
        Solid("cylinder", (0.2, 0.2, 0.3), (-0.6, 0.4, 0.3), np.eye(3), (0.2, 0.3, 0.9)),
        Solid("cylinder", (0.15, 0.15, 0.4), (0.7, -0.5, 0.3), turn[3], (0.7, 0.3, 0.9)),
        Solid("wedge", (0.4, 0.3, 0.2), (-0.5, -0.6, 0.2), turn[2], (0.8, 0.8, 0.1)),
        Solid("wedge", (0.2, 0.3, 0.2), (0.2, -0.9, 0.6), turn[1], (0.1, 0.8, 0.8), shadow=False),
        Solid("box", (0.1, 1.5, 0.5), (1.4, 0.0, 0.5), np.eye(3), (0.6, 0.6, 0.6), shadow=False),
    )
    marks = (
        Mark((0.0, -0.3), 0.5, (0.9, 0.1, 0.6)),
        Mark((0.3, -0.3), 0.2, (0.1, 0.1, 0.9)),
    )
    camera = Camera(eye, (0.1, 0.0, 0.2), 60.0, 2 * SIDE)
    if cut:
        camera = camera.cropped((slice(20, 150), slice(30, 132)))
    seen = draw(things, marks, camera, (0.9, 0.9, 0.8))
    assert seen.dtype == np.float32
    return np.round(255 * seen).astype(np.uint8), ""


def close_up(parts: Any) -> tuple[Any, str]:
    """Return a picture of an agent from near by."""
    found = [
        Solid(part.shape, part.half, part.position, part.turn, part.colour or (0.8, 0.2, 0.2))
        for part in parts
    ]
    seen = draw(found, (), Camera((0.45, 0.35, 0.3), (0.0, 0.0, 0.0), 60.0, 2 * SIDE), (1, 1, 1))
    return np.round(255 * seen).astype(np.uint8), ""


PICTURES: dict[str, Callable[[], tuple[Any, str]]] = {
    "everything": partial(board, EVERYTHING, None),
    "the first": partial(board, EVERYTHING, 0),
    "the second": partial(board, EVERYTHING, 1),
    "a race": partial(board, RACE, None),
    "a racer": partial(board, RACE, 1),
    "a usual floor": partial(board, {"task": "stack"}, None),
    "a hall": partial(board, HALL, None),
    "a rover": partial(close_up, ROVER_PARTS),
    "a ball": partial(close_up, SPHERE_PARTS),
    "solids": partial(solids, (0.3, -2.0, 1.6)),
    "solids from their side": partial(solids, (-2.5, 0.4, 0.5)),
    "solids from above": partial(solids, (0.1, 0.01, 3.0)),
    "a camera among solids": partial(solids, (0.05, -0.7, 0.5)),
    "a part of them": partial(solids, (0.3, -2.0, 1.6), True),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_as_they_were(name: str) -> None:
    picture, letters = PICTURES[name]()
    golden = GOLDEN[name]
    known = np.frombuffer(zlib.decompress(base64.b64decode(golden["pixels"])), np.uint8)
    assert list(picture.shape) == golden["shape"]
    apart = np.abs(picture.astype(int) - known.reshape(picture.shape)).max(2)
    assert (apart > MOST).mean() < 0.001
    assert letters.split("\n") == golden["letters"]


EAST = Camera((0.0, 0.0, 1.0), (1.0, 0.0, 1.0), 90.0, 200)
"""Looks along x; at one metre half of the picture is one metre wide, or 100 samples."""


@pytest.mark.parametrize(
    ("place", "radius", "wanted"),
    [
        # From the nearest point of the ball to its farthest: 0.1 / 0.9 to each side, in samples.
        ((1.0, 0.0, 1.0), 0.1, (slice(88, 112), slice(88, 112))),
        # Half a metre to the left (north), and up: from 0.4 / 1.1 to 0.6 / 0.9 of 100 samples.
        ((1.0, 0.5, 1.5), 0.1, (slice(33, 64), slice(33, 64))),
        ((1.0, -0.5, 0.5), 0.1, (slice(136, 167), slice(136, 167))),
        ((1.0, 2.0, 1.0), 0.1, None),
        ((-1.0, 0.0, 1.0), 0.1, None),
        ((0.05, 0.0, 1.0), 0.1, (slice(0, 200), slice(0, 200))),
    ],
)
def test_only_the_part_of_a_picture_is_looked_at_that_a_ball_can_cover(
    place: tuple[float, ...], radius: float, wanted: Any
) -> None:
    assert EAST.window((np.array(place), radius)) == wanted


def test_a_part_of_a_picture_holds_a_solid_with_its_shadow_and_all_that_it_touches() -> None:
    camera = Camera((0.0, -0.01, 10.0), (0.0, 0.0, 0.0), 90.0, 200)

    def ball(x: float, z: float = 0.1) -> Solid:
        return Solid("ball", (0.1, 0.1, 0.1), (x, 0.0, z), np.eye(3), (1.0, 0.0, 0.0))

    def columns(*balls: Solid) -> list[tuple[int, int]]:
        return sorted((part[1].start, part[1].stop) for part in parts_with(balls, camera))

    alone = columns(ball(0.0))
    assert alone[0][0] <= 99 < 101 <= alone[0][1]
    assert alone[0][1] - alone[0][0] < 8
    assert all(end % 2 == 0 for part in alone for end in part)
    # On the floor a metre is ten samples, two metres above it 12.5; light comes from the west.
    foot = -4.0 + 2.0 * 0.42 / 0.85
    start, stop = columns(ball(-4.0, 2.0))[0]
    assert 44 <= start <= 100 - 12.5 * 4.0
    assert 100 + 10.0 * foot <= stop <= 76
    assert len(columns(ball(-5.0), ball(5.0))) == 2
    assert len(columns(ball(-0.1), ball(0.1))) == 1
    together = columns(ball(-0.2), ball(0.0), ball(0.2))
    assert together == columns(ball(0.2), ball(-0.2), ball(0.0))


if __name__ == "__main__":
    found = {}
    for name, make in PICTURES.items():
        picture, letters = make()
        pixels = base64.b64encode(zlib.compress(picture.tobytes(), 9)).decode()
        shape = list(picture.shape)
        found[name] = {"shape": shape, "letters": letters.split("\n"), "pixels": pixels}
    FILE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
