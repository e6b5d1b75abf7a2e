"""What PhysicsPlayground refuses, what it does without pybullet, and its pictures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.errors import ActionError, ConfigError, EnvelopeError, GenerationError
from piase_gym.registry import make_config, world_spec
from piase_gym.testing import WORLD_CHECKS, check_world

ROOT = Path(__file__).parents[1]
SPEC = world_spec("PhysicsPlayground")
BAD: list[tuple[dict[str, Any], str]] = [
    ({"task": "reech"}, "reach"),
    ({"task": "carry", "agents": 1}, "at least 2 agents"),
    ({"task": "keep_away", "agents": 1}, "at least 2 agents"),
    ({"max_steps": 0}, "max_steps"),
    ({"hold_steps": 0}, "hold_steps"),
    ({"gravity": float("nan")}, "gravity"),
    ({"gravity": float("inf")}, "gravity"),
    ({"agents": 9}, "agents"),
    ({"size": (1.0, 6.0)}, "size"),
    ({"task": "push", "objects": [{"position": (2.9, 9.0)}]}, "not on the floor"),
    ({"start_pos": [(2.99, 0.0)]}, "not on the floor"),
    ({"goal_pos": (4.0, 0.0)}, "not on the floor"),
    ({"walls": [{"position": (4.0, 0.0)}]}, "not on the floor"),
    ({"start_pos": [(0.0, 0.0)], "walls": [{"position": (0.1, 0.0)}]}, "inside walls.0"),
    ({"agents": 2, "start_pos": [(0.0, 0.0), (0.1, 0.0)]}, "in one place"),
    (
        {"task": "push", "objects": [{"position": (0.0, 0.0)}, {"position": (0.1, 0.1)}]},
        "in one place",
    ),
    ({"start_pos": [(0.0, 0.0), (2.0, 0.0)]}, "agents=1"),
    ({"task": "push", "objects": [{}] * 1000}, "16"),
    ({"task": "push", "objects": []}, "needs objects"),
    ({"task": "stack", "objects": [{"kind": "ball"}]}, "needs 2 of kind 'box'"),
    ({"task": "push", "objects": [{"mass": float("inf")}]}, "mass"),
    ({"task": "push", "objects": [{"mass": -1.0}]}, "mass"),
    ({"randomise": {"mass": {"low": 2.0, "high": 1.0}}}, "above high"),
    ({"body": "wheel"}, "rover"),
    ({"agent_ids": ["wall"]}, "wall"),
    ({"friktion": 1.0}, "friction"),
]


@pytest.mark.parametrize(("fields", "told"), BAD, ids=range(len(BAD)))
def test_bad_configs_are_refused_in_words(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_config(SPEC, fields)
    assert told in str(caught.value)
    assert "PhysicsPlayground" in str(caught.value)


def test_the_number_of_agents_follows_the_task_unless_it_is_given() -> None:
    assert make_config(SPEC, {"task": "carry"}).agents == 2
    assert make_config(SPEC, {"task": "carry", "agents": 4}).agents == 4
    four = make_config(SPEC, {"task": "reach", "agents": 4})
    assert four.changed({"task": "carry"}).agents == 4


def test_pybullet_is_named_where_it_is_missing() -> None:
    code = (
        "import sys; sys.modules['pybullet'] = None\n"
        "import piase_gym\n"
        "from piase_gym.errors import MissingExtraError\n"
        "from piase_gym.testing import check_world\n"
        "for make in (piase_gym.parallel_env, check_world):\n"
        "    try:\n"
        "        make('PhysicsPlayground')\n"
        "    except MissingExtraError as error:\n"
        "        assert str(error).count('\\n') == 0\n"
        "        assert \"pip install 'piase-gym[physics]'\" in str(error), error\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
        "text = sys.stdin.read()\n"
        "facts = piase_gym.parse_text('PhysicsPlayground', text, {'rays': 0})\n"
        "assert facts.velocity == (12, -3)\n"
    )
    text = (
        "You are agent_0 at x 1.00, y -2.00, 0.07 above the floor.\n"
        "You face 90 degrees north of east.\n"
        "Your speed is 0.12 m/s ahead and -0.03 m/s to the left.\n"
        "You turn left by 0 degrees a second.\nYou hold nothing."
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr


# -- from here on with Bullet -------------------------------------------------------------


def make(**config: Any) -> Any:
    pytest.importorskip("pybullet")
    return piase_gym.parallel_env("PhysicsPlayground", **config)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_forces_that_are_no_numbers_are_refused(bad: float) -> None:
    env = make(actions="continuous")
    env.reset(seed=0)
    before = env.digest()
    with pytest.raises(ActionError):
        env.step({"agent_0": np.array([bad, 0.0, 0.0], np.float32)})
    assert env.digest() == before
    lines = make(actions="text")
    lines.reset(seed=0)
    info = lines.step({"agent_0": f"drive {bad} 0"})[4]["agent_0"]
    assert info["outcome"] == "unparsable"
    assert info["feedback"]


def test_no_room_is_told() -> None:
    env = make(task="gather", size=(2.0, 2.0), agents=8, objects=[{"radius": 0.5}] * 8)
    with pytest.raises(GenerationError, match="no room"):
        env.reset(seed=0)


def test_objects_need_an_envelope() -> None:
    env = make(task="push")
    env.reset(seed=0)
    with pytest.raises(EnvelopeError, match="objects"):
        env.reconfigure({"objects": [{}, {}]})
    roomy = make(task="push", envelope={"objects": 4, "nearest": 4, "agents": 2})
    roomy.reset(seed=0)
    roomy.reconfigure({"objects": [{}, {"kind": "ball"}], "body": "sphere", "agents": 2})
    observations, _ = roomy.reset(seed=0)
    assert set(observations) == {"agent_0", "agent_1"}
    assert all(roomy.observation_space(a).contains(dict(o)) for a, o in observations.items())


@pytest.mark.parametrize("camera", ["overhead", "egocentric"])
def test_pictures_show_the_scene(camera: str) -> None:
    place = {"kind": "ball", "position": (0.0, 0.0), "radius": 0.4}
    env = make(task="push", objects=[place], camera=camera, picture=128, render_mode="rgb_array")
    red = 0
    for seed in range(8):
        env.reset(seed=seed)
        picture = env.render()
        assert picture.shape == (128, 128, 3)
        r, g, b = (picture[..., i].astype(int) for i in range(3))
        seen = int(((r > 90) & (g < 70) & (b < 70)).sum())
        facts = env.facts("agent_0")
        red += seen > 20
        if camera == "egocentric":
            assert (seen > 20) == (abs(facts.objects[0].bearing) < 50), (seed, facts.objects)
        else:
            assert seen > 20
    assert red


def test_letters_show_the_scene() -> None:
    env = make(task="gather", agents=2, render_mode="ansi", walls=[{"position": (0, 0)}])
    env.reset(seed=0)
    text = env.render()
    for mark in ("0", "1", "o", "b", "c", ".", "#"):
        assert mark in text


# -- conformance --------------------------------------------------------------------------

COSTLY = {  # copies of the world for every action; the whole kit runs on one config below
    "masks_are_legality",
    "masks_fit",
    "admissible_are_legal",
    "illegal_is_reported",
    "gymnasium_video",
}
THOROUGH = bool(os.environ.get("PIASE_THOROUGH"))
IDS = [task for task in piase_gym.tasks("PhysicsPlayground") if THOROUGH or "Sphere" in task]
LIGHT = [check.name for check in WORLD_CHECKS if check.name not in COSTLY]


@pytest.mark.slow
@pytest.mark.parametrize("task", IDS)
def test_every_id_conforms(task: str) -> None:
    pytest.importorskip("pybullet")
    check_world(task, checks=LIGHT, max_steps=40)


@pytest.mark.slow
@pytest.mark.skipif(not THOROUGH, reason="takes minutes; set PIASE_THOROUGH=1")
def test_the_world_conforms() -> None:
    pytest.importorskip("pybullet")
    check_world("PhysicsPlayground", task="carry", messages=True, max_steps=60)
