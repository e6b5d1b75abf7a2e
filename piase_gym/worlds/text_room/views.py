"""TextRoom's views: facts as a vector, as prose, and in the seed's words; and back from the prose.

The vector is float32; see `vector_of` for its layout.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.errors import TextParseError
from piase_gym.mailbox import EVERYONE, Letter
from piase_gym.surroundings import Surroundings, Thing
from piase_gym.textcode import HINT_CODE, escape, hash_text, one_line, unescape
from piase_gym.world import HINT_TEXT, Facts
from piase_gym.worlds.text_room.config import (
    MAX_FEEDBACK,
    MAX_MESSAGE,
    TextRoomConfig,
    TextRoomEnvelope,
)
from piase_gym.worlds.text_room.lexicon import Vocabulary, vocabulary
from piase_gym.worlds.text_room.story import DIRECTIONS
from piase_gym.worlds.text_room.triggers import LIMIT

SYSTEM = "system"
"""The sender of what events tell agents."""
YOU = "you"
"""The recipient, in facts, of a letter that is to one agent alone."""
STATES = ("", "closed", "open")
_NUMBERS = {direction: k for k, direction in enumerate(DIRECTIONS)}
OBJECT_CODE = 4
"""Numbers of an object in a vector: place, state, looks, and whether it is the goal."""
LETTER_CODE = 2 + HINT_CODE
"""Numbers of a letter in a vector: its sender, whether it is to all, and its words."""


class Seen(NamedTuple):
    """An object in sight.

    Attributes:
        name: Its name.
        inside: The object that it is in, or "".
        state: ``open``, ``closed`` or "".
        description: How it looks.
    """

    name: str
    inside: str
    state: str
    description: str


class Held(NamedTuple):
    """An object in hand: its name, and ``open``, ``closed`` or ""."""

    name: str
    state: str


class Way(NamedTuple):
    """A way out: its direction, and the door in it or ""."""

    direction: str
    door: str


@dataclass(frozen=True, kw_only=True)
class TextRoomFacts(Facts):
    """What one agent of TextRoom may know.

    Attributes:
        room: Where the agent is.
        description: How the room looks.
        exits: The ways out.
        objects: What is in sight, besides doors' other sides and what is carried.
        inventory: What the agent carries.
        others: Who else is here.
        stats: Numbers of its body, by name.
        goal: The item that a generated quest asks for, or "".
        feedback: What became of its last command, in words.
    """

    room: str
    description: str
    exits: tuple[Way, ...]
    objects: tuple[Seen, ...]
    inventory: tuple[Held, ...]
    others: tuple[str, ...]
    stats: tuple[tuple[str, float], ...]
    goal: str
    feedback: str | None


class Passing(NamedTuple):
    """What one agent knows of a step: its body, letters, what became of its command, a hint."""

    stats: tuple[tuple[str, float], ...]
    messages: tuple[Letter, ...]
    feedback: str | None
    hint: str | None


def longest_text(envelope: TextRoomEnvelope) -> int:
    """Return an upper bound for the length of a text; one character may be escaped as ten."""
    letters = envelope.agents * (120 + 10 * MAX_MESSAGE)
    bodies = envelope.stats * 100 + envelope.agents * 60
    return 1200 + envelope.text + letters + bodies + 10 * MAX_FEEDBACK + HINT_TEXT


# -- the vector --------------------------------------------------------------------------------


def vector_size(envelope: TextRoomEnvelope) -> int:
    """Return the length of the vectors."""
    objects, letters = OBJECT_CODE * envelope.objects, LETTER_CODE * envelope.agents
    return first_object(envelope) + objects + letters + 2 * HINT_CODE


def vector_box(envelope: TextRoomEnvelope) -> Box:
    """Return the space of the vectors."""
    size = vector_size(envelope)
    low = np.zeros(size, np.float32)
    high = np.full(size, 255.0, np.float32)
    start = first_agent(envelope) + envelope.agents
    low[start : start + envelope.stats] = -LIMIT
    high[start : start + envelope.stats] = LIMIT
    top = max(255.0, 3.0 + envelope.objects)
    high[start + envelope.stats : size - envelope.agents * LETTER_CODE - 2 * HINT_CODE] = top
    return Box(low, high, dtype=np.float32)


@functools.lru_cache(maxsize=4096)
def _code(text: str | None) -> NDArray[np.float32]:
    """Return the lossy code of a string, which nobody changes."""
    return hash_text(text).astype(np.float32)


@functools.lru_cache(maxsize=4096)
def byte_of(text: str) -> int:
    """Return one byte that stands for a string; 0 for none."""
    return sum(k * int(c) for k, c in enumerate(_code(text), 1)) % 255 + 1 if text else 0


def vector_of(facts: TextRoomFacts, words: Vocabulary) -> NDArray[np.float32]:
    """Return the vector of the facts.

    In order: the agent's number; the room, one-hot; 8 numbers of hashed description; a 1 for each
    agent that is here; the stats; for each of the 12 directions 1 if there is a way, then the
    number of the door in it (from 1) or 0; for each object 4 numbers: 0 out of sight, 1 here, 2
    carried, 3 + number of the object that it is in; 0 nothing, 1 closed, 2 open; a byte of its
    hashed description; 1 if it is the goal. Then for each letter its sender (agents from 1, the
    system after them), 1 if it is to all and 8 hashed numbers; 8 of feedback and 8 of hint.
    Objects are numbered with those that can be taken first.
    """
    envelope = words.envelope
    row = np.zeros(vector_size(envelope), np.float32)
    row[0] = words.agents.index(facts.agent)
    put_room(row, words, facts.room, facts.description, facts.exits)
    for name in facts.others:
        row[first_agent(envelope) + words.agents.index(name)] = 1
    _put_objects(row, first_object(envelope), facts, words)
    if facts.goal:
        put_goal(row, words, facts.goal)
    passing = Passing(facts.stats, facts.messages, facts.feedback, facts.hint)
    complete(row, passing, words)
    return row


def first_agent(envelope: TextRoomEnvelope) -> int:
    """Return where it stands in a vector who is here."""
    return 1 + envelope.rooms + HINT_CODE


def first_object(envelope: TextRoomEnvelope) -> int:
    """Return where the objects begin in a vector."""
    return first_agent(envelope) + envelope.agents + envelope.stats + 2 * len(DIRECTIONS)


def put_room(
    row: NDArray[np.float32], words: Vocabulary, room: str, description: str, exits: Iterable[Way]
) -> None:
    """Write a room and its ways out into a vector that has zeros there."""
    envelope = words.envelope
    row[1 + words.rooms.index(room)] = 1
    row[1 + envelope.rooms : first_agent(envelope)] = _code(description)
    place = first_object(envelope) - 2 * len(DIRECTIONS)
    for direction, door in exits:
        number = _NUMBERS[direction]
        row[place + number] = 1
        if door:
            row[place + len(DIRECTIONS) + number] = 1 + words.objects[door]


def put_goal(row: NDArray[np.float32], words: Vocabulary, goal: str) -> None:
    """Mark the object that an agent looks for."""
    row[first_object(words.envelope) + OBJECT_CODE * words.objects[goal] + 3] = 1


def complete(row: NDArray[np.float32], passing: Passing, words: Vocabulary) -> None:
    """Write what is of the step into a vector that has zeros there."""
    stats, messages, feedback, hint = passing
    envelope = words.envelope
    if stats:
        start = first_agent(envelope) + envelope.agents
        for name, value in stats:
            row[start + words.stats.index(name)] = value
    if messages:
        place = len(row) - 2 * HINT_CODE - envelope.agents * LETTER_CODE
        for letter in messages[: envelope.agents]:
            known = letter.sender in words.agents
            row[place] = 1 + (words.agents.index(letter.sender) if known else envelope.agents)
            row[place + 1] = letter.recipient == EVERYONE
            row[place + 2 : place + LETTER_CODE] = _code(letter.message)
            place += LETTER_CODE
    if feedback is not None:
        row[-2 * HINT_CODE : -HINT_CODE] = _code(feedback)
    if hint is not None:
        row[-HINT_CODE:] = _code(hint)


def to_you(letter: Letter) -> Letter:
    """Return a letter as its reader sees it."""
    return letter if letter.recipient == EVERYONE else letter._replace(recipient=YOU)


def _put_objects(
    row: NDArray[np.float32], start: int, facts: TextRoomFacts, words: Vocabulary
) -> None:
    """Write the numbers of all objects into a vector."""
    for thing in facts.objects:
        place = start + OBJECT_CODE * words.objects[thing.name]
        row[place] = 3 + words.objects[thing.inside] if thing.inside else 1
        row[place + 1] = STATES.index(thing.state)
        row[place + 2] = byte_of(thing.description)
    for held in facts.inventory:
        place = start + OBJECT_CODE * words.objects[held.name]
        row[place] = 2
        row[place + 1] = STATES.index(held.state)


# -- the text ----------------------------------------------------------------------------------


def text_of(facts: TextRoomFacts) -> str:
    """Write the facts as prose, each of them once."""
    lines = [f"You are {facts.agent}, in the {_show(facts.room)}."]
    if facts.description:
        lines.append(f"Around you: {_free_line(facts.description)}")
    ways = ", ".join(_way(way) for way in facts.exits)
    lines.append(f"You can go {ways}." if ways else "There is no way out.")
    lines += [_object(thing) for thing in facts.objects]
    lines.append(f"You carry {', '.join(map(_held, facts.inventory)) or 'nothing'}.")
    lines += [f"{name} is here." for name in facts.others]
    lines += [f"Your {_show(name)} is {value:.10g}." for name, value in facts.stats]
    if facts.goal:
        lines.append(f"Your goal is the {_show(facts.goal)}.")
    lines += [_letter(letter) for letter in facts.messages]
    if facts.feedback is not None:
        lines.append(f"Result: {one_line(facts.feedback)}")
    if facts.hint is not None:
        lines.append(f"Hint: {one_line(facts.hint)}")
    return "\n".join(lines)


@functools.lru_cache(maxsize=4096)
def _show(name: str) -> str:
    """Write a name as people do."""
    return escape(name.replace("_", " "))


def _way(way: Way) -> str:
    return f"{way.direction} through the {_show(way.door)}" if way.door else way.direction


def _held(held: Held) -> str:
    return f"the {_show(held.name)} ({held.state})" if held.state else f"the {_show(held.name)}"


_free_line = functools.lru_cache(maxsize=4096)(one_line)
"""Writes a free string on one line; descriptions come again and again."""


def _object(thing: Seen) -> str:
    inside = f" in the {_show(thing.inside)}" if thing.inside else ""
    state = f" ({thing.state})" if thing.state else ""
    told = f": {_free_line(thing.description)}" if thing.description else "."
    return f"You see the {_show(thing.name)}{inside}{state}{told}"


def _letter(letter: Letter) -> str:
    says = "says" if letter.recipient == EVERYONE else "tells you"
    return f"{letter.sender} {says}: {one_line(letter.message)}"


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
_SAYS = re.compile(r"([\w.-]+) (says|tells you): (.*)")
_TOLD = re.compile(r"Result: (.*)")
_HINT = re.compile(r"Hint: (.*)")


def _wrong(shown: str) -> TextParseError:
    return TextParseError(f"TextRoom: cannot read {shown[:80]!r}")


class _Lines:
    """Takes lines off a text, one after the other."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")

    def maybe(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take the next line if it is of this form."""
        match = pattern.fullmatch(self.lines[0]) if self.lines else None
        if match is not None:
            del self.lines[0]
        return match

    def take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Take the next line, which must be of this form."""
        match = self.maybe(pattern)
        if match is None:
            raise _wrong(self.lines[0] if self.lines else "the end")
        return match

    def all(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Take every next line of this form."""
        while (match := self.maybe(pattern)) is not None:
            yield match


class _Names:
    """Finds names by the way in which texts show them."""

    def __init__(self, rooms: Sequence[str], objects: Sequence[str], agents: Sequence[str]) -> None:
        self.rooms = {_show(name): name for name in rooms}
        self.objects = {_show(name): name for name in objects}
        self.agents = {name: name for name in agents}

    def one(self, shown: str, known: dict[str, str]) -> str:
        """Return the name that is shown so."""
        if shown not in known:
            raise _wrong(shown)
        return known[shown]

    def thing(self, match: re.Match[str]) -> Seen:
        """Read a line about an object in sight."""
        shown, state, told = match.groups()
        name, inside = self._inside(shown)
        return Seen(name, inside, state or "", unescape(told) if told else "")

    def _inside(self, shown: str) -> tuple[str, str]:
        """Read ``coin`` or ``coin in the box``."""
        if shown in self.objects:
            return self.objects[shown], ""
        parts = shown.split(" in the ")
        for cut in range(1, len(parts)):
            name, host = " in the ".join(parts[:cut]), " in the ".join(parts[cut:])
            if name in self.objects and host in self.objects:
                return self.objects[name], self.objects[host]
        raise _wrong(shown)

    def held(self, shown: str) -> tuple[Held, ...]:
        """Read what is carried."""
        if shown == "nothing":
            return ()
        found = []
        for part in shown.split(", "):
            match = _HELD.fullmatch(part)
            if match is None:
                raise _wrong(part)
            found.append(Held(self.one(match.group(1), self.objects), match.group(2) or ""))
        return tuple(found)

    def ways(self, shown: str) -> tuple[Way, ...]:
        """Read the ways out."""
        found = []
        for part in shown.split(", "):
            direction, _, door = part.partition(" through the ")
            if direction not in DIRECTIONS:
                raise _wrong(part)
            found.append(Way(direction, self.one(door, self.objects) if door else ""))
        return tuple(found)


def parse(text: str, config: TextRoomConfig) -> TextRoomFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes.
    """
    words = vocabulary(config)
    names = _Names(words.rooms, tuple(words.objects), (*words.agents, SYSTEM))
    lines = _Lines(text)
    head = lines.take(_HEAD)
    around = lines.maybe(_AROUND)
    ways = lines.maybe(_WAYS)
    if ways is None:
        lines.take(_NO_WAY)
    facts = TextRoomFacts(
        agent=_agent(head.group(1), words.agents),
        room=names.one(head.group(2), names.rooms),
        description=unescape(around.group(1)) if around else "",
        exits=names.ways(ways.group(1)) if ways else (),
        objects=tuple(names.thing(match) for match in lines.all(_SEE)),
        inventory=names.held(lines.take(_CARRY).group(1)),
        others=tuple(_agent(m.group(1), words.agents) for m in lines.all(_HERE)),
        stats=tuple(_stat(lines, words.stats)),
        goal=_goal(lines, names),
        messages=tuple(_read_letter(m, names) for m in lines.all(_SAYS)),
        feedback=_free(lines.maybe(_TOLD)),
        hint=_free(lines.maybe(_HINT)),
    )
    if lines.lines:
        raise _wrong(lines.lines[0])
    return facts


def _agent(name: str, agents: Sequence[str]) -> str:
    if name not in agents:
        raise _wrong(name)
    return name


def _stat(lines: _Lines, known: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Read the numbers of the body."""
    shown = {_show(name): name for name in known}
    for match in lines.all(_BODY):
        name = match.group(1)
        try:
            value = float(match.group(2))
        except ValueError:
            raise _wrong(match.group()) from None
        if name not in shown or f"{value:.10g}" != match.group(2):
            raise _wrong(match.group())
        yield shown[name], value


def _goal(lines: _Lines, names: _Names) -> str:
    match = lines.maybe(_GOAL)
    return names.one(match.group(1), names.objects) if match else ""


def _read_letter(match: re.Match[str], names: _Names) -> Letter:
    sender, says, told = match.groups()
    recipient = EVERYONE if says == "says" else YOU
    return Letter(names.one(sender, names.agents), recipient, unescape(told))


def _free(match: re.Match[str] | None) -> str | None:
    return unescape(match.group(1)) if match else None


# -- the seed's words ----------------------------------------------------------------------------


def seed_description(facts: TextRoomFacts) -> str:
    """Return the description that seed 000 shows, such as ``You are in a ... Exits are north.``."""
    told = facts.description or f"the {facts.room.replace('_', ' ')}."
    ways = [way.direction for way in facts.exits]
    if not ways:
        return f"You are in {told} There are no exits."
    listed = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])} and {ways[-1]}"
    return f"You are in {told} Exits are {listed}."


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
    """Return facts in the words of seed 000, under its perception keys."""
    things = [
        Thing(seen.name, "object", {k: v for k, v in seen._asdict().items() if v and k != "name"})
        for seen in facts.objects
    ]
    people = [Thing(name, "agent") for name in facts.others]
    held = tuple(item.name for item in facts.inventory)
    visible = [{"name": seen.name, "description": seen.description} for seen in facts.objects]
    perceptions: dict[str, Any] = {
        "room_name": facts.room.replace("_", " ").title(),
        "description": seed_description(facts),
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
    """Word the facts as the seed's text adventure does: the answer, the room, what is there."""
    lines = [facts.feedback] if facts.feedback else []
    lines.append(f"[{facts.room.replace('_', ' ').title()}] {seed_description(facts)}")
    if facts.objects:
        lines.append(f"You see: {', '.join(_brief(thing) for thing in facts.objects)}.")
    held = ", ".join(item.name.replace("_", " ") for item in facts.inventory)
    lines.append(f"You are carrying: {held or 'nothing'}.")
    lines += [f"{name} is here." for name in facts.others]
    lines += [f"{name}: {value:g}" for name, value in facts.stats]
    lines += [f"Find the {facts.goal.replace('_', ' ')}."] if facts.goal else []
    lines += [f"{letter.sender}: {letter.message}" for letter in facts.messages]
    lines += [f"Hint: {facts.hint}"] if facts.hint is not None else []
    return escape("\n".join(lines))


def _brief(thing: Seen) -> str:
    where = f" in {thing.inside.replace('_', ' ')}" if thing.inside else ""
    return thing.name.replace("_", " ") + where + (f" ({thing.state})" if thing.state else "")
