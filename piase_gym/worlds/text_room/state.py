"""The state of a TextRoom, an explicit value, and the plot: a story as tables for the rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from piase_gym.core.rng import Stream, StreamId
from piase_gym.worlds.text_room.facts import STATES
from piase_gym.worlds.text_room.levels import names
from piase_gym.worlds.text_room.levels.story import Story, Thing
from piase_gym.worlds.text_room.levels.story_rules import (
    DIRECTIONS,
    ActionTaken,
    AddMetric,
    Event,
    Interaction,
    MaxSteps,
)
from piase_gym.worlds.texts.state import CopiedState

Status = Literal["none", "coming", "playing", "won", "lost", "drawn", "ended"]
STATUSES: tuple[Status, ...] = ("none", "coming", "playing", "won", "lost", "drawn", "ended")
NOWHERE = -1
AT_ITS_DOOR = -2
"""The place of a door: it stands in the exits that name it."""


class VisibleState(NamedTuple):
    """The part of a `RoomState` that decides what agents see and may do; it never changes."""

    rooms: tuple[int, ...]
    place: tuple[int, ...]
    status: tuple[Status, ...]
    hidden: tuple[int, ...]
    is_open: tuple[int, ...]
    locked: tuple[int, ...]
    looks: tuple[tuple[str, str], ...]
    searched: tuple[tuple[int, ...], ...]
    walked: tuple[tuple[int, ...], ...]


@checked(config=ConfigDict(extra="forbid", strict=True))
@dataclass(slots=True)
class RoomState(CopiedState):
    """The whole state, except for letters and random streams.

    Places are numbers: a room; the number of rooms + an object; the number of rooms and objects +
    an agent; `NOWHERE`; or `AT_ITS_DOOR`.

    Attributes:
        seed: The seed of the episode; a generated quest follows from it.
        t: Steps done.
        place: Where each object is.
        hidden: 1 for objects that have not come to light.
        found: 1 for objects that somebody has found.
        is_open: 1 for containers and doors that are open.
        locked: 1 for those that are locked.
        rooms: Where each agent is.
        status: The status of each agent, one of `STATUSES`.
        flags: The flags of each agent, in the order in which they were set.
        stats: The numbers of each agent's body.
        feedback: What each agent was last told about its command.
        told: What the system said to each agent in the last step.
        reached: The milestones of each agent.
        looks: Descriptions that have changed, by ``room:<name>`` or ``object:<name>``.
        counts: How often each agent has done what an event waits for, by ``event:agent``.
        fired: How often each event has happened.
        metrics: The metrics of the episode.
        order: The order in which agents act in the next step.
        searched: The objects that each agent has searched, sorted.
        walked: The ways whose other end each agent knows, sorted; see `way_number`.
        seen_rooms: With ``recall="map"`` the rooms that each agent has seen: [room, step].
        seen_things: With ``recall="map"`` the objects that each agent has seen, as it saw them
            last: [object, room, the object that it was in or -1, index in `facts.STATES`, step].
    """

    seed: int
    t: int
    place: list[int]
    hidden: list[int]
    found: list[int]
    is_open: list[int]
    locked: list[int]
    rooms: list[int]
    status: list[Status]
    flags: list[list[str]]
    stats: list[dict[str, float]]
    feedback: list[str | None]
    told: list[str | None]
    reached: list[list[str]]
    looks: dict[str, str]
    counts: dict[str, int]
    fired: list[int]
    metrics: dict[str, float]
    order: list[int]
    searched: list[list[int]]
    walked: list[list[int]]
    seen_rooms: list[list[list[int]]]
    seen_things: list[list[list[int]]]

    def arranged(self) -> VisibleState:
        """Return the part of the state that decides what agents see and may do."""
        return VisibleState(
            tuple(self.rooms),
            tuple(self.place),
            tuple(self.status),
            tuple(self.hidden),
            tuple(self.is_open),
            tuple(self.locked),
            tuple(self.looks.items()) if self.looks else (),
            tuple(map(tuple, self.searched)),
            tuple(map(tuple, self.walked)),
        )


def way_number(room: int, direction: str) -> int:
    """Return the number of a way out of a room."""
    return room * len(DIRECTIONS) + DIRECTIONS.index(direction)


class StoryCondition(NamedTuple):
    """A condition that ends an episode, and the number of the agent that it names, or ``None``."""

    condition: Any
    agent: int | None


@dataclass(frozen=True, eq=False)
class Plot:
    """A story as tables. It never changes, and copies of a world share it.

    Objects are numbered with those that can be taken first; directions as in `DIRECTIONS`.

    Attributes:
        story: The story.
        rooms: Names of the rooms.
        objects: Names of the objects.
        items: How many objects can be taken.
        things: The details of each object.
        exits: For each room, direction -> (room, door or -1).
        opens: Which objects are doors, or containers with a lid.
        containers: Which objects are containers.
        searching: Whether any object hides something or is marked as searchable.
        doors: For each room, the doors in its exits.
        keys: The key of each object, or -1.
        interactions: (verb, object, item or -1) -> the interactions that they set off.
        watched: Events that wait for an action, by verb.
        awaited: All events by the type of their trigger, with their numbers.
        wins: The win conditions, each with the number of the agent that it names, if any.
        losses: The same for the lose conditions other than `MaxSteps`.
        stat_rates: The changes of stats in each step: (agent, stat, amount).
        usable: Objects that can be used by themselves.
        readable: Objects that have something to read on them.
        flags: Every flag that can be set, sorted.
        stats: The names of all stats, in order.
        metrics: The names of all metrics, in order.
        goals: The items that the win conditions ask for.
        room_of: Room -> number.
        object_of: Object -> number.
    """

    story: Story
    rooms: tuple[str, ...]
    objects: tuple[str, ...]
    items: int
    things: tuple[Thing, ...]
    exits: tuple[dict[str, tuple[int, int]], ...]
    opens: tuple[bool, ...]
    containers: tuple[bool, ...]
    searching: bool
    doors: tuple[tuple[int, ...], ...]
    keys: tuple[int, ...]
    interactions: dict[tuple[str, int, int], tuple[Interaction, ...]]
    watched: dict[str, tuple[tuple[int, Event], ...]]
    awaited: dict[str, tuple[tuple[int, Event], ...]]
    wins: tuple[StoryCondition, ...]
    losses: tuple[StoryCondition, ...]
    stat_rates: tuple[tuple[int, str, float], ...]
    usable: tuple[bool, ...]
    readable: tuple[bool, ...]
    flags: tuple[str, ...]
    stats: tuple[str, ...]
    metrics: tuple[str, ...]
    goals: tuple[int, ...]
    room_of: dict[str, int] = field(repr=False)
    object_of: dict[str, int] = field(repr=False)

    def look_of(self, k: int, looks: Mapping[str, str]) -> str:
        """Return how an object looks, given the descriptions that have changed."""
        description = self.things[k].description
        return looks.get(f"object:{self.objects[k]}", description) if looks else description

    def __deepcopy__(self, _memo: Any) -> Plot:
        """Return itself: a plot never changes."""
        return self

    def __reduce__(self) -> Any:
        """Pickle the story alone."""
        return compile_story, (self.story,)


def compile_story(story: Story) -> Plot:
    """Return the tables of a story in which `validation.problems` finds no error."""
    can = names.takeable(story)
    objects = tuple(sorted(can, key=lambda name: not can[name]))  # stable: keeps the story's order
    object_of = {name: k for k, name in enumerate(objects)}
    room_of = {name: k for k, name in enumerate(story.rooms)}
    things = tuple(names.thing_of(story, name) for name in objects)
    exits = tuple(_exits(story, name, room_of, object_of) for name in story.rooms)
    door_set = {door for ways in exits for _, door in ways.values() if door >= 0}
    containers = tuple(
        t.is_container if t.is_container is not None else bool(t.contains) for t in things
    )
    events = tuple(enumerate(story.events))
    watched = _grouped(
        (row[1].trigger.action_type, row)
        for row in events
        if isinstance(row[1].trigger, ActionTaken)
    )
    interactions: dict[tuple[str, int, int], tuple[Interaction, ...]] = _grouped(
        ((entry.action, k, object_of[entry.item_name] if entry.item_name else -1), entry)
        for k, thing in enumerate(things)
        for entry in thing.interactions
    )
    stats = dict.fromkeys(name for agent in story.agent_setup for name in agent.stats)
    metrics = [r.metric for r, _ in names.responses(story) if isinstance(r, AddMetric)]
    goals = [getattr(c, "item_name", None) for c in story.win_conditions]
    return Plot(
        story=story,
        rooms=tuple(story.rooms),
        objects=objects,
        items=sum(can.values()),
        things=things,
        exits=exits,
        opens=tuple((c and things[k].has_lid) or k in door_set for k, c in enumerate(containers)),
        containers=containers,
        searching=any(thing.hidden_item or thing.searchable for thing in things),
        doors=tuple(tuple(dict.fromkeys(d for _, d in w.values() if d >= 0)) for w in exits),
        keys=tuple(object_of.get(t.key_required or "", -1) for t in things),
        interactions=interactions,
        watched=watched,
        awaited=_grouped((row[1].trigger.type, row) for row in events),
        wins=_aims(story, story.win_conditions),
        losses=_aims(story, [c for c in story.lose_conditions if not isinstance(c, MaxSteps)]),
        stat_rates=tuple(
            (agent, name, stat.per_step)
            for agent, setup in enumerate(story.agent_setup)
            for name, stat in setup.stats.items()
            if stat.per_step
        ),
        usable=tuple(_usable(k, name, interactions, watched) for k, name in enumerate(objects)),
        readable=tuple(
            t.read_text is not None or ("read", k, -1) in interactions for k, t in enumerate(things)
        ),
        flags=tuple(sorted(names.flags(story))),
        stats=tuple(stats),
        metrics=tuple(dict.fromkeys(metrics)),
        goals=tuple(dict.fromkeys(object_of[name] for name in goals if name in object_of)),
        room_of=room_of,
        object_of=object_of,
    )


def _exits(
    story: Story, room: str, room_of: dict[str, int], object_of: dict[str, int]
) -> dict[str, tuple[int, int]]:
    """Return the exits of a room in the order of `DIRECTIONS`."""
    ways = story.rooms[room].exits
    return {
        direction: (room_of[ways[direction].room], object_of.get(ways[direction].door or "", -1))
        for direction in DIRECTIONS
        if direction in ways
    }


K = TypeVar("K")
V = TypeVar("V")


def _grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, tuple[V, ...]]:
    """Group the values of (key, value) pairs by key."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in found.items()}


