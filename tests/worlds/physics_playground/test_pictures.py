"""Pictures of PhysicsPlayground, pixel by pixel, and its boards in letters, as they were.

When one of these fails, look at the picture (``env.render()``), and write the file anew with
``python -m tests.worlds.physics_playground.test_pictures``. Arithmetic differs a little between
processors: a colour may differ by `MOST`, and one pixel in a hundred, at an edge, by more.
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
from piase_gym.worlds.physics_playground.observe.raycast import Camera, Mark, Solid, draw
from tests.helpers.needs import need

FILE = Path(__file__).with_name("golden_pictures.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
MOST, SIDE = 2, 64
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
        camera = camera.cropped((slice(20, 100), slice(30, 90)))
    seen = draw(things, marks, camera, (0.9, 0.9, 0.8))
    assert seen.dtype == np.float32
    return np.round(255 * seen).astype(np.uint8), ""


PICTURES: dict[str, Callable[[], tuple[Any, str]]] = {
    "everything": partial(board, EVERYTHING, None),
    "the first": partial(board, EVERYTHING, 0),
    "the second": partial(board, EVERYTHING, 1),
    "a race": partial(board, RACE, None),
    "a racer": partial(board, RACE, 1),
    "a usual floor": partial(board, {"task": "stack"}, None),
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
    assert (apart > MOST).mean() < 0.01
    assert letters.split("\n") == golden["letters"]


if __name__ == "__main__":
    found = {}
    for name, make in PICTURES.items():
        picture, letters = make()
        pixels = base64.b64encode(zlib.compress(picture.tobytes(), 9)).decode()
        shape = list(picture.shape)
        found[name] = {"shape": shape, "letters": letters.split("\n"), "pixels": pixels}
    FILE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
