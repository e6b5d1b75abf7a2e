"""Ways around walls: as long as geometry says, clear of everything, and to the end."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pybullet")

import piase_gym
from piase_gym import runs
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.items import gap
from piase_gym.worlds.physics_playground.players.steering import SIGHT, aim_of
from piase_gym.wrappers import AvtLogger
from tests.worlds.physics_playground.helpers import oracle

Point = tuple[float, float]


def hall(**fields: Any) -> PhysicsPlaygroundConfig:
    return PhysicsPlaygroundConfig(task="reach", size=(10.0, 10.0), **fields)


def legs(config: PhysicsPlaygroundConfig, start: Point, goal: Point) -> list[Point]:
    """Return the corners of the way that is gone if every aim is reached."""
    found = [start]
    while found[-1] != goal:
        found.append(aim_of(config, found[-1], goal))
        assert len(found) < 60, found
    return found


def length(points: list[Point]) -> float:
    return sum(math.dist(a, b) for a, b in itertools.pairwise(points))


@pytest.mark.parametrize("half", [0.5, 1.5, 3.0])
@pytest.mark.parametrize("away", [0.6, 2.0])
def test_the_way_round_a_wall_is_that_of_a_taut_string(half: float, away: float) -> None:
    config = hall(walls=[{"position": (0.0, 0.0), "length": 2.0 * half, "angle": 90.0}])
    way = length(legs(config, (-away, 0.0), (away, 0.0)))
    taut = 2.0 * math.hypot(away - 0.05, half) + 0.1  # touching the corners of the wall
    assert taut < way < 1.2 * taut + 0.6


def test_what_is_in_sight_is_gone_to_straight() -> None:
    config = hall(walls=[{"position": (0.0, 0.0), "length": 2.0}])
    assert aim_of(config, (-3.0, 1.0), (3.0, 1.0)) == (3.0, 1.0)
    assert aim_of(hall(), (-3.0, 0.0), (3.0, 0.0)) == (3.0, 0.0)


def test_ways_through_many_walls_are_clear_and_arrive() -> None:
    dice, bent = np.random.default_rng(0), 0
    for _ in range(25):
        walls = [
            {
                "position": tuple(dice.uniform(-3.5, 3.5, 2).tolist()),
                "length": float(dice.uniform(0.5, 2.5)),
                "angle": float(dice.uniform(-90.0, 90.0)),
            }
            for _ in range(6)
        ]
        config = hall(walls=walls)
        ends = []
        while len(ends) < 2:
            x, y = dice.uniform(-4.6, 4.6, 2).tolist()
            if all(gap((x, y), wall) > 0.4 for wall in config.walls):
                ends.append((x, y))
        points = legs(config, *ends)
        bent += len(points) > 2
        for a, b in itertools.pairwise(points):
            for share in np.linspace(0.0, 1.0, 50).tolist():
                place = a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
                assert all(gap(place, wall) > SIGHT - 0.05 for wall in config.walls)
    assert bent > 5


def test_where_there_is_no_way_it_is_straight_on() -> None:
    around = [((0.0, 1.5), 0.0), ((0.0, -1.5), 0.0), ((1.5, 0.0), 90.0), ((-1.5, 0.0), 90.0)]
    walls = [{"position": place, "length": 3.1, "angle": turn} for place, turn in around]
    assert aim_of(hall(walls=walls), (-3.0, 0.0), (0.0, 0.0)) == (0.0, 0.0)


@pytest.mark.parametrize("name", ["ramp_run", "heavy_crate"])
def test_scenarios_are_won_and_replayed(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("PhysicsPlayground", scenario=name), path)
    env.reset(seed=3)
    act, infos = oracle(env.unwrapped), {}
    while env.agents:
        infos = env.step(act())[4]
    env.close()
    assert {info["result"] for info in infos.values()} == {"won"}
    assert runs.replay(path).ok
