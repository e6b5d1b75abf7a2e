"""TextRoom's facts in the design document's words: its description, its perceptions, its text."""

from __future__ import annotations

from typing import Any

from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.text_encoding import escape
from piase_gym.worlds.text_room.facts import Seen, TextRoomFacts
from piase_gym.worlds.texts.wording import listing, spaced


def document_description(facts: TextRoomFacts) -> str:
    """Return the room as the design document does: ``You are in a ... Exits are north.``."""
    text = facts.description or f"the {spaced(facts.room)}."
    ways = [way.direction for way in facts.exits]
    if not ways:
        return f"You are in {text} There are no exits."
    return f"You are in {text} Exits are {listing(ways)}."


PERCEPTION_TYPES = {
    "room_name": "string",
    "description": "string",
    "objects_visible": "list[object]",
    "inventory": "list[string]",
    "exits": "object",
    "others": "list[string]",
    "goal": "string | None",
    "feedback": "string | None",
}
"""What `surroundings_of` perceives."""


def surroundings_of(facts: TextRoomFacts) -> Surroundings:
    """Return facts in the words of the PiaSE design document, under its perception keys."""
    things = [
        Thing(seen.name, "object", {k: v for k, v in seen._asdict().items() if v and k != "name"})
        for seen in facts.objects
    ]
    people = [Thing(name, "agent") for name in facts.others]
    held = tuple(item.name for item in facts.inventory)
    visible = [{"name": seen.name, "description": seen.description} for seen in facts.objects]
    perceptions: dict[str, Any] = {
        "room_name": spaced(facts.room).title(),
        "description": document_description(facts),
        "objects_visible": visible,
        "inventory": list(held),
        "exits": {way.direction: way.door or None for way in facts.exits},
        "others": list(facts.others),
        "goal": facts.goal or None,
        "feedback": facts.feedback,
    }
    return Surroundings(
        position=facts.room,
        objects=(*things, *people),
        inventory=held,
        stats=dict(facts.stats) or None,
        perceptions=perceptions,
    )


def native_of(facts: TextRoomFacts) -> str:
    """Word the facts as the design document does: the answer, the room, what is there."""
    lines = [facts.feedback] if facts.feedback else []
    lines.append(f"[{spaced(facts.room).title()}] {document_description(facts)}")
    if facts.objects:
        lines.append(f"You see: {', '.join(_brief(thing) for thing in facts.objects)}.")
    held = ", ".join(spaced(item.name) for item in facts.inventory)
    lines.append(f"You are carrying: {held or 'nothing'}.")
    lines += [f"{name} is here." for name in facts.others]
    lines += [f"{name}: {value:g}" for name, value in facts.stats]
    lines += [f"Find the {spaced(facts.goal)}."] if facts.goal else []
    lines += [f"{letter.sender}: {letter.message}" for letter in facts.messages]
    lines += [f"Hint: {facts.hint}"] if facts.hint is not None else []
    return escape("\n".join(lines))


def _brief(thing: Seen) -> str:
    where = f" in {spaced(thing.inside)}" if thing.inside else ""
    return spaced(thing.name) + where + (f" ({thing.state})" if thing.state else "")