def _aims(story: Story, conditions: Iterable[Any]) -> tuple[StoryCondition, ...]:
    """Return conditions with the numbers of the agents that they name."""
    number = {setup.agent_id: k for k, setup in enumerate(story.agent_setup)}
    return tuple(
        StoryCondition(c, number.get(getattr(c, "agent_id", None) or "")) for c in conditions
    )


def _usable(
    k: int,
    name: str,
    interactions: dict[tuple[str, int, int], tuple[Interaction, ...]],
    watched: dict[str, tuple[tuple[int, Event], ...]],
) -> bool:
    """Return whether an object can be used by itself."""
    triggers = [event.trigger for _, event in watched.get("use", ())]
    named = [{t.target, t.item_name} - {None} for t in triggers if isinstance(t, ActionTaken)]
    return {name} in named or ("use", k, -1) in interactions


def new_state(plot: Plot, slots: int, agents: int, seed: int) -> RoomState:
    """Set up a story.

    Args:
        plot: The story.
        slots: How many agents the envelope allows for.
        agents: How many take part; those that are not in the story start like its first agent,
            but with empty hands and no flags.
        seed: The seed of the episode.
    """
    story, rooms, objects = plot.story, len(plot.rooms), len(plot.objects)
    doors = {door for row in plot.doors for door in row}
    place = [AT_ITS_DOOR if k in doors else NOWHERE for k in range(objects)]
    hidden = [0] * objects
    number = {agent.agent_id: k for k, agent in enumerate(story.agent_setup)}
    for mention in names.mentions(story):
        k = plot.object_of[mention.object]
        hidden[k] = int(mention.kind == "hidden")
        if mention.kind == "room":
            place[k] = plot.room_of[mention.where]
        elif mention.kind == "agent":
            place[k] = rooms + objects + number[mention.where]
        else:
            place[k] = rooms + plot.object_of[mention.where]
    stream = Stream(seed, StreamId.LAYOUT)
    for group in story.shuffle:
        objects_of = [plot.object_of[name] for name in group]
        places = [place[k] for k in objects_of]
        stream.shuffle(places)
        for k, where in zip(objects_of, places, strict=True):
            place[k] = where
    setups = [story.agent_setup[k if k < len(number) else 0] for k in range(slots)]
    known = [k < len(number) for k in range(slots)]
    status: list[Status] = [
        "none" if k >= agents else "coming" if known[k] and setups[k].join_at else "playing"
        for k in range(slots)
    ]
    return RoomState(
        seed=seed,
        t=0,
        place=place,
        hidden=hidden,
        found=[0] * objects,
        is_open=[int(thing.is_open or not thing.has_lid) for thing in plot.things],
        locked=[int(thing.locked) for thing in plot.things],
        rooms=[plot.room_of[setup.start_room] for setup in setups],
        status=status,
        flags=[
            list(dict.fromkeys(s.initial_flags)) if known[k] else [] for k, s in enumerate(setups)
        ],
        stats=[{name: stat.start for name, stat in setup.stats.items()} for setup in setups],
        feedback=[None] * slots,
        told=[None] * slots,
        reached=[[] for _ in range(slots)],
        looks={},
        counts={},
        fired=[0] * len(story.events),
        metrics=dict.fromkeys(plot.metrics, 0.0),
        order=list(range(slots)),
        searched=[[] for _ in range(slots)],
        walked=[[] for _ in range(slots)],
        seen_rooms=[[] for _ in range(slots)],
        seen_things=[[] for _ in range(slots)],
    )


