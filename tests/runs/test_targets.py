"""When an agent has reached what it was sent to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.runs.targets import Targets
from tests.helpers.costs import Compared


def stands(**places: Any) -> Any:
    """Return a world in which agents stand at places."""
    return SimpleNamespace(agents=tuple(places), position=lambda i: [*places.values()][i])


@pytest.mark.parametrize(
    ("place", "target", "there"),
    [
        ((2, 1), [2, 1], True),
        ((2, 1), [1, 2], False),
        ((2, 1), [2, 0], False),
        ((2.0, 1.0), [2.5, 1.0], True),  # 0.5 away
        ((2.0, 1.0), [2.3, 1.4], True),
        ((2.0, 1.0), [2.3, 1.41], False),
        ((2, 1), [2.0, 1.4], True),
        ((0.0, 0.0, 5.0), [0.0, 0.0], True),
        ((0.0, 0.0), [0.0, 0.0, 0.0], False),
        ("kitchen", "kitchen", True),
        ("kitchen", "hall", False),
        ((1, 2), "12", False),
        (None, None, False),
        ((1, 2), [1, "x"], False),
        ((1, 2), [1, None], False),
    ],
)
def test_who_is_near_enough_stands_on_its_target(place: Any, target: Any, there: bool) -> None:
    targets = Targets()
    assert not targets.given
    targets.hear("DSE_STEP_ATTEMPT_START", "a", {"target_coords": target})
    assert bool(targets.given) == (target is not None)
    assert targets.reached(stands(a=place), [0]) == (["a"] if there else [])


def test_targets_are_reached_once_an_episode() -> None:
    targets, world = Targets(), stands(a=(0, 0), b=(1, 1), c=(1, 1))
    begin = "DSE_STEP_ATTEMPT_START"
    targets.hear(begin, "b", {"target_coords": [1, 1]})
    targets.hear(begin, "c", {"target_coords": [1, 1], "slot": 2})
    targets.hear("DSE_ELSE", "a", {"target_coords": [0, 0]})
    targets.hear(begin, None, {"target_coords": [0, 0]})
    assert targets.wanted([1], world.agents)
    assert not targets.wanted([0], world.agents)
    assert not targets.wanted([2], world.agents)
    assert targets.wanted([2], world.agents, 2)
    assert targets.reached(world, [0, 2]) == []
    assert targets.reached(world, [0, 1, 2]) == ["b"]
    assert targets.reached(world, [0, 1, 2]) == []
    assert not targets.wanted([1], world.agents)
    assert targets.reached(world, [0, 1, 2], 2) == ["b", "c"]
    targets.again()
    assert targets.reached(world, [0, 1, 2]) == ["b"]
    assert targets.reached(world, [0, 1, 2], 2) == []
    targets.again(2)
    assert targets.reached(world, [1, 2], 2) == ["b", "c"]
    targets.hear(begin, "c", {"target_coords": [1, 1], "slot": 2})  # the next attempt
    assert targets.reached(world, [1, 2], 2) == ["c"]
    targets.hear(begin, "c", {"slot": 2})
    targets.again(2)
    assert targets.reached(world, [1, 2], 2) == ["b"]
    targets.hear("DSE_CURRICULUM_FAILED", "b", {"target_coords": [1, 1]})
    targets.again()
    assert targets.reached(world, [0, 1, 2]) == []
    assert not targets.given


def test_a_slot_does_not_look_through_the_targets_of_all() -> None:
    targets, world = Targets(), stands(a=(0, 0))
    slots, before = [Compared(number) for number in range(50)], Compared.times
    for slot in slots:
        targets.hear("DSE_STEP_ATTEMPT_START", "a", {"target_coords": [1, 1], "slot": slot})
    for slot in slots:
        targets.again(slot)
        assert targets.wanted([0], world.agents, slot)
        assert targets.reached(world, [0], slot) == []
    assert Compared.times - before < 50 * 10


def test_a_target_of_one_slot_is_that_of_no_other() -> None:
    targets, world = Targets(), stands(a=(0, 0))
    for slot in (0, 1):
        at = {"target_coords": [0, 0], "slot": slot}
        targets.hear("DSE_STEP_ATTEMPT_START", "a", at)
        assert targets.reached(world, [0], slot) == ["a"]
    targets.hear("DSE_STEP_ATTEMPT_START", "a", {"target_coords": [0, 0], "slot": 1})
    assert targets.reached(world, [0], 0) == []
    targets.again(0)
    assert targets.reached(world, [0], 0) == ["a"]
    assert targets.reached(world, [0], 1) == ["a"]
    targets.hear("DSE_STEP_ATTEMPT_START", "a", {"target_coords": [0, 0]})  # in all slots
    assert [targets.reached(world, [0], slot) for slot in (0, 1, 2)] == [["a"]] * 3
    targets.hear("DSE_AGENT_CURRICULUM_FINISHED", "a", {})
    assert not targets.given
