"""What has changed between two moments: by hand, and of environments of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from piase_gym import runs
from piase_gym.core.commands import Command
from piase_gym.core.objects import Objects, agent_of, in_sight, object_changes, seen_changes
from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.wrappers import AvtLogger
from tests.helpers.piaavt import lines
from tests.interfaces.own_envs import Lamps

ANN: dict[str, Any] = {"kind": "agent", "place": [0, 0]}


def box(x: int, y: int) -> dict[str, Any]:
    """Return a box that looks like all others."""
    return {f"box ({x}, {y})": {"kind": "box", "alike": True, "place": [x, y]}}


def told(before: Objects, after: Objects) -> list[tuple[Any, ...]]:
    """Return the changes as tuples."""
    return [tuple(change.told.values()) for change in object_changes(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"ann": ANN}, {"ann": ANN}, []),
        (
            {"door": {"kind": "door", "locked": True, "open": False}},
            {"door": {"kind": "door", "locked": False, "open": True}},
            [
                ("unlocked", "door", "locked", True, False),
                ("door_opened", "door", "open", False, True),
            ],
        ),
        (
            {"gate": {"kind": "gate", "open": True}, "safe": {"kind": "safe", "open": False}},
            {"gate": {"kind": "gate", "open": False}, "safe": {"kind": "safe", "open": True}},
            [
                ("door_closed", "gate", "open", True, False),
                ("opened", "safe", "open", False, True),
            ],
        ),
        (
            {"ann": ANN, "cup": {"kind": "cup", "place": "table"}},
            {"ann": ANN, "cup": {"kind": "cup", "place": "ann"}},
            [("picked_up", "cup", "place", "table", "ann")],
        ),
        (
            {"ann": ANN, "bob": ANN, "cup": {"kind": "cup", "place": "ann"}},
            {"ann": ANN, "bob": ANN, "cup": {"kind": "cup", "place": "bob"}},
            [("object_moved", "cup", "place", "ann", "bob")],
        ),
        ({}, {"cup": {"kind": "cup", "place": 3}}, [("spawned", "cup", "place", None, 3)]),
        ({"cup": {"kind": "cup", "place": 3}}, {}, [("consumed", "cup", "place", 3, None)]),
        (
            {"ann": {**ANN, "energy": 3, "lit": False}},
            {"ann": {**ANN, "energy": 2, "lit": True}},
            [
                ("resource_updated", "ann", "energy", 3, 2),
                ("state_changed", "ann", "lit", False, True),
            ],
        ),
        (
            {"ann": {**ANN, "score": None}},
            {"ann": {**ANN, "score": 0.5}},
            [("resource_updated", "ann", "score", None, 0.5)],
        ),
        (
            {**box(1, 1), **box(5, 5)},
            {**box(5, 6), **box(2, 1)},
            [
                ("object_moved", "box", "place", [1, 1], [2, 1]),
                ("object_moved", "box", "place", [5, 5], [5, 6]),
            ],
        ),
        (
            {**box(1, 1), **box(5, 5)},
            box(5, 4),
            [
                ("object_moved", "box", "place", [1, 1], [5, 4]),
                ("consumed", "box", "place", [5, 5], None),
            ],
        ),
    ],
)
def test_changes_are_told_in_the_words_of_the_document(
    before: Objects, after: Objects, expected: list[tuple[Any, ...]]
) -> None:
    assert told(before, after) == expected


def test_an_agent_sees_what_is_in_its_sight_before_and_after() -> None:
    before = {
        "ann": {**ANN, "score": 1},
        "bob": {**ANN, "score": 1},
        "cup": {"kind": "cup", "place": [1, 0]},
        "jug": {"kind": "jug", "place": [9, 9]},
    }
    after = {
        "ann": {**ANN, "score": 2},
        "bob": {**ANN, "score": 2, "place": [0, 1]},
        "cup": {"kind": "cup", "place": [2, 0]},
        "jug": {"kind": "jug", "place": [8, 9]},
    }
    view = Surroundings(objects=(Thing("bob", "agent"), Thing("a cup", "x", {"position": [1, 0]})))
    later = Surroundings(objects=(Thing("bob", "agent"), Thing("a cup", "x", {"position": [2, 0]})))
    sights = in_sight(before, "ann", view), in_sight(after, "ann", later)
    assert sights == ({"ann", "bob", "cup"}, {"ann", "bob", "cup"})
    seen = seen_changes(object_changes(before, after), "ann", *sights)
    assert [(row["object"], row["property"]) for row in seen] == [
        ("ann", "score"),  # its own; that of bob it does not know
        ("bob", "place"),
        ("cup", "place"),
    ]


class Hall(Lamps):
    """Lamps that tells its lamps as objects."""

    def get_state(self) -> Any:
        """Return the state, with objects by name."""
        lamps = {f"lamp {k}": {"kind": "lamp", "lit": lit} for k, lit in enumerate(self.lit)}
        return {**super().get_state(), "objects": lamps}


def test_environments_of_ones_own_tell_changes_by_what_they_give(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(Hall(), path, level="full")
    env.reset(seed=0)
    env.step({env.agents[0]: Command("light")})
    env.step({env.agents[0]: Command("go", {"direction": "right"})})
    env.step({env.agents[0]: Command("light")})
    env.close()
    assert [
        tuple(event["event_data"][key] for key in ("change", "object", "property", "old", "new"))
        for event in lines(path)
        if event["event_data"].get("kind") == "object"
    ] == [
        ("state_changed", "lamp 0", "lit", False, True),
        ("state_changed", "lamp 1", "lit", False, True),
    ]
    assert runs.replay(path).ok


def test_environments_of_ones_own_wait_for_the_reset_but_for_their_limit() -> None:
    env = AvtLogger(Hall(), sinks=[runs.MemorySink()])
    env.reset(seed=0)
    found = env.unwrapped.modify({"max_steps": 7, "timeout": 5.0})
    assert (found.now, found.waiting) == ({"max_steps": 7}, {"timeout": 5.0})
    env.close()


def test_what_an_agent_lays_down_is_dropped() -> None:
    held: Objects = {"ann": ANN, "cup": {"kind": "cup", "place": "ann"}}
    laid: Objects = {"ann": ANN, "cup": {"kind": "cup", "place": "table"}}
    assert told(held, laid) == [("dropped", "cup", "place", "ann", "table")]


def test_properties_that_come_and_go_are_changes() -> None:
    before: Objects = {"safe": {"kind": "safe", "locked": False, "lit": True}}
    after: Objects = {"safe": {"kind": "safe", "locked": True, "label": "mine"}}
    assert told(before, after) == [
        ("locked", "safe", "locked", False, True),
        ("state_changed", "safe", "lit", True, None),
        ("state_changed", "safe", "label", None, "mine"),
    ]


def test_what_is_alike_goes_on_as_the_nearest_of_its_kind() -> None:
    ann, bob = {"kind": "agent", "place": [9, 9]}, {"kind": "agent", "place": [1, 1]}
    key = {"kind": "key", "alike": True}
    before: Objects = {"ann": ann, "bob": bob, "key 1": {**key, "place": [1, 2]}}
    after: Objects = {
        "ann": ann,
        "bob": bob,
        "rod": {"kind": "rod", "alike": True, "place": [1, 2]},
        "key 2": {**key, "place": "ann"},
        "key 3": {**key, "place": "bob"},
    }
    assert told(before, after) == [
        ("picked_up", "key", "place", [1, 2], "bob"),
        ("spawned", "rod", "place", None, [1, 2]),
        ("spawned", "key", "place", None, "ann"),
    ]


def test_what_is_alike_goes_on_in_the_place_of_its_name() -> None:
    cup = {"kind": "cup", "alike": True}
    before: Objects = {"cup 1": {**cup, "place": "hall"}}
    after: Objects = {"cup 2": {**cup, "place": "attic"}, "cup 3": {**cup, "place": "hall"}}
    assert told(before, after) == [("spawned", "cup", "place", None, "attic")]


def test_an_agent_perceives_what_it_holds_and_nobody_by_the_place_alone() -> None:
    there: Objects = {
        "ann": ANN,
        "bob": {**ANN, "place": [1, 0]},
        "cup": {"kind": "cup", "place": "ann"},
        "jug": {"kind": "jug", "place": "bob"},
        "box": {"kind": "box", "place": [1, 0]},
        "bag": {"kind": "bag", "place": [2, 0]},
        "fog": {"kind": "fog", "place": None},
    }
    things = Thing("something", "x", {"position": [1, 0]}), Thing("a sound")
    assert in_sight(there, "ann", Surroundings(objects=things)) == {"ann", "cup", "box"}


def test_what_leaves_the_sight_or_appears_out_of_it_is_not_seen() -> None:
    before: Objects = {"cup": {"kind": "cup", "place": 1}, "jug": {"kind": "jug", "place": 1}}
    after: Objects = {"cup": {"kind": "cup", "place": 2}, "box": {"kind": "box", "place": 1}}
    changes = object_changes(before, after)
    assert [change.told["object"] for change in changes] == ["cup", "jug", "box"]

    def seen(first: set[str], then: set[str]) -> list[str]:
        return [row["object"] for row in seen_changes(changes, "ann", first, then)]

    assert seen({"cup", "jug"}, {"box"}) == ["jug", "box"]
    assert seen({"cup"}, {"cup"}) == ["cup"]
    assert seen(set(), {"cup"}) == []


def test_an_agent_is_what_it_perceives_of_itself() -> None:
    body = {"energy": 1.0}
    around = Surroundings(position=[1, 2], rotation="north", inventory=("key",), stats=body)
    assert agent_of(around, True) == {
        "kind": "agent",
        "place": [1, 2],
        "heading": "north",
        "inventory": ["key"],
        "energy": 1.0,
        "in_play": True,
    }
    bare = {"kind": "agent", "place": None, "heading": None, "in_play": False}
    assert agent_of(Surroundings(), False) == bare