def check_sizes(plot: Plot, state: RoomState, slots: int) -> None:
    """Raise `ValueError` if a state does not fit this story and number of agents."""
    of_agents = (state.rooms, state.status, state.flags, state.stats, state.feedback)
    of_agents_too = (state.told, state.reached, state.order, state.searched, state.walked)
    of_memory = (state.seen_rooms, state.seen_things)
    of_objects = (state.place, state.hidden, state.found, state.is_open, state.locked)
    if any(len(part) != slots for part in (*of_agents, *of_agents_too, *of_memory)):
        raise ValueError(f"it is not of {slots} agents")
    if any(len(part) != len(plot.objects) for part in of_objects):
        raise ValueError(f"it is not of {len(plot.objects)} objects")
    if sorted(state.order) != [*range(slots)] or len(state.fired) != len(plot.story.events):
        raise ValueError("its order or its events are not those of this story")
    top = len(plot.rooms) + len(plot.objects) + slots
    if not all(AT_ITS_DOOR <= place < top for place in state.place):
        raise ValueError("it has unknown places")
    if not all(0 <= room < len(plot.rooms) for room in state.rooms):
        raise ValueError("it has unknown rooms")
    _check_memory(plot, state)
    bits = (*of_objects[1:],)
    if any(value not in (0, 1) for part in bits for value in part) or state.t < 0:
        raise ValueError("it has values out of range")
    if set(state.metrics) != set(plot.metrics):
        raise ValueError("its metrics are not those of this story")
    if any(name not in plot.stats for stats in state.stats for name in stats):
        raise ValueError("its stats are not those of this story")


def _check_memory(plot: Plot, state: RoomState) -> None:
    """Raise `ValueError` if agents remember what is not in this story."""
    rooms, objects = range(len(plot.rooms)), range(len(plot.objects))
    ways = {way_number(room, way) for room, row in enumerate(plot.exits) for way in row}
    known = all(k in objects for row in state.searched for k in row)
    known &= all(way in ways for row in state.walked for way in row)
    known &= all(
        len(row) == 2 and row[0] in rooms and 0 <= row[1] <= state.t
        for rows in state.seen_rooms
        for row in rows
    )
    known &= all(
        len(row) == 5
        and (row[0] in objects and row[1] in rooms and (row[2] == -1 or row[2] in objects))
        and (row[3] in range(len(STATES)) and 0 <= row[4] <= state.t)
        for rows in state.seen_things
        for row in rows
    )
    if not known:
        raise ValueError("its agents remember what is not in this story")
