"""The worlds and ids that ship with the package: rows for the table of `piase_gym.registry`.

Ids are listed in tables of their worlds. Tables in modules of plain data are imported; GridWorld's
level modules also contain kernels, so their tables are read without importing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from piase_gym.registry import (
    NAMESPACE,
    TaskSpec,
    WorldSpec,
    literals,
    register_task,
    register_world,
)
from piase_gym.worlds.household.levels import ids as home_ids
from piase_gym.worlds.object_search.levels import ids as search_ids
from piase_gym.worlds.physics_playground.levels import tasks
from piase_gym.worlds.social_dilemma import games
from piase_gym.worlds.sql_query.levels import ids as query_ids
from piase_gym.worlds.text_room.levels import ids as room_ids
from piase_gym.worlds.word_craft.levels import ids as craft_ids


def _world(folder: str, parser: str, **row: Any) -> WorldSpec:
    """Return the row of a world that has its parts where all worlds here have them.

    ScreenSearch has no players, as only the window knows what is in it.
    """
    place, name = f"piase_gym.worlds.{folder}", row["name"]
    return WorldSpec(
        world=f"{place}.world:{name}",
        config=f"{place}.config:{name}Config",
        parser=f"{place}.{parser}:parse",
        oracle=f"{place}.players.oracle:{name}Oracle",
        scripted=f"{place}.players.scripted:{name}Script",
        **row,
    )


WORLDS = (
    _world(
        "grid_world",
        "facts",
        name="GridWorld",
        summary="Navigate, unlock and share a grid, seen through a window or whole.",
    ),
    _world(
        "text_room",
        "observe.text",
        name="TextRoom",
        summary="A text adventure: rooms, locks, hidden things, written stories and quests.",
        aliases=("TextBasedRoom", "TextBasedRoom_v1"),
    ),
    _world(
        "household",
        "observe.text",
        name="Household",
        summary="ALFWorld's text games: find, clean, heat and put away what is in a home.",
        aliases=("ALFWorld",),
    ),
    _world(
        "sql_query",
        "observe.text",
        name="SqlQuery",
        summary="InterCode's SQL tasks: answer questions about databases by running queries.",
        aliases=("InterCodeSQL",),
    ),
    _world(
        "physics_playground",
        "observe.text",
        name="PhysicsPlayground",
        summary="Rovers and spheres push, grip, stack and carry things that have mass.",
        extra="physics",
        module="pybullet",
    ),
    _world(
        "social_dilemma",
        "parsing",
        name="SocialDilemma",
        summary="Games in which what is best for each is not what is best for all.",
        aliases=("SocialDilemmaSim",),
    ),
    WorldSpec(
        name="ScreenSearch",
        summary="A window of any program, seen as a picture and driven with keys.",
        world="piase_gym.worlds.screen_search.world:ScreenSearch",
        config="piase_gym.worlds.screen_search.config:ScreenSearchConfig",
        parser="piase_gym.worlds.screen_search.facts:parse",
        extra="screen",
        module="mss",
        outside="ScreenSearch needs a window of yours, by window=… or region=…",
    ),
    _world(
        "object_search",
        "observe.text",
        name="ObjectSearch",
        summary="Explorers look for things in a place they do not know, and report what they see.",
    ),
    _world(
        "word_craft",
        "observe.text",
        name="WordCraft",
        summary="Combine things to make others, until the goal is made: common sense as a game.",
        aliases=("WordCraftEnv",),
    ),
)


VERSIONS = {
    "TextRoom": 3,
    "Household": 4,
    "ObjectSearch": 3,
    "SqlQuery": 3,
    "PhysicsPlayground": 2,
    "ScreenSearch": 1,
    "SocialDilemma": 1,
    "WordCraft": 2,
}
"""The versions of ids, by world. Those of GridWorld differ by id and are in its tables."""


def register_shipped() -> None:
    """Fill the table with what ships (calling it again changes nothing)."""
    for row in WORLDS:
        register_world(row)
    for name, fields in _ids():
        world = name.split("-")[0]
        version = f"-v{VERSIONS[world]}" if world in VERSIONS else ""
        register_task(TaskSpec(id=f"{NAMESPACE}/{name}{version}", world=world, **fields))


def _ids() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each id without its namespace and version, and the fields of its row."""
    yield "GridWorld-v1", {}
    for path in sorted(Path(__file__).with_name("worlds").glob("grid_world/levels/*.py")):
        for name, fields in literals(path).get("TASKS", {}).items():
            yield f"GridWorld-{name}", {"config": _square(fields)}
    yield "TextRoom", {}
    for name, scenario in room_ids.STORIES.items():
        yield f"TextRoom-{name}", {"scenario": scenario}
    for name, fields in room_ids.QUESTS.items():
        yield f"TextRoom-Quest-{name}", {"config": fields}
    for name, fields in room_ids.RECALLS.items():
        yield f"TextRoom-Recall-{name}", {"config": fields}
    yield "Household", {}
    for name, fields in home_ids.TASKS.items():
        yield f"Household-{name}", {"config": fields}
    yield "ObjectSearch", {"config": {"agents": 2}}
    for name, fields in search_ids.TASKS.items():
        pictures = {"extra": "physics", "module": "pybullet"}
        yield (
            f"ObjectSearch-{name}",
            {"config": fields, **(pictures if fields.get("backend") == "camera" else {})},
        )
    yield "SqlQuery", {}
    for name, fields in query_ids.TASKS.items():
        yield f"SqlQuery-{name}", {"config": fields}
    yield "PhysicsPlayground", {}
    for name, fields in tasks.IDS.items():
        yield f"PhysicsPlayground-{name}", {"config": fields}
    yield "ScreenSearch", {}
    yield "SocialDilemma", {"partners": {"*": "tit_for_tat"}}
    for name, (fields, partner) in games.IDS.items():
        yield f"SocialDilemma-{name}", {"config": fields, "partners": {"*": partner}}
    yield "WordCraft", {}
    for name, fields in craft_ids.TASKS.items():
        yield f"WordCraft-{name}", {"config": fields}


def _square(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a config in which ``square`` is spelled out: a grid with a border, and its steps."""
    side = fields.pop("square", None)
    sizes = {"width": side, "height": side, "border": True}
    return {**sizes, "max_steps": 4 * side * side, **fields} if side else fields
