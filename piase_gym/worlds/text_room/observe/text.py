"""TextRoom's canonical text: facts as prose, and facts read back from it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.text_encoding import escape, one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.text_room.actions import vocabulary
from piase_gym.worlds.text_room.config import (
    MAX_FEEDBACK,
    MAX_MESSAGE,
    TextRoomConfig,
    TextRoomEnvelope,
)
from piase_gym.worlds.text_room.facts import (
    Held,
    Seen,
    TextRoomFacts,
    Way,
)
from piase_gym.worlds.text_room.levels.story_rules import DIRECTIONS
from piase_gym.worlds.texts.letters import letter_line, read_letters
from piase_gym.worlds.texts.lines import LineReader
from piase_gym.worlds.texts.wording import listing, printable, spaced


def text_of(facts: TextRoomFacts) -> str:
    """Write the facts as prose, each of them once."""
    lines = [f"You are {facts.agent}, in the {printable(facts.room)}."]
    if facts.description:
        lines.append(f"Around you: {_free_line(facts.description)}")
    ways = ", ".join(_way(way) for way in facts.exits)
    lines.append(f"You can go {ways}." if ways else "There is no way out.")
    lines += [_object(thing) for thing in facts.objects]
    lines.append(f"You carry {', '.join(map(_held, facts.inventory)) or 'nothing'}.")
    lines += [f"{name} is here." for name in facts.others]
    lines += [f"Your {printable(name)} is {value:.10g}." for name, value in facts.stats]
    if facts.goal:
        lines.append(f"Your goal is the {printable(facts.goal)}.")
    lines += [letter_line(letter) for letter in facts.messages]
    if facts.feedback is not None:
        lines.append(f"Result: {one_line(facts.feedback)}")
    if facts.hint is not None:
        lines.append(f"Hint: {one_line(facts.hint)}")
    return "\n".join(lines)


def _way(way: Way) -> str:
    return f"{way.direction} through the {printable(way.door)}" if way.door else way.direction


def _held(held: Held) -> str:
    return (
        f"the {printable(held.name)} ({held.state})"
        if held.state
        else f"the {printable(held.name)}"
    )


_free_line = functools.lru_cache(maxsize=4096)(one_line)
"""Writes a free string on one line; descriptions come again and again."""


def _object(thing: Seen) -> str:
    inside = f" in the {printable(thing.inside)}" if thing.inside else ""
    state = f" ({thing.state})" if thing.state else ""
    description = f": {_free_line(thing.description)}" if thing.description else "."
    return f"You see the {printable(thing.name)}{inside}{state}{description}"


_HEAD = re.compile(r"You are ([\w.-]+), in the (.+)\.")
_AROUND = re.compile(r"Around you: (.+)")
_WAYS = re.compile(r"You can go (.+)\.")
_NO_WAY = re.compile(r"There is no way out\.")
_SEE = re.compile(r"You see the (.+?)(?: \((open|closed)\))?(?::\ (.+)|\.)")
_CARRY = re.compile(r"You carry (.+)\.")
_HELD = re.compile(r"the (.+?)(?: \((open|closed)\))?")
_HERE = re.compile(r"([\w.-]+) is here\.")
_BODY = re.compile(r"Your (.+) is (-?\d[\d.e+-]*)\.")
_GOAL = re.compile(r"Your goal is the (.+)\.")
_RESULT = re.compile(r"Result: (.*)")


class _Names:
    """Finds names by the way in which texts show them."""

    def __init__(self, lines: LineReader, rooms: Sequence[str], objects: Sequence[str]) -> None:
        self.lines = lines
        self.rooms = {printable(name): name for name in rooms}
        self.objects = {printable(name): name for name in objects}

    def thing(self, match: re.Match[str]) -> Seen:
        """Read a line about an object in sight."""
        shown, state, description = match.groups()
        name, inside = self._inside(shown)
        return Seen(name, inside, state or "", unescape(description) if description else "")

    def _inside(self, shown: str) -> tuple[str, str]:
        """Read ``coin`` or ``coin in the box``."""
        if shown in self.objects:
            return self.objects[shown], ""
        parts = shown.split(" in the ")
        for cut in range(1, len(parts)):
            name, host = " in the ".join(parts[:cut]), " in the ".join(parts[cut:])
            if name in self.objects and host in self.objects:
                return self.objects[name], self.objects[host]
        raise self.lines.error(shown)

    def held(self, shown: str) -> tuple[Held, ...]:
        """Read what is carried."""
        if shown == "nothing":
            return ()
        found = []
        for part in shown.split(", "):
            match = _HELD.fullmatch(part)
            if match is None:
                raise self.lines.error(part)
            found.append(Held(self.lines.name(match.group(1), self.objects), match.group(2) or ""))
        return tuple(found)

    def ways(self, shown: str) -> tuple[Way, ...]:
        """Read the ways out."""
        found = []
        for part in shown.split(", "):
            direction, _, door = part.partition(" through the ")
            if direction not in DIRECTIONS:
                raise self.lines.error(part)
            found.append(Way(direction, self.lines.name(door, self.objects) if door else ""))
        return tuple(found)


def parse(text: str, config: TextRoomConfig) -> TextRoomFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes.
    """
    words = vocabulary(config)
    lines = LineReader("TextRoom", text)
    names = _Names(lines, words.rooms, tuple(words.objects))
    agents = {name: name for name in words.agents}
    head = lines.need(_HEAD)
    around = lines.free(_AROUND)
    ways = lines.next(_WAYS)
    if ways is None:
        lines.need(_NO_WAY)
    facts = TextRoomFacts(
        agent=lines.name(head.group(1), agents),
        room=lines.name(head.group(2), names.rooms),
        description=around or "",
        exits=names.ways(ways.group(1)) if ways else (),
        objects=tuple(names.thing(match) for match in lines.every(_SEE)),
        inventory=names.held(lines.need(_CARRY).group(1)),
        others=tuple(lines.name(match.group(1), agents) for match in lines.every(_HERE)),
        stats=tuple(_stats(lines, words.stats)),
        goal=lines.name(goal.group(1), names.objects) if (goal := lines.next(_GOAL)) else "",
        messages=tuple(read_letters(lines, words.agents)),
        feedback=lines.free(_RESULT),
        hint=lines.hint(),
    )
    lines.require_end()
    return facts


def _stats(lines: LineReader, known: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Read the numbers of the body."""
    shown = {printable(name): name for name in known}
    for match in lines.every(_BODY):
        name = match.group(1)
        try:
            value = float(match.group(2))
        except ValueError:
            raise lines.error(match.group()) from None
        if name not in shown or f"{value:.10g}" != match.group(2):
            raise lines.error(match.group())
        yield shown[name], value


def longest_text(envelope: TextRoomEnvelope) -> int:
    """Return an upper bound for the length of a text; one character may be escaped as ten."""
    letters = envelope.agents * (120 + 10 * MAX_MESSAGE)
    bodies = envelope.stats * 100 + envelope.agents * 60
    return 1200 + envelope.text + letters + bodies + 10 * MAX_FEEDBACK + HINT_TEXT


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
