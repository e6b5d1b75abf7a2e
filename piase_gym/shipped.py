"""The worlds and ids that ship with the package: rows for the table of `piase_gym.registry`.

Ids stand in tables of the worlds. Those that are plain data are imported; levels of GridWorld have
kernels too, so their tables are read without importing them.
"""

from __future__ import annotations

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
from piase_gym.worlds.physics_playground.levels import tasks
from piase_gym.worlds.social_dilemma import games
from piase_gym.worlds.text_room.levels import ids as room_ids


def register_shipped() -> None:
    """Fill the table with what ships (again changes nothing)."""
    _register_grid_world()
    _register_text_room()
    _register_household()
    _register_physics()
    _register_dilemma()


def _register_grid_world() -> None:
    """Fill in GridWorld and its ids."""
    grid = "piase_gym.worlds.grid_world"
    register_world(
        WorldSpec(
            name="GridWorld",
            summary="Navigate, unlock and share a grid, seen through a window or whole.",
            world=f"{grid}.world:GridWorld",
            config=f"{grid}.config:GridWorldConfig",
            parser=f"{grid}.facts:parse",
            oracle=f"{grid}.players.oracle:GridOracle",
            scripted=f"{grid}.players.scripted:GridScript",
        )
    )
    register_task(TaskSpec(id="piase/GridWorld-v0", world="GridWorld"))
    for path in sorted(
        Path(__file__).with_name("worlds").joinpath("grid_world/levels").glob("*.py")
    ):
        for name, fields in literals(path).get("TASKS", {}).items():
            task = f"{NAMESPACE}/GridWorld-{name}"
            register_task(TaskSpec(id=task, world="GridWorld", config=_square(fields)))


def _square(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a config in which ``square`` is spelled out: a grid with a border, and its steps."""
    side = fields.pop("square", None)
    size = (
        {"width": side, "height": side, "border": True, "max_steps": 4 * side * side}
        if side
        else {}
    )
    return {**size, **fields}


def _register_text_room() -> None:
    """Fill in TextRoom and its ids."""
    room = "piase_gym.worlds.text_room"
    register_world(
        WorldSpec(
            name="TextRoom",
            summary="A text adventure: rooms, locks, hidden things, written stories and quests.",
            world=f"{room}.world:TextRoom",
            config=f"{room}.config:TextRoomConfig",
            parser=f"{room}.observe.text:parse",
            oracle=f"{room}.players.oracle:TextRoomOracle",
            aliases=("TextBasedRoom", "TextBasedRoom_v1"),
        )
    )
    register_task(TaskSpec(id="piase/TextRoom-v1", world="TextRoom"))
    for name, scenario in room_ids.STORIES.items():
        task = f"piase/TextRoom-{name}-v1"
        register_task(TaskSpec(id=task, world="TextRoom", scenario=scenario))
    for name, fields in room_ids.QUESTS.items():
        task = f"piase/TextRoom-Quest-{name}-v1"
        register_task(TaskSpec(id=task, world="TextRoom", config=fields))


def _register_household() -> None:
    """Fill in Household and its ids."""
    home = "piase_gym.worlds.household"
    register_world(
        WorldSpec(
            name="Household",
            summary="ALFWorld's text games: find, clean, heat and put away what is in a home.",
            world=f"{home}.world:Household",
            config=f"{home}.config:HouseholdConfig",
            parser=f"{home}.observe.text:parse",
            oracle=f"{home}.players.oracle:HouseholdOracle",
            scripted=f"{home}.players.search:HouseholdSearch",
            aliases=("ALFWorld", "AlfWorld"),
        )
    )
    register_task(TaskSpec(id="piase/Household-v0", world="Household"))
    for name, fields in home_ids.TASKS.items():
        task = f"{NAMESPACE}/Household-{name}-v0"
        register_task(TaskSpec(id=task, world="Household", config=fields))


def _register_physics() -> None:
    """Fill in PhysicsPlayground and its tasks."""
    physics = "piase_gym.worlds.physics_playground"
    register_world(
        WorldSpec(
            name="PhysicsPlayground",
            summary="Rovers and spheres push, grip, stack and carry things that have mass.",
            world=f"{physics}.world:PhysicsPlayground",
            config=f"{physics}.config:PhysicsPlaygroundConfig",
            parser=f"{physics}.observe.text:parse",
            oracle=f"{physics}.players.oracle:PhysicsOracle",
            scripted=f"{physics}.players.scripted:PhysicsScript",
            extra="physics",
            module="pybullet",
        )
    )
    register_task(TaskSpec(id="piase/PhysicsPlayground-v0", world="PhysicsPlayground"))
    for name, fields in tasks.IDS.items():
        task = f"{NAMESPACE}/PhysicsPlayground-{name}-v0"
        register_task(TaskSpec(id=task, world="PhysicsPlayground", config=fields))


def _register_dilemma() -> None:
    """Fill in SocialDilemma and its tasks."""
    dilemma = "piase_gym.worlds.social_dilemma"
    register_world(
        WorldSpec(
            name="SocialDilemma",
            summary="Games in which what is best for each is not what is best for all.",
            world=f"{dilemma}.world:SocialDilemma",
            config=f"{dilemma}.config:SocialDilemmaConfig",
            parser=f"{dilemma}.parsing:parse",
            oracle=f"{dilemma}.players.oracle:DilemmaOracle",
            scripted=f"{dilemma}.players.scripted:DilemmaScript",
            aliases=("SocialDilemmaSim",),
        )
    )
    answering = {"*": "tit_for_tat"}
    register_task(TaskSpec(id="piase/SocialDilemma-v0", world="SocialDilemma", partners=answering))
    for name, (config, partner) in games.IDS.items():
        task = f"{NAMESPACE}/SocialDilemma-{name}-v0"
        register_task(
            TaskSpec(id=task, world="SocialDilemma", config=config, partners={"*": partner})
        )
