"""States that are not ones of a story are refused."""

from __future__ import annotations

import pytest

from piase_gym.worlds.text_room.levels.story import Story
from piase_gym.worlds.text_room.state import check_sizes, compile_story, new_state
from tests.worlds.text_room.helpers import story

PLOT = compile_story(Story.model_validate(story()))  # rooms 0 and 1; objects gem 0 and box 1


@pytest.mark.parametrize("part", ["hidden", "found", "is_open", "locked"])
def test_what_is_true_or_not_of_objects_is_0_or_1(part: str) -> None:
    for value in (0, 1):
        state = new_state(PLOT, slots=1, agents=1, seed=0)
        setattr(state, part, [0, value])
        check_sizes(PLOT, state, 1)
    for value in (-1, 2):
        state = new_state(PLOT, slots=1, agents=1, seed=0)
        setattr(state, part, [0, value])
        with pytest.raises(ValueError, match="out of range"):
            check_sizes(PLOT, state, 1)


def test_places_are_doors_nowhere_rooms_objects_or_agents() -> None:
    for place in (-3, -2, 4, 5):  # two rooms, two objects and one agent: 4 is the last
        state = new_state(PLOT, slots=1, agents=1, seed=0)
        state.place[1] = place
        if place in (-2, 4):
            check_sizes(PLOT, state, 1)
        else:
            with pytest.raises(ValueError, match="unknown places"):
                check_sizes(PLOT, state, 1)


@pytest.mark.parametrize(
    ("room", "step", "known"),
    [(0, 0, True), (1, 3, True), (2, 0, False), (-1, 0, False), (0, 4, False), (0, -1, False)],
)
def test_rooms_that_were_seen_are_of_the_story_and_of_the_past(
    room: int, step: int, known: bool
) -> None:
    state = new_state(PLOT, slots=1, agents=1, seed=0)
    state.t, state.seen_rooms = 3, [[[room, step]]]
    if known:
        check_sizes(PLOT, state, 1)
    else:
        with pytest.raises(ValueError, match="remember"):
            check_sizes(PLOT, state, 1)
