"""The worlds and ids that ship with the package: rows for the table of `piase_gym.registry`."""

from __future__ import annotations

from typing import Any

from piase_gym.registry import NAMESPACE, TaskSpec, WorldSpec, register_task, register_world
from piase_gym.worlds.physics_playground.levels import tasks
from piase_gym.worlds.social_dilemma import games
from piase_gym.worlds.text_room.levels import ids as room_ids

_CROWD = {"agents": 4, "max_steps": 250}
_GRID_VERSIONS = {"Tag-10x10-4p": 1}
_GRID_TASKS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("MultiRoom-12x12", 12, {"layout": "multi_room"}),
    ("MultiRoom-Locked-12x12", 12, {"layout": "multi_room", "rooms": 3, "doors": "locked"}),
    ("MultiRoom-Gates-12x12", 12, {"layout": "multi_room", "rooms": 3, "doors": "gates"}),
    ("Maze-9x9", 9, {"layout": "maze"}),
    ("Maze-15x15", 15, {"layout": "maze"}),
    ("Hazards-8x8", 8, {"hazards": 6}),
    ("Boxes-8x8", 8, {"boxes": 6}),
    ("Drones-8x8", 8, {"movers": 4, "mover_chance": 0.25}),
    ("Foraging-8x8-2p", 8, {"layout": "foraging", "agents": 2}),
    (
        "Foraging-Coop-8x8-2p",
        8,
        {"layout": "foraging", "agents": 2, "food": 2, "min_food_level": 2},
    ),
    ("Tag-10x10-4p", 10, {"layout": "tag", "taggers": 2, **_CROWD}),
    ("Orchard-12x12-4p", 12, {"fruits": 12, "energy": 60, "random_goals": 0, **_CROWD}),
    (
        "Everything-16x16-4p",
        16,
        {
            "layout": "multi_room",
            "doors": "mixed",
            "rooms": 4,
            "symbols": 4,
            "energy": 250,
            "boxes": 3,
            "hazards": 3,
            "fruits": 4,
            "movers": 2,
            "see_through_walls": False,
            "agents": 4,
        },
    ),
)


def register_shipped() -> None:
    """Fill the table with what ships (again changes nothing)."""
    _register_grid_world()
    _register_text_room()
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
    for size in (5, 6, 8, 16):
        corner = (size - 2, size - 2)
        square = {"width": size, "height": size, "border": True, "max_steps": 4 * size * size}
        rows: dict[str, dict[str, Any]] = {
            "Empty": {"layout": "empty", "start_pos": (1, 1), "goal_pos": corner},
            "Empty-Random": {"layout": "empty"},
            "DoorKey": {"layout": "door_key", "goal_pos": corner, "max_steps": 10 * size * size},
        }
        for name, fields in rows.items():
            task = f"{NAMESPACE}/GridWorld-{name}-{size}x{size}-v0"
            if not (name == "DoorKey" and size == 5):
                register_task(TaskSpec(id=task, world="GridWorld", config={**square, **fields}))
    for size in (8, 16):
        square = {"width": size, "height": size, "border": True, "max_steps": 4 * size * size}
        for name, layout in (("FourRooms", "four_rooms"), ("Obstacles", "obstacles")):
            task = f"{NAMESPACE}/GridWorld-{name}-{size}x{size}-v0"
            register_task(TaskSpec(id=task, world="GridWorld", config={**square, "layout": layout}))
    for name, size, fields in _GRID_TASKS:
        square = {"width": size, "height": size, "border": True, "max_steps": 4 * size * size}
        task = f"{NAMESPACE}/GridWorld-{name}-v{_GRID_VERSIONS.get(name, 0)}"
        register_task(TaskSpec(id=task, world="GridWorld", config={**square, **fields}))


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
