"""Where PhysicsPlayground's script draws on the floor what its facts tell in polar form."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("pybullet")

from piase_gym.worlds.physics_playground.facts import PhysicsPlaygroundFacts, Sighting
from piase_gym.worlds.physics_playground.players.scripted import FloorView, Thing

HERE = (1.0, -2.5)
"""The agent stands there and looks along y."""


def eyes(**parts: Any) -> FloorView:
    """Return how the script sees facts."""
    facts = object.__new__(PhysicsPlaygroundFacts)
    told = {"position": (100, -250), "heading": 90, "objects": (), "others": (), "goal": None}
    for name, value in {**told, "lidar": (), **parts}.items():
        object.__setattr__(facts, name, value)
    return FloorView(facts, "rover", 2.0)


def at(x: float, y: float) -> Any:
    return pytest.approx((x, y))


def test_a_thing_is_drawn_from_its_distance_and_bearing() -> None:
    box = Sighting("red box", 200, 90, 15, 0, "free")  # to the left, so along -x
    (thing,) = eyes(objects=(box,)).things
    assert thing == Thing("red box", at(-1.0, -2.5), 2.0, at_angle(90), 0.15, "free")
    (ahead,) = eyes(others=(Sighting("agent_1", 50, 0, 10, 0, "free"),)).others
    assert (ahead.place, ahead.away) == (at(1.0, -2.0), 0.5)


def at_angle(degrees: float) -> Any:
    return pytest.approx(math.radians(degrees))


def test_the_goal_is_where_it_is_told_or_here() -> None:
    assert eyes().goal == at(*HERE)
    assert eyes(goal=(300, -90)).goal == at(4.0, -2.5)


@pytest.mark.parametrize(
    ("place", "degrees"),
    [((1.0, 0.0), 0), ((0.0, -2.5), 90), ((2.0, -2.5), -90), ((2.0, -1.5), -45)],
)
def test_bearings_are_to_the_left_of_the_heading(
    place: tuple[float, float], degrees: float
) -> None:
    assert eyes().bearing(place) == at_angle(degrees)


def test_things_agents_and_walls_are_in_the_way_but_not_what_is_held_or_ignored() -> None:
    objects = (
        Sighting("red box", 100, 0, 15, 0, "free"),
        Sighting("big crate", 100, 90, 20, 0, "free"),
        Sighting("blue ball", 100, -90, 10, 0, "held by you"),
        Sighting("green box", 150, 180, 60, 0, "free"),
    )
    seen = eyes(objects=objects, others=(Sighting("agent_1", 80, 45, 10, 0, "free"),))
    found = [(disc.place, round(disc.radius, 3)) for disc in seen.discs(["red box"])]
    side = 0.8 * math.sqrt(0.5)
    assert found == [
        (at(0.0, -2.5), 0.45),
        (at(1.0, -4.0), 0.6),
        (at(1.0 - side, -2.5 + side), 0.22),
    ]
    assert (at(1.0, -1.5), 0.18) in [(disc.place, round(disc.radius, 3)) for disc in seen.discs([])]


def test_lidar_meets_walls_within_sight_and_away_from_what_is_known() -> None:
    """Rays go around to the left from straight ahead; a wall is met well before the end of one."""
    lidar = (197, 100, 198, 50)
    box = Sighting("red box", 150, 0, 15, 0, "free")
    walls = [disc.place for disc in eyes(lidar=lidar).discs([])]
    assert walls == [at(1.0, -0.53), at(0.0, -2.5), at(1.5, -2.5)]
    with_box = [disc.place for disc in eyes(lidar=lidar, objects=(box,)).discs(["red box"])]
    assert with_box == [at(0.0, -2.5), at(1.5, -2.5)]
