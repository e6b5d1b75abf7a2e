"""How the kit compares values."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from piase_gym.testing import values
from piase_gym.testing.kit import (
    Fault,
)


class Colour(Enum):
    """A word."""

    RED = "red"


@dataclasses.dataclass
class Record:
    """A record."""

    place: tuple[int, ...]
    colour: Colour = Colour.RED


def test_values_are_plain_and_located() -> None:
    value = {1: Record((1, 2)), "b": {2, 1}, "c": np.float32(0.5), "d": object()}
    assert values.plain(value) == {
        "1": {"place": [1, 2], "colour": "red"},
        "b": [1, 2],
        "c": 0.5,
        "d": "<object>",
    }
    found = list(values.arrays_in({"a": [np.zeros(1), {"b": np.ones(2)}], "c": (3, np.zeros(0))}))
    assert [where for where, _ in found] == ["a[0]", "a[1], b", "c[1]"]
    assert values.difference({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == "a[0], b: 1 and 2"
    assert values.difference([float("nan")], [1.0]) == "[0]: nan and 1.0"
    assert values.difference({"a": 1}, [1]) == ": {'a': 1} and [1]"
    assert values.through_json({"a": (1,)}, "it") == {"a": [1]}
    with pytest.raises(Fault, match="it cannot be written as JSON: "):
        values.through_json(float("nan"), "it", allow_nan=False)
    with pytest.raises(Fault, match=r"^it is not in its space: 3 is not in Discrete"):
        values.require_inside(spaces.Discrete(3), 3, "it")
    with pytest.raises(Fault, match=r"^they differ: a: 1 and 2$"):
        values.require_same("they differ", {"a": 1}, {"a": 2})
    square = spaces.Box(0, 1, (2, 2), np.float32)
    outside = np.array([[0, 1], [2, 0]], np.float32)
    assert values.outside(square, outside) == "entry (1, 0) is 2.0; allowed: 0.0 to 1.0"
    assert values.outside(square, outside * 0) is None
    nested = spaces.Dict(a=square, b=spaces.Discrete(2))
    assert values.outside(nested, {"a": outside * 0, "b": 1}) is None
    assert values.outside(nested, {"a": outside * 0, "b": 2}) == "b: 2 is not in Discrete(2)"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1, True),
        (1, 1.0),
        ({"a": (1, 0)}, {"a": (1, False)}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ([1, 2], [1]),
        (Record((1, 2)), Record((1, 3))),
        ({"facts": Record((1,))}, {"facts": Record((True,))}),
        (np.zeros(3, np.int8), np.zeros(3, np.int16)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.arange(5000), np.where(np.arange(5000) == 2500, 0, np.arange(5000))),
        (np.array([1, None]), np.array([True, None])),
        ({"a": {1, 2}}, {"a": {1, 3}}),
    ],
)
def test_the_short_cut_for_what_looks_the_same_hides_no_difference(one: Any, two: Any) -> None:
    assert not values.alike(one, two)
    assert not values.alike({"part": (one,)}, {"part": (two,)})
    with pytest.raises(Fault):
        values.require_same("they differ", one, two)


def test_values_that_look_the_same_are_told_so() -> None:
    for make in (
        lambda: {"facts": Record((1, 2)), "text": "".join(["a", "b"]), "none": None},
        lambda: [np.arange(3), (1.5, "x"), {"a": [True]}],
    ):
        assert values.alike(make(), make())
    values.require_same("nothing differs", [1, float("nan"), {2}], (1, float("nan"), {2}))
