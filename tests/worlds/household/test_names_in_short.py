"""Names of Household in short: numbers of one kind stand together, as runs."""

from __future__ import annotations

import pytest

from piase_gym.errors import TextParseError
from piase_gym.worlds.household.observe.text import _at_length, _in_short
from piase_gym.worlds.texts.lines import LineReader


def at_length(short: str) -> list[str]:
    """Return names that are written in short in a line that has just been read."""
    lines = LineReader("Household", "the line")
    lines.place = 1
    return _at_length(short, lines)


@pytest.mark.parametrize(
    ("short", "names"),
    [
        ("shelf", ["shelf 1"]),
        ("shelf 2", ["shelf 2"]),
        ("shelf 1,3-5, bed", ["shelf 1", "shelf 3", "shelf 4", "shelf 5", "bed 1"]),
        ("shelf 7-7", ["shelf 7"]),
        ("shelf 1-1000", [f"shelf {k}" for k in range(1, 1001)]),
        ("'a strange name', bed", ["a strange name", "bed 1"]),
    ],
)
def test_short_names_are_read_at_length(short: str, names: list[str]) -> None:
    assert at_length(short) == names


@pytest.mark.parametrize(
    "names", [("shelf 1", "shelf 3", "shelf 4", "shelf 5", "bed 1"), ("bed 2",)]
)
def test_what_is_written_in_short_is_read_again(names: tuple[str, ...]) -> None:
    assert tuple(at_length(_in_short(names))) == names


@pytest.mark.parametrize(
    ("short", "why"),
    [
        ("shelf 5-3", "so many are not in a room"),
        ("shelf 1-1001", "so many are not in a room"),
        ("shelf x", "names are 'shelf 1,3-5, bed'"),
        ("shelf 1-3,2", "a name stands there twice"),
    ],
)
def test_other_names_are_refused(short: str, why: str) -> None:
    with pytest.raises(TextParseError, match=why):
        at_length(short)
