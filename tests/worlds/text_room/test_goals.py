"""The words in which agents of a written story are told what to achieve."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.worlds.text_room.levels.story import Story
from piase_gym.worlds.text_room.manual import goal_of
from piase_gym.worlds.text_room.state import compile_story
from tests.worlds.text_room.helpers import story

GEM = {"type": "item_in_inventory", "item_name": "gem"}
DEN = {"type": "agent_in_room", "room": "den"}
CARRIED = {"type": "item_in_room", "item_name": "gem", "room": "den"}
OPEN = {"type": "object_state", "object": "box", "is_open": True, "locked": False}
ANN = {"agent_id": "ann", "start_room": "hall"}
BEN = {"agent_id": "ben", "start_room": "hall"}


def goal(agent: int, **parts: Any) -> str:
    return goal_of(compile_story(Story.model_validate(story(**parts))), agent)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        (GEM, "get the gem."),
        (DEN, "go to the den."),
        (CARRIED, "bring the gem to the den."),
        (OPEN, "see that the box is open and not locked."),
    ],
)
def test_an_only_agent_is_told_to_do_what_wins(condition: dict[str, Any], told: str) -> None:
    assert goal(0, win_conditions=[condition]) == told


def test_several_ways_to_win_are_joined_by_what_the_story_asks_for() -> None:
    both = [GEM, DEN]
    assert goal(0, win_conditions=both) == "get the gem or go to the den."
    assert goal(0, win_conditions=both, win_logic="all") == "get the gem and go to the den."


def test_of_two_agents_only_the_one_that_is_named_is_told_to_do_it_itself() -> None:
    parts = {"agent_setup": [ANN, BEN], "win_conditions": [{**GEM, "agent_id": "ann"}]}
    assert goal(0, **parts) == "get the gem."
    assert goal(1, **parts) == "see that ann has the gem."


def test_of_two_agents_both_are_told_that_somebody_is_to_do_what_names_nobody() -> None:
    for agent in (0, 1):
        told = goal(agent, agent_setup=[ANN, BEN], win_conditions=[DEN])
        assert told == "see that somebody is in the den."


def test_a_goal_that_the_story_gives_is_told_as_it_is_with_one_full_stop() -> None:
    for own in ("Find it", "Find it."):
        assert goal(0, agent_setup=[{**ANN, "goal": own}]) == "Find it."
