"""Makes homes: a room with its receptacles, objects where one would look for them, and a task.

A home is determined by its seed and config. The planner checks every home before it is played.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from piase_gym.core.rng import Stream, StreamId, mix64
from piase_gym.errors import GenerationError
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels.game import Game, compile_problem
from piase_gym.worlds.household.levels.pddl import PREDICATES, Problem
from piase_gym.worlds.household.levels.words import (
    LAMPS,
    OBJECTS,
    RECEPTACLES,
    ROOM_OBJECTS,
    TASKS,
    RoomName,
    TaskName,
)
from piase_gym.worlds.household.players.planner import find_plan

ROOMS: Sequence[RoomName] = ("kitchen", "bedroom", "bathroom", "livingroom")
_TOOL = {"clean": ("c", "SinkBasin"), "heat": ("h", "Microwave"), "cool": ("k", "Fridge")}
_ATTEMPTS = 200
HELD_OUT = 5
"""One in this many combinations of task, object and receptacle is kept for ``valid_unseen``."""


class Task(NamedTuple):
    """A task: what is done with which object, and where it ends (a lamp, to look at something)."""

    task: TaskName
    room: RoomName
    target: str
    place: str

    @property
    def held_out(self) -> bool:
        """Whether it is one of the combinations kept for ``valid_unseen``."""
        key = f"{self.task} {self.target} {self.place}".encode()
        return functools.reduce(lambda code, byte: mix64(code ^ byte), key, 0) % HELD_OUT == 0


class GeneratedHome(NamedTuple):
    """A home: its game, its task, and its path, in the form of ALFWorld's."""

    game: Game
    task: Task
    path: str


def generate(config: HouseholdConfig, seed: int) -> GeneratedHome:
    """Return the home of a seed.

    Raises:
        GenerationError: If the config allows for no task.
    """
    salt = {"train": 0, "valid_train": 0, "valid_seen": 1, "valid_unseen": 2}[config.split]
    dice = Stream(seed, StreamId.LAYOUT + 64 * salt)
    for _ in range(_ATTEMPTS):
        task = _task(config, dice)
        if task is None or task.held_out != (config.split == "valid_unseen"):
            continue
        home = _furnish(config, task, dice)
        if home is not None and find_plan(home, home.start, 0):
            return GeneratedHome(home, task, _path(config, task, seed))
    raise GenerationError(
        f"Household: no home of {config.receptacles} receptacles has a task of "
        f"{', '.join(config.tasks)} in {', '.join(config.rooms)}; allow for more"
    )


def _path(config: HouseholdConfig, task: Task, seed: int) -> str:
    """Return the path that the game would have among ALFWorld's files."""
    names = (task.target, "None", task.place, str(1 + ROOMS.index(task.room) * 100))
    kind = f"{TASKS[task.task]}-{'-'.join(names)}"
    return f"{config.split}/{kind}/trial_T{seed:020d}/game.tw-pddl"


def _pick(dice: Stream, values: Sequence[str]) -> str:
    return values[dice.integer(len(values))]


def _task(config: HouseholdConfig, dice: Stream) -> Task | None:
    """Draw a task, or ``None`` if what was drawn does not fit together."""
    task = config.tasks[dice.integer(len(config.tasks))]
    fitting = [room for room in config.rooms if _room_has(room, task)]
    if not fitting:
        return None
    room = fitting[dice.integer(len(fitting))]
    letter, tool = _TOOL.get(task, ("p", ""))
    objects = [
        name
        for name, kind in OBJECTS.items()
        if letter in kind.can and "p" in kind.can and _spots(room, name)
    ]
    if not objects:
        return None
    target = _pick(dice, objects)
    if task == "look":
        lamps = [lamp for lamp in LAMPS if _spots(room, lamp)]
        return Task(task, room, target, _pick(dice, lamps))
    places = [place for place in _spots(room, target) if place != tool]
    return Task(task, room, target, _pick(dice, places)) if len(places) > 1 else None


def _room_has(room: RoomName, task: TaskName) -> bool:
    """Return whether a task can be done in a kind of room."""
    if task == "look":
        return any(_spots(room, lamp) for lamp in LAMPS)
    return task not in _TOOL or getattr(RECEPTACLES[_TOOL[task][1]], room) > 0


@functools.lru_cache(maxsize=1024)
def _spots(room: RoomName, name: str) -> tuple[str, ...]:
    """Return where an object is found in a kind of room."""
    if name not in ROOM_OBJECTS[room]:
        return ()
    return tuple([place for place in OBJECTS[name].places if getattr(RECEPTACLES[place], room)])


def _furnish(config: HouseholdConfig, task: Task, dice: Stream) -> Game | None:
    """Set up a home for a task, or return ``None`` if it has too few receptacles."""
    needed = [_TOOL[task.task][1]] if task.task in _TOOL else []
    elsewhere = [p for p in _spots(task.room, task.target) if p not in (*needed, task.place)]
    if task.task == "look":
        needed.append(_pick(dice, _spots(task.room, task.place)))
    else:
        needed.append(task.place)
    if not elsewhere:
        return None
    needed.append(_pick(dice, elsewhere))
    kinds = _receptacles(config.receptacles, task.room, needed, dice)
    if kinds is None:
        return None
    names: list[tuple[str, str]] = []
    where: list[int] = []

    def place(name: str, banned: Sequence[str] = ()) -> None:
        allowed = {*OBJECTS[name].places}.difference(banned)
        spots = [k for k, kind in enumerate(kinds) if kind in allowed]
        if spots:
            names.append((name, f"{name}_bar_{len(names):02d}".lower()))
            where.append(spots[dice.integer(len(spots))])

    banned = (task.place,)
    for _ in range(2 if task.task == "two" else 1):
        place(task.target, banned)
    if task.task == "look":
        place(task.place)
    if len(names) < (1 if task.task in ("pick", *_TOOL) else 2):
        return None
    around = [name for name in OBJECTS if name not in LAMPS and _spots(task.room, name)]
    for _ in range(4 * config.objects):
        if len(names) >= config.objects:
            break
        name = _pick(dice, around)
        place(name, banned if name == task.target else ())
    return compile_problem(_problem(task, kinds, names, where), goal_text(task))


