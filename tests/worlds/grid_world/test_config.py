"""What GridWorld's config refuses, at the edge of what it takes, and what tasks follow from it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from piase_gym.errors import ConfigError
from piase_gym.worlds.grid_world.config import (
    MAX_GOALS,
    MAX_MOVERS,
    MAX_PATCHES,
    GridWorldConfig,
)


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ({"window": 5}, {"window": 6}, "window must be odd, from 3 to 15, not 6"),
        ({"layout": "empty"}, {"layout": "custom"}, "give both or only the map"),
        ({"map": "..\n.G"}, {"map": "..\n.G", "layout": "empty"}, "give both or only the map"),
        ({"width": 3, "map": "...\n..G"}, {"width": 2, "map": "...\n..G"}, "but the map has 3"),
        (
            {"walls": [(7, 4)], "height": 5},
            {"walls": [(8, 4)], "height": 5},
            "walls: (8, 4) lies outside of the grid of 8 by 5; x is 0..7, y is 0..4",
        ),
        ({"goal_pos": (4, 7)}, {"goal_pos": (4, 8)}, "goal_pos: (4, 8) lies outside"),
        ({"start_pos": (0, 0)}, {"start_pos": (0, 9)}, "start_pos: (0, 9) lies outside"),
        (
            {"goal_pos": [(k % 8, k // 8) for k in range(MAX_GOALS)]},
            {"goal_pos": [(k % 8, k // 8) for k in range(MAX_GOALS + 1)]},
            f"{MAX_GOALS + 1} goals; at most {MAX_GOALS}",
        ),
        (
            {"observe": "grid"},
            {"observe": "grid", "see_through_walls": False},
            "see_through_walls=False needs observe='window'",
        ),
        (
            {"agents": 2, "start_pos": [(0, 0), (1, 0)]},
            {"agents": 2, "start_pos": [(0, 0), (1, 0), (2, 0)]},
            "start_pos has 3 entries for 2 agents",
        ),
        (
            {"agents": 2, "start_pos": [(0, 0), (0, 0)], "collisions": "pass"},
            {"agents": 2, "start_pos": [(0, 0), (0, 0)]},
            "two agents on one cell",
        ),
        ({"agents": 2, "levels": [1, 2]}, {"levels": [1, 2]}, "levels has 2 entries for 1 agents"),
        ({"agents": 2, "join_at": [0, 4]}, {"join_at": [0, 4]}, "join_at has 2 entries"),
        ({"agents": 2, "join_at": [0, 4]}, {"agents": 2, "join_at": [1, 4]}, "leaves nobody"),
        (
            {"layout": "tag", "agents": 3, "taggers": 2},
            {"layout": "tag", "agents": 2, "taggers": 2},
            "layout 'tag' needs agents to chase: 2 agents, 2 taggers",
        ),
        ({"taggers": 4}, {"taggers": 0}, "taggers"),
        (
            {"map": "d..\n..G", "movers": MAX_MOVERS - 1},
            {"map": "d..\n..G", "movers": MAX_MOVERS},
            f"map and movers make {MAX_MOVERS + 1}; at most {MAX_MOVERS}",
        ),
        (
            {"map": "*.,\n..G", "fruits": MAX_PATCHES - 2},
            {"map": "*.,\n..G", "fruits": MAX_PATCHES - 1},
            f"map and fruits make {MAX_PATCHES + 1}; at most {MAX_PATCHES}",
        ),
        (
            {"food_level": 2, "min_food_level": 2},
            {"food_level": 2, "min_food_level": 3},
            "min_food_level=3 is above food_level=2",
        ),
        ({"layout": "foraging"}, {"layout": "foraging", "goal_pos": (0, 0)}, "leave out goal_pos"),
        (
            {"difficulty": (0.4, 0.4)},
            {"difficulty": (0.5, 0.4)},
            "a range goes from low to high, not from 0.5 to 0.4",
        ),
        (
            {"map": "@d\n.G", "goal_pos": [(0, 1), (1, 1)]},
            {"map": "@d\n.G", "goal_pos": (1, 0)},
            "goal_pos: (1, 0) of the map is drone, not free floor",
        ),
        (
            {"map": "@1\n.#", "walls": [(0, 1), (1, 1)]},
            {"map": "@1\n.#", "walls": [(1, 0)]},
            "walls: (1, 0) of the map is food for one, not free floor",
        ),
        (
            {"map": "...\n.@1\n.#.\n..."},
            {"map": "...\n.@1\n.#.\n...", "border": True},
            "border: (2, 1) of the map is food for one, not free floor",
        ),
        ({"grid_size": (3, 4)}, {"grid_size": 3}, "grid_size must be (width, height), not 3"),
        ({"grid_size": [3, 4]}, {"grid_size": [3, 4, 5]}, "grid_size must be (width, height)"),
    ],
)
def test_what_is_just_too_much_is_refused_in_words(
    good: dict[str, Any], bad: dict[str, Any], told: str
) -> None:
    GridWorldConfig(**good)
    with pytest.raises(ConfigError, match=re.escape(told)):
        GridWorldConfig(**bad)


@pytest.mark.parametrize("border", [False, True])
def test_layouts_say_how_large_a_grid_they_need(border: bool) -> None:
    with pytest.raises(ConfigError, match="needs at least") as caught:
        GridWorldConfig(layout="multi_room", width=2, height=2, border=border)
    told = str(caught.value)
    width, height = map(int, re.findall(r"at least (\d+) by (\d+)", told)[0])
    assert ("with a border" in told) == border
    fits: dict[str, Any] = {
        "layout": "multi_room",
        "width": width,
        "height": height,
        "border": border,
    }
    GridWorldConfig(**fits)
    for side in ("width", "height"):
        with pytest.raises(ConfigError, match="needs at least"):
            GridWorldConfig(**{**fits, side: fits[side] - 1})


def test_a_map_brings_its_size_and_its_places() -> None:
    config = GridWorldConfig(map="@.G\n.kG", agents=1)
    assert (config.layout, config.width, config.height) == ("custom", 3, 2)
    assert config.starts == ((0, 0),)
    assert config.goals == ((2, 0), (2, 1))
    assert config.has_keys
    both = GridWorldConfig(map="@.G\n..G", goal_pos=[(1, 1), (2, 0)], start_pos=(1, 0))
    assert both.starts == ((1, 0),)
    assert both.goals == ((1, 1), (2, 0), (2, 1))
    assert not both.has_keys


def test_words_of_the_reference_project_are_taken() -> None:
    fields: dict[str, Any] = {"grid_size": (5, 3), "obstacles": [(4, 2)]}
    config = GridWorldConfig(**fields)
    assert (config.width, config.height, config.walls) == (5, 3, ((4, 2),))


TASKS = ("clearing", "surviving", "any_goals", "num_taggers", "num_food")


@pytest.mark.parametrize(
    ("fields", "task"),
    [
        ({}, {"any_goals": 1}),
        ({"random_goals": 3}, {"any_goals": 3}),
        ({"random_goals": 0}, {"surviving": True}),
        ({"goal_pos": (1, 1)}, {}),
        ({"food": 2}, {"clearing": True, "num_food": 2}),
        ({"food": 2, "goal_pos": (1, 1)}, {"num_food": 2}),
        ({"layout": "foraging"}, {"clearing": True, "num_food": 3}),
        ({"layout": "foraging", "food": 1}, {"clearing": True, "num_food": 1}),
        ({"layout": "tag", "agents": 3, "taggers": 2}, {"num_taggers": 2}),
        ({"agents": 3, "taggers": 2}, {"any_goals": 1}),
        ({"map": "..\n.G"}, {}),
    ],
)
def test_one_task_follows_from_what_is_there(fields: dict[str, Any], task: dict[str, Any]) -> None:
    config = GridWorldConfig(**fields)
    assert {name: getattr(config, name) for name in TASKS if getattr(config, name)} == task


@pytest.mark.parametrize(
    ("fields", "has"),
    [
        ({"layout": "multi_room", "doors": "locked"}, True),
        ({"layout": "multi_room", "doors": "mixed"}, True),
        ({"layout": "multi_room", "doors": "closed"}, False),
        ({"layout": "door_key"}, True),
        ({"doors": "locked"}, False),
    ],
)
def test_keys_lie_where_doors_are_locked(fields: dict[str, Any], has: bool) -> None:
    assert GridWorldConfig(width=12, height=12, **fields).has_keys == has


@pytest.mark.parametrize(
    ("fields", "plain"),
    [
        ({}, True),
        ({"layout": "multi_room", "width": 12, "height": 12}, False),
        ({"boxes": 1}, False),
        ({"hazards": 1}, False),
        ({"fruits": 1}, False),
        ({"movers": 1}, False),
        ({"food": 1}, False),
        ({"energy": 9}, False),
        ({"random_goals": 0}, False),
        ({"collisions": "pass"}, False),
        ({"see_through_walls": False}, False),
        ({"shared_reward": True}, False),
        ({"agents": 2, "join_at": (0, 3)}, False),
        ({"observe": "grid"}, False),
        ({"frame": "agent"}, False),
        ({"recall": "map"}, False),
    ],
)
def test_rules_are_plain_without_extras(fields: dict[str, Any], plain: bool) -> None:
    assert GridWorldConfig(**fields).plain_rules == plain


@pytest.mark.parametrize(
    ("fields", "check"),
    [
        ({}, False),
        ({"goal_pos": (1, 1)}, False),
        ({"walls": [(1, 1)]}, True),
        ({"boxes": 1}, True),
        ({"hazards": 1}, True),
        ({"movers": 1}, True),
        ({"food": 1}, True),
        ({"fruits": 1}, False),
        ({"layout": "obstacles"}, True),
        ({"layout": "door_key"}, False),
        ({"layout": "door_key", "goal_pos": (6, 6)}, True),
        ({"layout": "door_key", "start_pos": (1, 1)}, True),
    ],
)
def test_levels_are_checked_where_something_may_be_in_the_way(
    fields: dict[str, Any], check: bool
) -> None:
    assert GridWorldConfig(**fields).must_check == check


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 0),
        ({"energy": 5}, 1),
        ({"levels": (2,)}, 1),
        ({"food": 1}, 1),
        ({"layout": "tag", "agents": 2}, 1),
    ],
)
def test_vectors_tell_a_status_where_there_is_one(fields: dict[str, Any], status: int) -> None:
    sizes = GridWorldConfig(**fields).sizes()
    assert (sizes.status, sizes.recall, sizes.wide) == (status, 0, bool(status))


def test_vectors_have_room_for_what_is_remembered() -> None:
    sizes = GridWorldConfig(recall="map", width=5, height=6, window=9).sizes()
    assert (sizes.recall, sizes.width, sizes.height, sizes.window) == (1, 5, 6, 9)
    assert sizes.wide


def test_a_layout_has_rewards_of_its_own_unless_others_are_given() -> None:
    plain, tag = GridWorldConfig().rewards, GridWorldConfig(layout="foraging").rewards
    assert plain != tag
    given = GridWorldConfig(layout="foraging", rewards={"food": 99.0}).rewards
    assert given == tag.model_copy(update={"food": 99.0})


@pytest.mark.parametrize(("given", "range_"), [(None, None), (0.5, (0.5, 0.5)), ((0, 1), (0, 1))])
def test_a_difficulty_is_a_range(given: Any, range_: Any) -> None:
    assert GridWorldConfig(difficulty=given).difficulties == range_
