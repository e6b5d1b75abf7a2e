"""Kernels are Python: without the compiler the same rules give all that a caller sees."""

from __future__ import annotations

import functools
import json
import os
from typing import Any

import pytest

from piase_gym.registry import list_tasks
from tests.helpers.warm_python import run_python

PLAY = """
import json, sys
import numpy as np
import piase_gym

def plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict) or hasattr(value, "keys"):
        return {str(key): plain(value[key]) for key in value.keys()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value

def play(name, fields, steps):
    rng = np.random.default_rng(0)
    env = piase_gym.parallel_env(name, view="both", **fields)
    seen = [env.reset(seed=3)]
    for step in range(steps):
        if not env.agents:
            seen.append(env.reset())
        acts = {agent: int(rng.integers(env.world.num_actions)) for agent in env.agents}
        seen += [env.step(acts), env.state(), env.digest()]
    env.restore(env.snapshot())
    seen += [env.world.vectors(), env.world.masks(), env.world.ansi()]
    batch = piase_gym.batch_env(name, num_envs=2, autoreset="same_step", **fields)
    seen.append(batch.reset(seed=3))
    shape = (2, len(batch.agents))
    for _ in range(steps):
        seen += [batch.step(rng.integers(0, batch.action_space.n, shape)), batch.digests()]
        seen += [batch.batch.masks.copy(), batch.batch.final_obs.copy()]
    env.reconfigure({"max_steps": 20})
    seen += [env.reset(), env.digest()]
    return seen

cases, steps = json.loads(sys.argv[1])
seen = [play(name, fields, steps) for name, fields in cases]
print(json.dumps(plain(seen), default=str))
"""


def play(cases: Any, steps: int = 12, **settings: str) -> Any:
    """Play in another process and return all that was seen, case by case."""
    words = ("-W", "error", "-c", PLAY, json.dumps([cases, steps]))
    done = run_python(*words, env={**os.environ, **settings}, warm="with_others")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_same(case: str, one: Any, other: Any) -> None:
    """Compare all that was seen in a case."""
    assert len(one) == len(other)
    for number, (found, expected) in enumerate(zip(one, other, strict=True)):
        assert found == expected, f"{case} differs at {number}"


CASES = {
    "door_key": ("GridWorld", {"layout": "door_key", "agents": 2, "width": 8, "height": 8}),
    "tag": (
        "GridWorld",
        {"layout": "tag", "agents": 3, "width": 8, "height": 8, "symbols": 2, "max_steps": 5},
    ),
    "foraging": ("GridWorld", {"layout": "foraging", "agents": 2, "width": 8, "height": 8}),
    "rooms": (
        "GridWorld",
        {
            "layout": "multi_room",
            "doors": "mixed",
            "agents": 2,
            "width": 9,
            "height": 9,
            "collisions": "pass",
            "see_through_walls": False,
            "fruits": 2,
            "movers": 1,
            "boxes": 1,
            "energy": 9,
        },
    ),
    "grid": ("GridWorld", {"layout": "maze", "width": 7, "height": 7, "observe": "grid"}),
    "matrix": ("SocialDilemma", {"game": "prisoners_dilemma", "noise": 0.1}),
    "many": ("SocialDilemma", {"game": "public_goods", "agents": 3, "symbols": 1}),
    "slow talk": (
        "SocialDilemma",
        {"game": "public_goods", "agents": 3, "symbols": 2, "message_delay": 1},
    ),
    "harvest": ("SocialDilemma", {"game": "harvest", "agents": 3, "width": 12, "height": 10}),
    "cleanup": ("SocialDilemma", {"game": "cleanup", "agents": 3, "width": 12, "height": 10}),
    "crafts": ("WordCraft", {"agents": 2, "depth": 2, "trade": True}),
    "house": ("ObjectSearch", {"agents": 2, "width": 8, "height": 8, "objects": 3}),
}


@functools.cache
def played(**settings: str) -> dict[str, Any]:
    """Play every case in one process; return all that was seen, by case."""
    return dict(zip(CASES, play([*CASES.values()], **settings), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_the_same_without_the_compiler(name: str) -> None:
    assert_same(name, played(NUMBA_DISABLE_JIT="1")[name], played()[name])


@pytest.mark.slow
@pytest.mark.parametrize("world", ["GridWorld", "SocialDilemma"])
def test_every_task_is_the_same_without_the_compiler(world: str) -> None:
    ids = [name for name in list_tasks() if name.startswith(f"piase/{world}-")]
    cases = [(name, {}) for name in ids]
    for case in zip(ids, play(cases, 2, NUMBA_DISABLE_JIT="1"), play(cases, 2), strict=True):
        assert_same(*case)


@pytest.mark.slow
def test_the_same_where_bounds_are_checked() -> None:
    (found,) = play([CASES["rooms"]], NUMBA_BOUNDSCHECK="1", NUMBA_OPT="1")  # compiled sooner
    assert_same("rooms", found, played()["rooms"])
