"""Quests: stories made at random, solvable by construction.

A quest is built in the order in which it can be solved. It begins with what is reachable, and each
obstacle puts the next thing that is needed (a key, or finally the goal) behind a lock, a lid, a
hiding place or a door. If the obstacle itself needs a key, that key is already reachable.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast

from piase_gym.core.rng import Stream
from piase_gym.worlds.text_room.config import TextRoomConfig
from piase_gym.worlds.text_room.levels.story import AgentSetup, Exit, Room, Story, Thing
from piase_gym.worlds.text_room.levels.story_rules import OPPOSITE, ItemInInventory, Part
from piase_gym.worlds.text_room.levels.words import QuestNames, look_of, quest_names

P = TypeVar("P", bound=Part)
Lock = Literal["locked", "closed", "hidden"]
STEPS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
EXTRA_WAYS = 0.2
"""The probability of an extra passage between two neighbouring rooms of one region."""


@dataclass
class Draft:
    """A quest in the making.

    Attributes:
        words: The names that occur.
        stream: The random stream.
        regions: The rooms of each region, in the order in which doors open the regions.
        ways: Room -> direction -> (room, door or None).
        lies: Room -> the objects in it.
        things: Object -> fields of its details.
    """

    words: QuestNames
    stream: Stream
    regions: list[list[str]] = field(default_factory=list)
    ways: dict[str, dict[str, tuple[str, str | None]]] = field(default_factory=dict)
    lies: dict[str, list[str]] = field(default_factory=dict)
    things: dict[str, dict[str, object]] = field(default_factory=dict)

    def pick(self, options: list[str]) -> str:
        """Draw one of some names."""
        return options[self.stream.integer(len(options))]


def generate(config: TextRoomConfig, agents: tuple[str, ...], layout: Stream) -> Story:
    """Return a quest.

    Args:
        config: `rooms`, `depth`, `distractors` and `theme`.
        agents: Names of the agents that take part.
        layout: The random stream that determines the quest.
    """
    words = quest_names(config.theme, config.rooms, config.depth, config.distractors)
    draft = Draft(words, layout)
    draft.lies = {room: [] for room in words.rooms}
    draft.things = {name: {} for name in (*words.items, *words.fixtures)}
    _build_map(draft)
    start = draft.pick(draft.regions[0])
    goal = _lay_chain(draft, _kinds(draft, config.depth))
    _distract(draft)
    return _write(draft, config, agents, start, goal)


# -- the map ------------------------------------------------------------------------------------


def _build_map(draft: Draft) -> None:
    """Place the rooms on a grid, region by region, each joined to the one before by a door."""
    rooms = list(draft.words.rooms)
    draft.stream.shuffle(rooms)
    doors = list(draft.words.doors)
    sizes = _sizes(draft, len(rooms), len(doors) + 1)
    cells: dict[tuple[int, int], str] = {}
    draft.ways = {room: {} for room in draft.words.rooms}
    for number, size in enumerate(sizes):
        region, rooms = rooms[:size], rooms[size:]
        draft.regions.append([])
        for room in region:
            door = doors[number - 1] if number and not draft.regions[-1] else None
            _place(draft, cells, room, door)
            draft.regions[-1].append(room)
    _add_ways(draft, cells)


def _sizes(draft: Draft, rooms: int, regions: int) -> list[int]:
    """Distribute rooms over regions, at least one each."""
    sizes = [1] * regions
    for _ in range(rooms - regions):
        sizes[draft.stream.integer(regions)] += 1
    return sizes


def _place(draft: Draft, cells: dict[tuple[int, int], str], room: str, door: str | None) -> None:
    """Put a room next to one of its own region, or, with a door, of the region before."""
    if not cells:
        cells[(0, 0)] = room
        return
    near = draft.regions[-2] if door is not None else draft.regions[-1]
    free = _free_sides(cells, near) or _free_sides(cells, list(cells.values()))
    (x, y), neighbour, direction = free[draft.stream.integer(len(free))]
    cells[(x, y)] = room
    draft.ways[neighbour][direction] = (room, door)
    draft.ways[room][OPPOSITE[direction]] = (neighbour, door)


def _free_sides(
    cells: dict[tuple[int, int], str], rooms: list[str]
) -> list[tuple[tuple[int, int], str, str]]:
    """Return the free cells next to some rooms: (cell, room, direction from the room)."""
    found = []
    for (x, y), room in cells.items():
        for direction, (dx, dy) in STEPS.items():
            if room in rooms and (x + dx, y + dy) not in cells:
                found.append(((x + dx, y + dy), room, direction))
    return found


def _add_ways(draft: Draft, cells: dict[tuple[int, int], str]) -> None:
    """Join some neighbours within a region."""
    region_of = {room: n for n, rooms in enumerate(draft.regions) for room in rooms}
    for (x, y), room in cells.items():
        for direction in ("east", "south"):
            dx, dy = STEPS[direction]
            other = cells.get((x + dx, y + dy))
            if other is None or direction in draft.ways[room]:
                continue
            if region_of[room] == region_of[other] and draft.stream.uniform() < EXTRA_WAYS:
                draft.ways[room][direction] = (other, None)
                draft.ways[other][OPPOSITE[direction]] = (room, None)


# -- the chain of obstacles ---------------------------------------------------------------------


def _kinds(draft: Draft, depth: int) -> list[str]:
    """Draw which obstacles are doors and which are chests, in the order in which they are met."""
    doors = len(draft.words.doors)
    kinds = ["door"] * doors + ["chest"] * (depth - doors)
    draft.stream.shuffle(kinds)
    return kinds


def _lay_chain(draft: Draft, kinds: list[str]) -> str:
    """Lay out obstacles and what they guard, and return the goal."""
    words, stream = draft.words, draft.stream
    keys, doors, chests = list(words.keys), list(words.doors), list(words.chests)
    stream.shuffle(keys)
    stream.shuffle(chests)
    goal = draft.pick(list(words.treasures))
    opened = list(draft.regions[0])
    spot = ("room", draft.pick(opened))  # where the next thing that is needed goes
    for kind in kinds:
        guard = doors.pop(0) if kind == "door" else chests.pop()
        lock = "locked" if kind == "door" else _lock(draft, spot)
        if lock == "locked":
            key = keys.pop()
            _place_object(draft, key, spot)
            draft.things[guard] |= {"locked": True, "key_required": key}
        if kind == "door":
            region = draft.regions[len(words.doors) - len(doors)]
            opened += region
            spot = ("room", draft.pick(region))
        else:
            draft.lies[draft.pick(opened)].append(guard)
            draft.things[guard]["is_container"] = lock != "hidden"
            spot = ("hidden_item" if lock == "hidden" else "contains", guard)
    _place_object(draft, goal, spot)
    for name in (*keys, *(name for name in words.treasures if name != goal)):
        _place_object(draft, name, ("room", draft.pick(list(words.rooms))))
    return goal


def _lock(draft: Draft, spot: tuple[str, str]) -> Lock:
    """Draw how a chest guards what is in it.

    Once something needed lies in a chest, only a lock makes the chain longer: that is its key.
    """
    options: tuple[Lock, ...] = ("locked", "locked", "hidden", "closed")
    return options[draft.stream.integer(len(options))] if spot[0] == "room" else "locked"


def _place_object(draft: Draft, name: str, spot: tuple[str, str]) -> None:
    """Put an object into a room, a container or a hiding place."""
    kind, where = spot
    if kind == "room":
        draft.lies[where].append(name)
    else:
        draft.things[where][kind] = (name,)


def _distract(draft: Draft) -> None:
    """Place the chests that nobody needs, some open and some closed."""
    placed = {name for names in draft.lies.values() for name in names}
    for chest in draft.words.chests:
        if chest not in placed:
            draft.lies[draft.pick(list(draft.words.rooms))].append(chest)
            is_open = draft.stream.integer(2) == 1
            draft.things[chest] |= {"is_container": True, "is_open": is_open}


# -- the story ----------------------------------------------------------------------------------


def _write(
    draft: Draft, config: TextRoomConfig, agents: tuple[str, ...], start: str, goal: str
) -> Story:
    """Return the draft as a story, which is valid by construction and is not checked again."""
    items = set(draft.words.items)
    things = {}
    for name, fields in draft.things.items():
        given = {"description": look_of(config.theme, name), "can_be_taken": name in items}
        things[name] = _thing(tuple({**given, **fields}.items()))
    rooms = {
        room: _unchecked(
            Room,
            description=look_of(config.theme, room),
            exits=_exits(draft.ways[room]),
            objects=tuple(draft.lies[room]),
        )
        for room in draft.words.rooms
    }
    setups = tuple(_setup(name, start) for name in agents)
    return _unchecked(
        Story,
        rooms=rooms,
        object_details=things,
        agent_setup=setups,
        win_conditions=(_won_with(goal),),
    )


# Quests share common parts, as parts of stories never change.


@functools.lru_cache(maxsize=4096)
def _thing(fields: tuple[tuple[str, Any], ...]) -> Thing:
    """Return the details of an object."""
    return _unchecked(Thing, **dict(fields))


@functools.lru_cache(maxsize=1024)
def _exit(room: str, door: str | None) -> Exit:
    """Return a way out."""
    return _unchecked(Exit, room=room, door=door)


@functools.lru_cache(maxsize=1024)
def _setup(agent: str, room: str) -> AgentSetup:
    """Return an agent's start."""
    return _unchecked(AgentSetup, agent_id=agent, start_room=room)


@functools.lru_cache(maxsize=256)
def _won_with(item: str) -> ItemInInventory:
    """Return the condition of a win."""
    return ItemInInventory(type="item_in_inventory", item_name=item)


def _exits(ways: dict[str, tuple[str, str | None]]) -> dict[Any, Exit]:
    """Return the exits of a room in the form used by stories."""
    return {direction: _exit(other, door) for direction, (other, door) in ways.items()}


def _unchecked(model: type[P], **fields: Any) -> P:
    """Return a part of a story, without checks: it is known to be valid."""
    made: Any = model.model_construct(set(fields), **{**_defaults(model), **fields})
    return cast(P, made)


@functools.cache
def _defaults(model: type[Part]) -> dict[str, Any]:
    """Return the default values of the fields of a part."""
    fields = model.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields}
