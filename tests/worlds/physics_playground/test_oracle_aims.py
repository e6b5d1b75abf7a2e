"""Where PhysicsPlayground's oracle heads for, from places that are given by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pybullet")

from piase_gym.worlds.physics_playground.players import oracle


def oracle_of(thing: tuple[float, float], agent: tuple[float, float], zone: Any) -> Any:
    """Return an oracle of a rover that is to push a thing into a zone."""
    found: Any = object.__new__(oracle.PhysicsPlaygroundOracle)
    objects = {3: SimpleNamespace(half=(0.2, 0.2, 0.2))}
    found.world = SimpleNamespace(
        arena=SimpleNamespace(inside={3: False}, pose=lambda _: "the pose"),
        play=SimpleNamespace(there=[3], zone=zone, objects=objects),
        config=SimpleNamespace(body="rover", zone=1.0),
    )
    found._share = lambda _, things: things[0]
    found._place = lambda _: thing
    found._agent = lambda _: agent
    return found


@pytest.mark.parametrize("turn", [0.0, 0.4, 1.5, 3.0])
def test_who_pushes_corrects_by_twice_what_it_is_off(
    turn: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    ux, uy = math.cos(turn), math.sin(turn)
    off, aims = 0.05, []
    # The thing lies at the origin and the zone ahead; the agent is behind it, off to one side.
    zone = (3.0 * ux, 3.0 * uy)
    agent = (-0.5 * ux + off * uy, -0.5 * uy - off * ux)
    monkeypatch.setattr(oracle, "heading_to", lambda _, aim: aims.append(aim) or (1.0, 0.25))
    monkeypatch.setattr(oracle, "steer", lambda bearing, power: (bearing, power))
    assert oracle_of((0.0, 0.0), agent, zone)._push(0) == (0.25, 0.7)
    ((x, y),) = aims
    assert x == pytest.approx(0.3 * ux - 2.0 * off * uy)
    assert y == pytest.approx(0.3 * uy + 2.0 * off * ux)


def test_things_are_set_down_evenly_on_a_ring_in_the_zone() -> None:
    found = oracle_of((0.0, 0.0), (0.0, 0.0), (1.0, -2.0))
    found.world.play.there = [7, 3, 5, 9]
    spots = [found._spot(thing) for thing in found.world.play.there]
    assert spots == [
        pytest.approx(place) for place in [(1.45, -2.0), (1.0, -1.55), (0.55, -2.0), (1.0, -2.45)]
    ]


def test_who_holds_a_box_lets_go_when_there_is_none_to_put_it_on() -> None:
    found = oracle_of((0.0, 0.0), (0.0, 0.0), [])
    found.world.config.row = SimpleNamespace(about="box")
    found.world.config.task = "stack"
    objects = [SimpleNamespace(shape="box")] * 2
    holds = [SimpleNamespace(object=0, since=9), SimpleNamespace(object=1, since=9), None]
    found.world.play = SimpleNamespace(there=[0, 1], objects=objects, holds=holds)
    assert [found._stack(agent) for agent in range(3)] == [oracle.RELEASE] * 2 + [oracle.NOOP]
