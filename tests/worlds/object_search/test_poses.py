"""Poses in words: what they say, and which of them there cannot be."""

from __future__ import annotations

import pytest

from piase_gym.errors import TextParseError
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.form import form_of
from piase_gym.worlds.object_search.observe.reports import read_pose

FORM = form_of(ObjectSearchConfig(agents=2))  # type: ignore[call-arg]
NOUNS = "dark, outside, a wall, low furniture, tall furniture"


def test_a_pose_is_read_with_what_is_usual_for_what_is_not_said() -> None:
    pose, below = read_pose(("15", "2", "1", None, "east", None, None), "line", FORM)
    assert (pose, below) == (((15, 2, 1), "right", "level", "upright"), "floor")
    pose, below = read_pose(("0", "15", None, "low furniture", "west", "up", "left"), "line", FORM)
    assert (pose, below) == (((0, 15, 0), "left", "up", "left"), "low")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("16", "2", "0", None, "north"), "no such column"),
        (("2", "16", "0", None, "north"), "no such column"),
        (("2", "2", "3", None, "north"), "levels are 0 to 2"),
        (("2", "2", "0", "a tree", "north"), f"below there is {NOUNS}"),
        (("2", "2", "0", "floor", "north"), f"below there is {NOUNS}"),
        (("2", "2", "0", None, "up"), "headings are north, east, south, west"),
    ],
)
def test_there_is_no_such_pose(words: tuple[str | None, ...], told: str) -> None:
    with pytest.raises(TextParseError) as caught:
        read_pose((*words, None, None), "the line", FORM)
    assert str(caught.value) == f"ObjectSearch: cannot read 'the line'; {told}"