def _receptacles(
    count: int, room: RoomName, needed: Sequence[str], dice: Stream
) -> list[str] | None:
    """Draw the receptacles of a room, those that are needed first."""
    found = list(dict.fromkeys(needed))
    if len(found) > count:
        return None
    free = [
        kind
        for kind, row in RECEPTACLES.items()
        for _ in range(getattr(row, room) - found.count(kind))
    ]
    dice.shuffle(free)
    return sorted(found + free[: count - len(found)])


def goal_text(task: Task) -> str:
    """Return a task in words."""
    target, place = task.target.lower(), task.place.lower()
    match task.task:
        case "pick":
            return f"put a {target} in {place}."
        case "look":
            return f"look at {target} under the {place}."
        case "two":
            return f"put two {target} in {place}."
        case "heat":
            return f"put a hot {target} in {place}."
        case _:
            return f"put a {task.task} {target} in {place}."


def _problem(
    task: Task, kinds: Sequence[str], names: Sequence[tuple[str, str]], where: Sequence[int]
) -> Problem:
    """Write a home as a PDDL problem."""
    facts: dict[str, list[tuple[str, ...]]] = {name: [] for name in PREDICATES}
    types = {"agent1": "agent", "loc_bar_00": "location"}
    facts["atlocation"].append(("agent1", "loc_bar_00"))
    basins = ["_basin" * kind.endswith("Basin") for kind in kinds]
    stems = [kind.removesuffix("Basin").lower() for kind in kinds]
    ids = [
        f"{stem}_bar_{k:02d}{end}" for k, (stem, end) in enumerate(zip(stems, basins, strict=True))
    ]
    for k, (kind, place) in enumerate(zip(kinds, ids, strict=True), 1):
        location, rtype = f"loc_bar_{k:02d}", f"{kind.lower()}type"
        types |= {place: "receptacle", location: "location", rtype: "rtype"}
        facts["receptacleatlocation"].append((place, location))
        facts["receptacletype"].append((place, rtype))
        if RECEPTACLES[kind].opens:
            facts["openable"].append((place,))
    for (kind, thing), k in zip(names, where, strict=True):
        otype = f"{kind.lower()}type"
        types |= {thing: "object", otype: "otype"}
        facts["objecttype"].append((thing, otype))
        facts["inreceptacle"].append((thing, ids[k]))
        facts["objectatlocation"].append((thing, f"loc_bar_{k + 1:02d}"))
        for letter in OBJECTS[kind].can:
            if letter in _ABILITY:
                facts[_ABILITY[letter]].append((thing,))
    for kind in dict.fromkeys(kind for kind, _ in names):
        facts["cancontain"] += [row for row in _containing(kind) if row[0] in types]
    for kind in (task.target, task.place):
        types.setdefault(f"{kind.lower()}type", "otype")
    return Problem(types, facts, _goal(task))


@functools.lru_cache(maxsize=1024)
def _containing(kind: str) -> tuple[tuple[str, str], ...]:
    """Return the types of receptacles that can hold an object, each with the object's type."""
    return tuple(
        [(f"{place.lower()}type", f"{kind.lower()}type") for place in OBJECTS[kind].places]
    )


_ABILITY = {
    "p": "pickupable",
    "c": "cleanable",
    "h": "heatable",
    "k": "coolable",
    "s": "sliceable",
    "t": "toggleable",
    "u": "isreceptacleobject",
}


def _goal(task: Task) -> list[object]:
    """Return the goal of a task."""
    target, place = f"{task.target.lower()}type", f"{task.place.lower()}type"
    if task.task == "look":
        lamp = ["and", ["objecttype", "?l", place], ["istoggled", "?l"]]
        lamp += [["inreceptacle", "?l", "?r"], ["receptacleatlocation", "?r", "?at"]]
        lamp.append(["atlocation", "?a", "?at"])
        who = "?l - object ?r - receptacle ?at - location ?a - agent".split()
        held = ["and", ["objecttype", "?o", target], ["holds", "?b", "?o"]]
        holder = "?o - object ?b - agent".split()
        return ["and", ["exists", who, lamp], ["exists", holder, held]]
    parts: list[object] = [["receptacletype", "?r", place]]
    marks = {"clean": "isclean", "heat": "ishot", "cool": "iscool"}
    count = 2 if task.task == "two" else 1
    for k in range(count):
        parts += [["objecttype", f"?o{k}", target], ["inreceptacle", f"?o{k}", "?r"]]
        if task.task in marks:
            parts.append([marks[task.task], f"?o{k}"])
    if count == 2:
        parts.append(["not", ["=", "?o0", "?o1"]])
    names = ["?r", "-", "receptacle", *(w for k in range(count) for w in (f"?o{k}", "-", "object"))]
    return ["exists", names, ["and", *parts]]
