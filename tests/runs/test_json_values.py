"""Whatever a line of a log may hold, as JSON."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from datetime import UTC, date, datetime
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from piase_gym.runs.json_values import MAX_DEPTH, MAX_STRING, dumps, encode, plain


class Colour(enum.Enum):
    RED = 3


class Word(enum.StrEnum):
    RED = "red"

    def __str__(self) -> str:
        return "no value"


class Plan(BaseModel):
    name: str
    parts: tuple[int, ...]


@dataclasses.dataclass
class Place:
    x: int
    where: PurePosixPath


class Odd:
    def __repr__(self) -> str:
        return "an odd thing"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), "2020-01-02T03:04:05+00:00"),
        (date(2020, 1, 2), "2020-01-02"),
        (PurePosixPath("a/b"), "a/b"),
        (Colour.RED, 3),
        (Word.RED, "red"),
        (Plan(name="a", parts=(1, 2)), {"name": "a", "parts": [1, 2]}),
        (Place(1, PurePosixPath("c")), {"x": 1, "where": "c"}),
        (Place, "<class 'tests.runs.test_json_values.Place'>"),
        ({3, 1, 2}, [1, 2, 3]),
        ({Colour.RED: 1, 2: None}, {"3": 1, "2": None}),
        (Odd(), "an odd thing"),
        (b"\x00\xff", {"base64": "AP8="}),
        (math.nan, None),
        (-math.inf, None),
        (1.5, 1.5),
        (True, True),
        (-(1 << 63), -(1 << 63)),
        ((1 << 64) - 1, (1 << 64) - 1),
        (1 << 64, str(1 << 64)),
        (-(1 << 63) - 1, str(-(1 << 63) - 1)),
        (np.float32(0.5), 0.5),
        (np.array(7), 7),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array([np.inf, 1.0]), [None, 1.0]),
        ("a\ud800b", "a?b"),
    ],
    ids=repr,
)
def test_every_kind_of_value_has_its_json(value: Any, told: Any) -> None:
    assert plain(value) == told
    assert plain([value]) == [told]
    if not isinstance(value, datetime):  # whose zone orjson writes in its own way
        assert json.loads(dumps({"value": value})) == {"value": told}


def test_what_lies_too_deep_is_told_by_its_type() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH + 5):
        value = [value]
    told = plain(value)
    for _ in range(MAX_DEPTH):
        (told,) = told
    assert told == "… list"


def test_huge_strings_are_cut_and_say_so() -> None:
    whole, cut = "x" * MAX_STRING, plain("x" * (MAX_STRING + 1))
    assert plain(whole) == whole
    assert cut.endswith("… [65 characters cut]")
    assert len(cut) <= MAX_STRING
    assert json.loads(encode([whole + "y"])) == [cut]


def test_one_value_is_one_line() -> None:
    text = "a\u2028b\u0085c\nd"
    assert encode(text).splitlines() == [encode(text)]
    assert json.loads(encode(text)) == text
