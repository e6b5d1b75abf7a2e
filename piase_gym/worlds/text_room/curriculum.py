"""What curricula and tutors can change in a TextRoom: difficulty parameters and elements."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from piase_gym.core.difficulty import (
    Element,
    Fields,
    PerAgentField,
    count_element,
    number_parameter,
)
from piase_gym.errors import ConfigError
from piase_gym.worlds.text_room.config import TextRoomConfig
from piase_gym.worlds.text_room.levels.recall import MOST_DELAY

_THING: Final = ("description", "can_be_taken", "read_text", "contains")


def _is_generated(config: Any) -> bool:
    """Return whether quests are generated; written stories ignore the parameters of quests."""
    return config.story is None


def _only_generated(element: Element) -> Element:
    """Return an element that written stories do not have."""

    def add(config: Any, said: Mapping[str, Any]) -> Fields:
        if config.story is not None:
            raise ConfigError(
                f"TextRoom: a {element.name} can be added to generated quests; "
                "to a written story add an object"
            )
        return element.add(config, said)

    return Element(element.name, element.description, element.options, add)


def _object(config: Any, said: Mapping[str, Any]) -> Fields:
    """Add an object to a room of a written story."""
    if config.story is None:
        raise ConfigError(
            "TextRoom: an object can be added to a written story; generated quests have "
            "distractor and room"
        )
    story = config.story.model_dump(mode="json", exclude_unset=True)
    room, name = said["room"], said["name"]
    if room not in config.story.rooms:
        known = ", ".join(config.story.rooms)
        raise ConfigError(f"TextRoom: there is no room {room!r}; rooms are {known}")
    if name in config.story.object_details or any(
        name in other.objects for other in config.story.rooms.values()
    ):
        raise ConfigError(f"TextRoom: there is an object {name!r} already; give another name")
    place = story["rooms"][room]
    place["objects"] = [*place.get("objects", ()), name]
    details = {key: said[key] for key in _THING if key in said}
    story["object_details"] = {**story.get("object_details", {}), name: details}
    return {"story": story}


_number: Final = functools.partial(number_parameter, TextRoomConfig)
DIFFICULTY_PARAMETERS: Final = (
    _number("depth", "obstacles on the way of a quest", where=_is_generated),
    _number("rooms", "rooms of a quest", where=_is_generated),
    _number("distractors", where=_is_generated),
    _number(
        "recall",
        "steps between cue and choice of a delayed recall",
        low=0,
        high=MOST_DELAY,
        where=lambda config: isinstance(config.recall, int),
    ),
    _number("message_loss", "share of messages that get lost"),
    _number("message_delay"),
    _number("max_steps", harder=-1),
)
"""What `adjust_difficulty` can change."""

ELEMENTS: Final = (
    _only_generated(count_element("distractor", "an object that nobody needs", "distractors")),
    _only_generated(count_element("room", "another room of the quest", "rooms")),
    Element(
        "object",
        "something in a room of a written story",
        ("name", "room", *_THING),
        _object,
        ("name", "room"),
    ),
)
"""What `introduce_element` can add."""


def _casts(config: Any, parts: Mapping[int, Any], lead: int | None) -> Fields:
    """Merge stories that differ only in where agents start and what they have."""
    stories = {number: _story(config, story) for number, story in parts.items()}
    chosen = lead if lead in stories else min(stories)
    first = stories[chosen]
    cast = list(first["agent_setup"])
    for number, story in sorted(stories.items()):
        rest = {key: value for key, value in story.items() if key != "agent_setup"}
        if rest == {key: value for key, value in first.items() if key != "agent_setup"}:
            if number < len(cast):
                cast[number] = story["agent_setup"][number]
        elif chosen != lead:
            names = config.names()
            raise ConfigError(
                f"TextRoom: the stories of {names[chosen]} and {names[number]} differ in more than "
                "their agent_setup; make them alike, or name a 'lead' in a curriculum, whose story "
                "is then played"
            )
    return {"story": {**first, "agent_setup": cast}}


def _story(config: Any, story: Any) -> dict[str, Any]:
    """Return a story as plain values, checked."""
    found: dict[str, Any] = config.changed({"story": story}).story.model_dump(mode="json")
    return found


PER_AGENT_FIELDS: Final = {"story": PerAgentField(lambda story: story is not None, _casts)}
"""Fields in which each agent may have a part of its own: its place and its things in the story."""
