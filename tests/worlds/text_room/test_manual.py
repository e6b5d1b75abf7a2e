"""What agents of TextRoom are told of the rules: only of what they can meet."""

from __future__ import annotations

import pytest

from piase_gym.worlds.text_room.config import TextRoomConfig
from piase_gym.worlds.text_room.manual import Mechanics, _rules, mechanics

ALWAYS = [
    "Only what you see or carry can be named; to name anything else is illegal.",
    "You can carry any number of things.",
]
KEYS = (
    "What is locked does not open: carry its key, unlock it (without naming a key you try all that "
    "you carry), then open it."
)
NONE = Mechanics(*[False] * 8)
ALONE = TextRoomConfig.model_validate({})


@pytest.mark.parametrize(
    ("met", "told"),
    [
        ({}, []),
        ({"ways": True}, ["Go in a direction, or to a room next door that you know."]),
        ({"lids": True}, ["What is closed must be opened before you can see what is in it."]),
        ({"doors": True}, ["What is closed must be opened before you can go through it."]),
        (
            {"doors": True, "lids": True},
            [
                "What is closed must be opened before you can see what is in it or go through it.",
            ],
        ),
        ({"keys": True}, [KEYS]),
        ({"bolts": True}, ["What is locked has no key; something else unlocks it."]),
        (
            {"bolts": True, "keys": True},
            [KEYS, "Some of it has no key; something else unlocks it."],
        ),
        ({"searching": True}, ["What is marked 'not searched' may hide something: search it."]),
        ({"using": True}, ["Some things can be used, by themselves or on each other."]),
        ({"writing": True}, ["Some things can be read."]),
    ],
)
def test_the_rules_of_what_can_be_met_are_told(met: dict[str, bool], told: list[str]) -> None:
    rules = list(_rules(ALONE, None, NONE._replace(**met)))
    assert sorted(rules) == sorted([*ALWAYS, *told])


@pytest.mark.parametrize(
    ("config", "met"),
    [
        ({"rooms": 1, "depth": 0, "distractors": 0}, []),
        ({"rooms": 1, "depth": 0, "distractors": 1}, []),
        ({"rooms": 1, "depth": 0, "distractors": 2}, ["lids"]),
        ({"rooms": 2, "depth": 0, "distractors": 0}, ["ways"]),
        ({"rooms": 2, "depth": 1, "distractors": 0}, ["ways", "lids", "keys", "searching"]),
        (
            {"rooms": 2, "depth": 2, "distractors": 0},
            ["ways", "doors", "lids", "keys", "searching"],
        ),
        ({"rooms": 1, "depth": 2, "distractors": 0}, ["lids", "keys", "searching"]),
    ],
)
def test_what_can_be_met_follows_from_what_is_generated(
    config: dict[str, int], met: list[str]
) -> None:
    found = mechanics(TextRoomConfig.model_validate(config), None)
    assert [name for name, there in found._asdict().items() if there] == met
