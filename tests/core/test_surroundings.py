"""Surroundings by the names of facts' fields, and values as JSON-able data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pytest

from piase_gym.core.jsonable import jsonable
from piase_gym.core.surroundings import Surroundings, Thing, surroundings_by_name
from piase_gym.core.world import Facts
from piase_gym.interfaces.results import entities, inventory_update

AGENTS = ("agent_0", "agent_1")


@dataclass(frozen=True)
class Ball:
    colour: str
    kind: str
    place: tuple[float, float]


class Door(NamedTuple):
    name: str
    locked: bool


@dataclass(frozen=True, kw_only=True)
class Empty(Facts):
    """Nothing but what all facts have."""


@dataclass(frozen=True, kw_only=True)
class Rich(Facts):
    location: str = "attic"
    rotation: tuple[float, ...] = (0.0, 90.0)
    inventory: tuple[Any, ...] = ("rope", ("coin", 3), Ball("red", "ball", (1, 2)))
    energy: float = 0.5
    stats: Any = None
    objects: tuple[Any, ...] = (Door("gate", True), Ball("red", "ball", (1, 2)), {"id": "x7"})
    others: tuple[Any, ...] = (("agent_1", (3, 4)),)
    cells: tuple[tuple[str, ...], ...] = (("floor", "key"), ("agent_1 facing left", "wall"))


def test_a_world_without_anything_reports_nothing() -> None:
    facts = Empty(agent="agent_0", hint="look", messages=())
    assert surroundings_by_name(facts, AGENTS) == Surroundings()


def test_fields_are_found_by_their_names() -> None:
    around = surroundings_by_name(Rich(agent="agent_0"), AGENTS)
    assert (around.position, around.rotation) == ("attic", [0.0, 90.0])
    assert around.inventory == ("rope", "coin", "ball")
    assert around.stats == {"energy": 0.5}
    assert around.objects == (
        Thing("gate", "object", {"name": "gate", "locked": True}),
        Thing("ball", "object", {"colour": "red", "kind": "ball", "place": [1, 2]}),
        Thing("x7", "object", {"id": "x7"}),
        Thing("agent_1", "agent", {"position": [3, 4]}),
        Thing("key", "object", {"row": 0, "column": 1}),
        Thing("agent_1", "agent", {"row": 1, "column": 0, "state": "facing left"}),
    )
    assert set(around.perceptions) == {
        *("location", "rotation", "inventory", "energy", "stats", "objects", "others", "cells")
    }
    assert json.loads(json.dumps(around.perceptions)) == around.perceptions


@pytest.mark.parametrize(("carrying", "found"), [("key", ("key",)), (None, ())])
def test_one_thing_may_be_carried(carrying: str | None, found: tuple[str, ...]) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Hands(Facts):
        carrying: str | None

    assert surroundings_by_name(Hands(agent="a", carrying=carrying), ["a"]).inventory == found


def test_entities_of_one_name_are_numbered() -> None:
    found = entities([Thing("box"), Thing("cat", "animal", {"age": 3}), Thing("box")])
    assert [row["id"] for row in found] == ["box_1", "cat", "box_2"]
    assert found[1] == {"id": "cat", "type": "animal", "properties": {"name": "cat", "age": 3}}


def test_inventories_count() -> None:
    update = inventory_update(["coin", "coin", "key"], ["coin", "rope", "rope"])
    assert update == {"added": ["rope", "rope"], "removed": ["coin", "key"]}


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.arange(3, dtype=np.uint8), [0, 1, 2]),
        (np.float64(0.5), 0.5),
        (Colour.RED, 1),
        ({1: {2.5, 1.5}}, {"1": [1.5, 2.5]}),
        (Door("a", True), {"name": "a", "locked": True}),
        ((None, True, "x"), [None, True, "x"]),
        (Ball("red", "ball", (1, 2)), {"colour": "red", "kind": "ball", "place": [1, 2]}),
        (1j, "1j"),
        (np.longdouble(0.5), 0.5),  # whose own ``item`` is a number of NumPy again
        (np.zeros(2, np.clongdouble), ["0j", "0j"]),
    ],
    ids=repr,
)
def test_values_become_plain(value: Any, plain: Any) -> None:
    found = jsonable(value)
    assert found == plain
    assert type(found) is type(plain)
    assert json.loads(json.dumps(found)) == plain


def test_the_first_name_of_a_field_counts() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Many(Facts):
        location: str | None = "attic"
        room: str | None = "hall"
        position: tuple[int, int] | None = (1, 2)
        heading: str = "north"
        carrying: str = "key"
        items: tuple[Any, ...] = (("cup", 3, "red"), {"size": 3}, ("jug",))
        health: int = 2
        energy: bool = True

    around = surroundings_by_name(Many(agent="a"), ["a"])
    assert (around.position, around.rotation) == ([1, 2], "north")
    assert around.inventory == ("key",)
    assert around.stats == {"health": 2.0}
    assert around.objects == (Thing("cup"), Thing("3", properties={"size": 3}), Thing("jug"))
    assert surroundings_by_name(Many(agent="a", position=None), ["a"]).position == "hall"
    nowhere = Many(agent="a", position=None, room=None)
    assert surroundings_by_name(nowhere, ["a"]).position == "attic"
