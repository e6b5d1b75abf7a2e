"""The bound of the characters that a written story can show at once."""

from __future__ import annotations

from typing import Any

from piase_gym.worlds.text_room.config import longest_words
from piase_gym.worlds.text_room.levels.story import Story
from tests.worlds.text_room.helpers import story


def longest(**parts: Any) -> int:
    return longest_words(Story.model_validate(story(**parts)))


def agent(goal: str) -> dict[str, Any]:
    return {"agent_id": "ann", "start_room": "hall", "goal": goal}


def changing(text: str) -> list[dict[str, Any]]:
    return [
        {
            "trigger": {"type": "action_taken", "action_type": "search"},
            "response": {"type": "change_state", "object": "box", "description": text},
        }
    ]


def test_a_goal_counts_each_character_and_one_that_may_be_escaped_as_ten() -> None:
    assert longest(agent_setup=[agent("~ find")]) - longest() == 6
    assert longest(agent_setup=[agent("é")]) - longest() == 10
    assert longest(agent_setup=[agent("\x7f")]) - longest() == 10


def test_each_win_condition_may_take_900_characters() -> None:
    den = {"type": "agent_in_room", "room": "den"}
    gem = {"type": "item_in_inventory", "item_name": "gem"}
    assert longest(win_conditions=[gem, den]) - longest(win_conditions=[gem]) == 900


def test_the_longest_room_may_be_the_one_that_is_seen() -> None:
    rooms = story()["rooms"]
    longer = {**rooms, "den": {**rooms["den"], "description": "x" * 28}}
    assert longest(rooms=longer) - longest() == (3 + 28) - (4 + 7)  # instead of the hall


def test_a_description_that_comes_later_may_be_that_of_each_object_and_of_the_room() -> None:
    added = longest(events=changing("12345678")) - longest(events=changing("123"))
    assert added == 5 * (2 + 1)
