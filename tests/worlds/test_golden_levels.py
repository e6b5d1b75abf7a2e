"""Golden levels: a seed is the same home, question, task or map under a config for ever.

When one of these fails, levels are made otherwise: raise the version of the ids that have them, and
write the file anew with ``python -m tests.worlds.test_golden_levels``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

import piase_gym
from piase_gym.agents import Percept, make_agent
from piase_gym.core.digest import digest_json
from piase_gym.core.jsonable import jsonable
from piase_gym.errors import GenerationError
from piase_gym.worlds.household.levels.words import RoomName, TaskName
from piase_gym.worlds.sql_query.levels.domains import DomainName
from piase_gym.worlds.sql_query.levels.questions import KindName

FILE = Path(__file__).with_name("golden_levels.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
LEVELS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"{task} in a {room}": ("Household", {"tasks": (task,), "rooms": (room,), **sizes})
        for task in get_args(TaskName)
        for room, sizes in zip(
            get_args(RoomName),
            (
                {"receptacles": 40, "objects": 40},
                {"receptacles": 20, "objects": 30},
                {"receptacles": 12, "objects": 16},
                {"receptacles": 30, "objects": 20},
            ),
            strict=True,
        )
    },
    **{
        f"homes of {split}": ("Household", {"split": split, "receptacles": 8, "objects": 8})
        for split in ("train", "valid_train", "valid_seen", "valid_unseen")
    },
    **{f"homes as hard as {k}": ("Household", {"difficulty": k}) for k in (1, 2, 3, 4, 5)},
    **{
        f"questions about a {domain}": ("SqlQuery", {"domains": (domain,), "writes": 0.2})
        for domain in get_args(DomainName)
    },
    **{
        f"questions that {kind}": ("SqlQuery", {"kinds": (kind,), "writes": 0.5})
        for kind in get_args(KindName)
    },
    **{f"questions as hard as {k}": ("SqlQuery", {"difficulty": k}) for k in (1, 2, 3, 4, 5)},
    "orders to write": ("SqlQuery", {"writes": 1.0, "rows": 60}),
    "small tables": ("SqlQuery", {"tables": 2, "columns": 4, "rows": 8}),
    "one table": ("SqlQuery", {"tables": 1, "columns": 5, "hardness": ("easy", "medium")}),
    **{
        f"crafts {split} to {tasks}": (
            "WordCraft",
            {"split": split, "tasks": tasks, "train_ratio": 0.7, "depth": depth, "distractors": 3},
        )
        for split, depth in (
            ("by_goal", 2), ("by_goal_train_terminals", 2), ("by_recipe", 2),
            ("by_recipe_train_all_goals", 2), ("by_task", 4),
        )
        for tasks in ("train", "test")
    },
    "crafts of a made book": ("WordCraft", {"entities": 40, "depth": 3, "distractors": 4}),
    "crafts of any depth": (
        "WordCraft",
        {"depth": 5, "least_depth": 2, "uniform_distractors": True, "distractors": 8},
    ),
    "flags in another order": (
        "WordCraft",
        {"features": "random", "feature_size": 5, "shuffle_features": True},
    ),
    "houses": ("ObjectSearch", {"width": 20, "height": 14, "room": 5, "furniture": 0.3}),
    "narrow houses": ("ObjectSearch", {"width": 9, "height": 30, "room": 3, "objects": 16}),
    "houses to start apart in": (
        "ObjectSearch",
        {"agents": 4, "start": "apart", "width": 8, "height": 8, "objects": 3, "furniture": 0.5},
    ),
    "lines": ("ObjectSearch", {"backend": "mock", "width": 30, "objects": 9}),
    "obstacles": ("GridWorld", {"layout": "obstacles", "width": 12, "obstacle_density": 0.4}),
    "four rooms": ("GridWorld", {"layout": "four_rooms", "width": 13, "height": 11, "agents": 3}),
    "doors and keys": ("GridWorld", {"layout": "door_key", "width": 9, "height": 7}),
    **{
        f"many rooms with {doors} doors": (
            "GridWorld",
            {
                "layout": "multi_room", "doors": doors, "rooms": 6, "width": 20, "height": 16,
                "hazards": 3, "fruits": 3, "movers": 2, "boxes": 2, "random_goals": 2,
            },
        )
        for doors in ("open", "closed", "locked", "gates", "mixed")
    },
    "mazes": ("GridWorld", {"layout": "maze", "width": 15, "height": 11}),
    "hard grids": ("GridWorld", {"layout": "multi_room", "difficulty": 0.8, "width": 16}),
    "food": (
        "GridWorld",
        {"layout": "foraging", "agents": 4, "levels": (1, 2, 3, 4), "food": 6, "food_level": 4},
    ),
    "tag": ("GridWorld", {"layout": "tag", "agents": 5, "taggers": 2, "width": 14}),
    "strewn grids": (
        "GridWorld",
        {
            "agents": 4, "border": True, "boxes": 5, "hazards": 6, "fruits": 5, "movers": 4,
            "random_goals": 4, "start_pos": None,
        },
    ),
    "orchards": ("SocialDilemma", {"game": "harvest", "agents": 6, "patches": 7, "width": 24}),
    "rivers": (
        "SocialDilemma",
        {"game": "cleanup", "agents": 5, "river": 5, "orchard": 6, "start_waste": 0.3},
    ),
    **{
        f"quests in a {theme}": (
            "TextRoom",
            {"theme": theme, "rooms": 9, "depth": 4, "distractors": 6, "agents": 2},
        )
        for theme in ("house", "castle", "ship")
    },
}  # fmt: skip
SEEDS = 8
SOLVED = ("Household", "SqlQuery", "WordCraft")
"""Worlds whose oracles are asked for their first command, which tells of what cannot be seen."""


def levels(name: str) -> str:
    """Return a digest of what seeds begin with, or why there is no level."""
    world, config = LEVELS[name]
    found: list[Any] = []
    try:
        env = piase_gym.parallel_env(world, **config)
    except GenerationError as error:
        return str(error)
    for seed in range(SEEDS):
        try:
            observations, _ = env.reset(seed=seed)
        except GenerationError as error:
            found.append(str(error))
            continue
        texts = {agent: o["text"] for agent, o in observations.items()}
        found.append([env.digest(), texts, env.world.instructions(0)])
        if world in SOLVED:
            oracle = make_agent("oracle")
            oracle.perceive(Percept(env.world, 0, 0))
            found.append(jsonable(oracle.act()))
    env.close()
    return digest_json(found)


@pytest.mark.parametrize("name", LEVELS)
def test_a_seed_is_the_level_that_it_was(name: str) -> None:
    assert levels(name) == GOLDEN[name]


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: levels(name) for name in LEVELS}, indent=1) + "\n", "utf-8")
