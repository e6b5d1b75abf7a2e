"""Pictures look as they did: their size, and the mean colour of each part of them.

When one of these fails, look at the picture (``env.render()``), and write the file anew with
``python -m tests.worlds.test_golden_pictures``. Drawing differs a little between versions of the
libraries that draw, so colours may differ by `MOST`.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.core.rng import Stream
from tests.helpers.needs import need
from tests.worlds.test_golden import FORMS, draw

FILE = Path(__file__).with_name("golden_pictures.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
PARTS, MOST = 16, 3.0
"""So many parts has a picture on each side; so much of 255 may the mean colour of one differ."""
STEPS = (0, 3, 9)
"""When pictures are taken."""
SHOWN: dict[str, tuple[str, dict[str, Any]]] = {
    **FORMS,
    "lost key": ("TextRoom", {"scenario": "lost_key"}),
    "a tower": (
        "PhysicsPlayground",
        {"task": "stack", "walls": [{"position": (1.5, 0.5), "length": 1.0}]},
    ),
    "keep away": ("piase/PhysicsPlayground-KeepAway-2p-v2", {"camera": "egocentric"}),
    "a ramp": ("PhysicsPlayground", {"scenario": "ramp_run"}),
    "a camera": ("ObjectSearch", {"backend": "camera", "width": 8, "height": 8, "objects": 4}),
}
"""What is drawn: worlds or ids, and their configs."""


def taken(name: str) -> list[dict[str, Any]]:
    """Return the sizes and mean colours of pictures of an episode."""
    world, config = SHOWN[name]
    need(world)
    if config.get("backend") == "camera":
        pytest.importorskip("pybullet")
    env = piase_gym.parallel_env(world, render_mode="rgb_array", **config)
    env.reset(seed=4)
    dice, found = Stream(2), []
    for step in range(STEPS[-1] + 1):
        if step in STEPS:
            picture = env.render()
            assert isinstance(picture, np.ndarray)
            found.append({"shape": list(picture.shape), "colours": parts_of(picture)})
        if env.agents:
            env.step({agent: draw(env, agent, dice) for agent in env.agents})
    env.close()
    return found


def parts_of(picture: Any) -> str:
    """Return the mean colours of the parts of a picture as text."""
    rows = np.array_split(picture.astype(np.float64), PARTS, axis=0)
    parts = [[part.mean((0, 1)) for part in np.array_split(row, PARTS, axis=1)] for row in rows]
    return base64.b64encode(np.round(parts).astype(np.uint8).tobytes()).decode()


def colours(text: str) -> Any:
    """Return mean colours, shape (parts, 3)."""
    return np.frombuffer(base64.b64decode(text), np.uint8).astype(np.float64).reshape(-1, 3)


@pytest.mark.parametrize("name", SHOWN)
def test_pictures_look_as_they_did(name: str) -> None:
    found = taken(name)
    assert [row["shape"] for row in found] == [row["shape"] for row in GOLDEN[name]]
    for row, known in zip(found, GOLDEN[name], strict=True):
        difference = np.abs(colours(row["colours"]) - colours(known["colours"]))
        assert difference.max() <= MOST, f"part {int(difference.max(1).argmax())} looks otherwise"


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: taken(name) for name in SHOWN}, indent=1) + "\n", "utf-8")
