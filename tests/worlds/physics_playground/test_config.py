"""What PhysicsPlayground refuses, what it does without pybullet, and its pictures."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.errors import ActionError, ConfigError, EnvelopeError, GenerationError
from piase_gym.registry import make_config, world_spec
from piase_gym.testing import WORLD_CHECKS, check_world
from piase_gym.worlds.physics_playground.observe.raycast import SAMPLES
from tests.paths import ROOT

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
    ({"agent_ids": ["Goal"]}, "goal"),
    ({"agent_ids": ["Hint"]}, "hint"),
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
        "You are agent_0 at 1.00, -2.00, facing 90 degrees, driving 0.12 m/s, "
        "drifting 0.03 m/s right."
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


def test_pictures_are_large_smooth_and_steady() -> None:
    ramps = [{"position": (1.0, 1.0)}, {"position": (-1.5, -1.0), "angle": 120.0, "height": 0.5}]
    box = {"position": (0.0, 0.0), "radius": 0.3}
    env = make(task="push", objects=[box], ramps=ramps, start_pos=[(2.0, -2.0)], goal_pos=(-2, 2))
    env.reset(seed=0)
    env.step({"agent_0": 0})
    world = env.world
    first = world.picture()
    assert first.shape == (512, 512, 3)
    env.step({"agent_0": 3})  # it turns, and nothing else moves
    moved = np.argwhere((world.picture() != first).any(-1))
    assert 0 < len(moved) < 1500
    assert np.ptp(moved, axis=0).max() < 80
    # The edges of a ramp are straight: each line of the picture has one stretch of it.
    brown = (np.abs(first.astype(int) - (186, 162, 124)).sum(-1) < 40)[:, 256:]
    assert brown.sum() > 1000
    assert all(np.abs(np.diff(line.astype(int))).sum() <= 2 for line in brown)
    red = first.astype(int)[..., 0] - first[..., 1]
    assert len(np.unique(red[red > 20])) > 8  # mixed with the floor at its edges
    floor = first[480 // 2, 60].astype(int).sum()
    near = first[200:300, 200:330].astype(int)
    grey = (np.ptp(near, axis=-1) < 25) & (near.sum(-1) < 0.8 * floor)
    assert grey.sum() > 100  # the shadow of the box
    agent = first[340:480, 330:480].reshape(-1, 3).astype(int)
    assert (agent.sum(-1) < 120).sum() > 10  # tyres
    before = world.digest(), json.dumps(world.snapshot())
    world.picture("egocentric", 0, 33)
    assert (world.digest(), json.dumps(world.snapshot())) == before
    env.close()


@pytest.mark.parametrize("side", [96, 131])
def test_what_moves_is_drawn_anew_as_if_all_were(
    side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ramps = [{"position": (0.6, 0.2), "height": 0.6}]  # its shadow falls on the box beside it
    things = [{"position": (0.0, 0.0), "radius": 0.3}, {"kind": "ball", "position": (2.7, 2.7)}]
    starts = [(-0.7, 0.0), (-2.7, -2.7)]  # two in one part of the picture, one at its edge
    env = make(task="push", agents=2, objects=things, ramps=ramps, start_pos=starts)
    from piase_gym.worlds.physics_playground.observe import pictures

    whole = slice(0, side * SAMPLES), slice(0, side * SAMPLES)
    for seed in range(3):
        env.reset(seed=seed)
        for _ in range(4):
            found = env.world.picture(side=side)
            with monkeypatch.context() as patch:
                patch.setattr(pictures, "parts_with", lambda _solids, _camera: [whole])
                assert np.array_equal(found, env.world.picture(side=side))
            env.step(dict.fromkeys(env.agents, 1))
    env.close()


@pytest.mark.parametrize("size", [(6.0, 6.0), (20.0, 2.0), (2.0, 20.0)])
def test_letters_show_the_scene(size: tuple[float, float]) -> None:
    env = make(
        task="gather",
        agents=2,
        render_mode="ansi",
        walls=[{"position": (0, 0)}],
        ramps=[{"position": (0.5, 0.5), "length": 0.4, "width": 0.4}],
        size=size,
        zone=0.4,
    )
    for seed in range(20):  # where things hide each other another seed shows them
        env.reset(seed=seed)
        text = env.render()
        lines = text.split("\n")
        board = lines[1 : lines.index(lines[0], 1)]
        assert len({len(line) for line in board}) == 1
        assert max(map(len, lines)) <= 78
        assert len(lines) <= 36
        if all(mark in "".join(board) for mark in "01obc.#%"):
            break
    else:
        pytest.fail(text)
    for told in ("agents", "o ball", "b box", "c cylinder", ". the zone", "# wall", "% ramp"):
        assert told in " ".join(lines[-3:])


@pytest.mark.parametrize("seed", range(6))
def test_letters_tell_the_heading(seed: int) -> None:
    env = make(task="reach", render_mode="ansi", start_pos=[(0.0, 0.0)], goal_pos=(2.5, 2.5))
    env.reset(seed=seed)
    board = [line[1:-1] for line in env.render().split("\n")[1:-2]]
    row = next(i for i, line in enumerate(board) if "0" in line)
    column = board[row].index("0")
    heading = env.facts("agent_0").heading
    found = {
        (i, j)
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i or j) and board[row + j][column + i] in "^v<>/\\"
    }
    assert len(found) == 1
    ((i, j),) = found
    turned = math.degrees(math.atan2(-j, i)) - heading
    assert abs((turned + 180.0) % 360.0 - 180.0) <= 23.5


# -- conformance --------------------------------------------------------------------------

COSTLY = {  # copies of the world for every action; the whole kit runs on one config below
    "masks_are_legality",
    "masks_fit",
    "admissible_are_legal",
    "illegal_is_reported",
    "gymnasium_video",
}
THOROUGH = bool(os.environ.get("PIASE_THOROUGH"))
IDS = [task for task in piase_gym.list_tasks("PhysicsPlayground") if THOROUGH or "Sphere" in task]
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
