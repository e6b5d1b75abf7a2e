"""Places and shapes, with values that can be worked out by hand."""

from __future__ import annotations

import itertools
import math

import pytest

pytest.importorskip("pybullet")

import numpy as np
from PIL import ImageColor
from scipy.spatial.transform import Rotation

from piase_gym.registry import make_config, world_spec
from piase_gym.worlds.physics_playground.geometry import (
    compose,
    inverse,
    nearest_of_crate,
    rotate,
)
from piase_gym.worlds.physics_playground.levels.bodies import HULL, ROVER, SPHERE
from piase_gym.worlds.physics_playground.levels.items import COLOURS, Ramp, Thing, Wall, gap
from piase_gym.worlds.physics_playground.observe.pictures import RGB, agent_colour
from piase_gym.worlds.physics_playground.scripting import place_problem

HALF = math.sqrt(0.5)


@pytest.mark.parametrize(
    ("start", "turn", "wanted"),
    [
        ((3.0, 1.0), (0.0, 0.0, 0.0, 1.0), (1.5, 1.0)),  # its long side lies along x
        ((0.7, 5.0), (0.0, 0.0, 0.0, 1.0), (0.7, 1.2)),
        ((-3.0, -3.0), (0.0, 0.0, 0.0, 1.0), (0.5, 0.8)),
        ((1.1, 0.9), (0.0, 0.0, 0.0, 1.0), (1.1, 0.9)),  # inside
        ((3.0, 1.1), (0.0, 0.0, HALF, HALF), (1.2, 1.1)),  # along y
        ((1.1, 5.0), (0.0, 0.0, HALF, HALF), (1.1, 1.5)),
        ((1.1, 5.0), (HALF, HALF, 0.0, 0.0), (1.1, 1.5)),  # along y, upside down
        ((3.0, 3.0), (0.0, 0.0, math.sin(math.pi / 8), math.cos(math.pi / 8)), (1.35355, 1.35355)),
    ],
)
def test_the_nearest_point_of_a_crate(
    start: tuple[float, float], turn: tuple[float, ...], wanted: tuple[float, float]
) -> None:
    found = nearest_of_crate(start, (1.0, 1.0), turn, (0.5, 0.2))
    assert found == pytest.approx(wanted, abs=1e-5)


def test_the_gap_between_a_place_and_what_stands_there() -> None:
    wall = Wall(position=(1.0, 1.0), length=2.0)
    ramp = Ramp(position=(1.0, 1.0), length=2.0, width=0.8, angle=90.0)
    places = [(1.0, 1.0), (2.0, 1.05), (2.5, 1.0), (1.0, 1.35), (2.3, 1.45), (-0.3, 0.55)]
    assert [gap(place, wall) for place in places] == pytest.approx([0, 0, 0.5, 0.3, 0.5, 0.5])
    places = [(1.4, 2.0), (1.0, 2.5), (1.9, 1.0), (1.7, 2.4), (0.3, -0.4)]
    assert [gap(place, ramp) for place in places] == pytest.approx([0, 0.5, 0.5, 0.5, 0.5])
    assert (Wall(position=(0, 0)).half, Ramp(position=(0, 0)).half) == ((0.5, 0.05), (0.5, 0.4))
    things = [Thing(kind=kind, radius=0.2).reach for kind in ("box", "ball", "cylinder", "crate")]
    assert things == pytest.approx([0.2 * math.sqrt(2), 0.2, 0.2, math.hypot(0.5, 0.2)])


@pytest.mark.parametrize(
    ("thing", "place", "told"),
    [
        ("red ball", (1.75, 0.0), None),  # it touches the edge
        ("red ball", (-1.75, 0.0), None),
        ("red ball", (0.0, 2.75), None),
        ("red ball", (0.0, -2.75), None),
        ("red ball", (1.8, 0.0), "(1.8, 0) is not on the floor, which reaches from (-2, -3) to "
         "(2, 3), and red ball needs 0.25 around it"),
        ("red ball", (0.0, -2.8), "(0, -2.8) is not on the floor"),
        (None, (2.0, 3.0), None),
        (None, (-2.0, -3.0), None),
        (None, (2.1, 0.0), "(2.1, 0) is not on the floor, which reaches from (-2, -3) to (2, 3)"),
        (None, (0.0, -3.1), "(0, -3.1) is not on the floor"),
        (None, (0.0, 0.0), None),  # nothing is there that would need room
        ("red ball", (0.0, 0.25), "(0, 0.25) is at a wall, and red ball needs 0.25 around it"),
        ("red ball", (0.0, 0.31), None),
        ("red ball", (0.0, -2.0), "(0, -2) is at a ramp, and red ball needs 0.25 around it"),
        (None, "here", "a place is (x, y) in metres, not 'here'"),
        (None, (1.0, 2.0, 3.0), "a place is (x, y) in metres, not (1.0, 2.0, 3.0)"),
    ],
)  # fmt: skip
def test_where_an_object_cannot_stand(
    thing: str | None, place: str | tuple[float, ...], told: str | None
) -> None:
    config = make_config(
        world_spec("PhysicsPlayground"),
        {
            "task": "push",
            "size": (4.0, 6.0),
            "objects": [{"kind": "ball", "radius": 0.25}],
            "walls": [{"position": (0.0, 0.0)}],
            "ramps": [{"position": (0.0, -2.0)}],
        },
    )
    found = place_problem(config, thing, place)
    assert (found is None) if told is None else found is not None and found.startswith(told)


def test_colours_look_as_they_are_called_and_can_be_told_apart() -> None:
    """They are near those of CSS that have the same names."""
    assert tuple(RGB) == COLOURS
    for name, colour in RGB.items():
        assert all(0.0 <= part <= 1.0 for part in colour), name
        css = [part / 255 for part in ImageColor.getrgb(name)[:3]]
        assert math.dist(colour, css) < 0.5, name
    assert min(math.dist(a, b) for a, b in itertools.combinations(RGB.values(), 2)) > 0.2


def test_agents_differ_in_their_hue() -> None:
    found = [agent_colour(number, 4) for number in range(4)]
    assert all(max(colour) == pytest.approx(0.85) for colour in found)
    assert all(min(colour) == pytest.approx(0.85 * 0.25) for colour in found)
    assert len({colour.index(max(colour)) for colour in found}) == 3
    assert found[0] == pytest.approx((0.2125, 0.5440, 0.85), abs=1e-3)
    assert agent_colour(0, 0) == found[0]


def test_rotations_are_those_of_scipy() -> None:
    turns, dice = Rotation.random(20, random_state=0), np.random.default_rng(0)
    for first, second in itertools.pairwise(turns):
        p, q, v = first.as_quat().tolist(), second.as_quat().tolist(), dice.normal(size=3)
        assert rotate(p, v) == pytest.approx(first.apply(v))
        assert rotate(inverse(p), v) == pytest.approx(first.inv().apply(v))
        assert rotate(compose(p, q), v) == pytest.approx((first * second).apply(v))


def test_no_ray_begins_within_an_agent() -> None:
    farthest = max(SPHERE, math.hypot(*ROVER[:2]))
    assert farthest < HULL < farthest + 0.01
