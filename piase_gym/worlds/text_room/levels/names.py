"""The names of a story: which objects there are, where they start, and which can be taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from piase_gym.worlds.text_room.levels.story import Story, Thing
from piase_gym.worlds.text_room.levels.story_rules import (
    Event,
    Interaction,
    Response,
    SetFlag,
    SpawnObject,
)

Path = tuple[str | int, ...]
"""The place of something in a story, such as ``("rooms", "study", "exits", "north")``."""


class Mention(NamedTuple):
    """One place in a story that says where an object starts.

    Attributes:
        object: The object.
        kind: ``room``, ``inside``, ``hidden``, ``agent`` or ``door``.
        where: The room, object or agent that it starts in.
        path: Where the story says so.
    """

    object: str
    kind: str
    where: str
    path: Path


def mentions(story: Story) -> Iterator[Mention]:
    """Yield every mention of an object's start, in the order of the story."""
    for name, room in story.rooms.items():
        for k, item in enumerate(room.objects):
            yield Mention(item, "room", name, ("rooms", name, "objects", k))
    for name, thing in story.object_details.items():
        base = ("object_details", name)
        for k, item in enumerate(thing.contains):
            yield Mention(item, "inside", name, (*base, "contains", k))
        for k, item in enumerate(thing.hidden_item):
            yield Mention(item, "hidden", name, (*base, "hidden_item", k))
    for n, agent in enumerate(story.agent_setup):
        for k, item in enumerate(agent.initial_inventory):
            path: Path = ("agent_setup", n, "initial_inventory", k)
            yield Mention(item, "agent", agent.agent_id, path)


def doors(story: Story) -> Iterator[Mention]:
    """Yield every door of an exit; one door may be in two exits, one on each side."""
    for name, room in story.rooms.items():
        for direction, way in room.exits.items():
            if way.door is not None:
                yield Mention(way.door, "door", name, ("rooms", name, "exits", direction, "door"))


def all_objects(story: Story) -> tuple[str, ...]:
    """Return every object of a story once: first those of `object_details`, then the others."""
    found = dict.fromkeys(story.object_details)
    found.update(dict.fromkeys(mention.object for mention in mentions(story)))
    found.update(dict.fromkeys(mention.object for mention in doors(story)))
    return tuple(found)


def thing_of(story: Story, name: str) -> Thing:
    """Return the details of an object, or those of a plain one."""
    return story.object_details.get(name) or Thing()


def takeable(story: Story) -> dict[str, bool]:
    """Return for every object whether it can be taken.

    An object that is hidden, carried at the start or given to an agent by an event can be taken
    unless the story says otherwise.
    """
    given = {name: thing_of(story, name).can_be_taken for name in all_objects(story)}
    sure = {name: can for name, can in given.items() if can is not None}
    if len(sure) == len(given):
        return sure
    loose = {mention.object for mention in mentions(story) if mention.kind in ("hidden", "agent")}
    loose |= {r.object for r, _ in responses(story) if isinstance(r, SpawnObject) and r.agent_id}
    return {name: sure.get(name, name in loose) for name in given}


def events(story: Story) -> Iterator[tuple[Event, Path]]:
    """Yield every event with its path."""
    for k, event in enumerate(story.events):
        yield event, ("events", k)


def interactions(story: Story) -> Iterator[tuple[Interaction, Path]]:
    """Yield every interaction of an object with its path."""
    for name, thing in story.object_details.items():
        for k, interaction in enumerate(thing.interactions):
            yield interaction, ("object_details", name, "interactions", k)


def responses(story: Story) -> Iterator[tuple[Response, Path]]:
    """Yield every response of events and interactions with its path."""
    for event, path in events(story):
        for k, response in enumerate(event.response):
            yield response, (*path, "response", k)
    for interaction, path in interactions(story):
        for k, response in enumerate(interaction.response):
            yield response, (*path, "response", k)


def flags(story: Story) -> set[str]:
    """Return every flag that can be set in a story."""
    found = {f"has_read_{name}" for name, thing in story.object_details.items() if thing.read_text}
    found |= {flag for agent in story.agent_setup for flag in agent.initial_flags}
    return found | {r.flag_name for r, _ in responses(story) if isinstance(r, SetFlag) and r.value}


def spawned(story: Story) -> set[str]:
    """Return every object that a response makes appear."""
    return {r.object for r, _ in responses(story) if isinstance(r, SpawnObject)}
