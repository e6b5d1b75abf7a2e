"""Values become plain, and digests are those of published hashes."""

from __future__ import annotations

import dataclasses
import json
from collections import namedtuple
from enum import Enum
from typing import Any

import numpy as np
import pytest

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.digest import canonical_json, digest_bytes, digest_json
from piase_gym.core.jsonable import jsonable, python_value
from tests import probes

probes.register()


class Mood(Enum):
    """A word."""

    CALM = "calm"


class Loud(str):
    """A string of another type."""


@dataclasses.dataclass
class Cell:
    """A record."""

    place: tuple[int, int]
    mood: Mood = Mood.CALM


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (Loud("a"), "a"),
        (Mood.CALM, "calm"),
        (np.int8(3), 3),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        ({1: (2, {"b", "a"})}, {"1": [2, ["a", "b"]]}),
        (Pair(1, Cell((0, 1))), {"left": 1, "right": {"place": [0, 1], "mood": "calm"}}),
        (frozenset({3, 1}), [1, 3]),
        (Cell, str(Cell)),
        (1j, "1j"),
    ],
)
def test_anything_is_jsonable(value: Any, plain: Any) -> None:
    found = jsonable(value)
    assert found == plain
    assert type(found) is type(plain)
    json.dumps(found)


def test_numbers_of_numpy_are_python_numbers() -> None:
    assert python_value(np.array([1.5, 2.0])) == [1.5, 2.0]
    assert type(python_value(np.longdouble(0.5))) is float
    assert python_value(np.clongdouble(1 + 2j)) == 1 + 2j
    assert type(python_value(np.clongdouble(1))) is complex


def test_digests_are_those_of_xxh3() -> None:
    """The digest of nothing is published with XXH3; keys are sorted before they are hashed."""
    assert digest_bytes(b"") == "2d06800538d394c2"
    assert canonical_json({"b": np.int64(1), "a": 0.1}) == b'{"a":0.1,"b":1}'
    assert digest_json({"b": 1, "a": 2}) == digest_bytes(b'{"a":2,"b":1}')
    large = {"b": 2**80, "a": Mood.CALM}
    assert digest_json(large) == digest_bytes(f'{{"a": "calm", "b": {2**80}}}'.encode())
    assert digest_json({"n": 2**80}) == digest_bytes(f'{{"n": {2**80}}}'.encode())


def test_sums_are_added_one_after_the_other() -> None:
    assert sum_in_order([]) == 0.0
    assert sum_in_order([0.1] * 10) == 0.9999999999999999
    assert sum_in_order([1e16, 1.0, -1e16]) == 0.0
