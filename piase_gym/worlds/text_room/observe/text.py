"""TextRoom's canonical text: facts as prose, and facts read back from it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.text_encoding import one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.text_room.actions import vocabulary
from piase_gym.worlds.text_room.config import (
    MAX_FEEDBACK,
    MAX_MESSAGE,
    TextRoomConfig,
    TextRoomEnvelope,
)
from piase_gym.worlds.text_room.facts import (
    STATES,
    HeldObject,
    KnownExit,
    PastRoom,
    PastThing,
    StepFacts,
    TextRoomFacts,
    VisibleObject,
)
from piase_gym.worlds.text_room.levels.story_rules import DIRECTIONS
from piase_gym.worlds.texts.letters import letter_line, native_text, read_letters
from piase_gym.worlds.texts.lines import LineReader
from piase_gym.worlds.texts.wording import article, counted, listing, printable, spaced


def text_of(facts: TextRoomFacts) -> str:
    """Write the facts as prose, each of them once."""
    step = StepFacts(facts.stats, facts.messages, facts.past, facts.feedback, facts.hint)
    return text_with(scene_of(facts), facts.goal, step)


def text_with(scene: str, goal: str, step: StepFacts) -> str:
    """Write the same, given a scene that `scene_of` wrote already."""
    lines = [] if step.feedback is None else [f"Result: {one_line(step.feedback)}"]
    lines.append(scene)
    lines += [f"Your {printable(name)} is {value:.10g}." for name, value in step.stats]
    if goal:
        lines.append(f"Your goal: {_goal(goal)}")
    lines += [_past(room) for room in step.past]
    lines += [letter_line(letter) for letter in step.messages]
    if step.hint is not None:
        lines.append(f"Hint: {one_line(step.hint)}")
    return "\n".join(lines)


def scene_of(facts: TextRoomFacts) -> str:
    """Write what is seen and held, and who is there."""
    lines = [f"You are {facts.agent}, in the {printable(facts.room)}."]
    if facts.description:
        lines.append(f"Around you: {_free_line(facts.description)}")
    lines.append(f"You can go {_ways(facts.exits)}." if facts.exits else "There is no way out.")
    filled = {thing.inside for thing in facts.objects} | {way.door for way in facts.exits}
    lines += [_object(thing, thing.name not in filled) for thing in facts.objects]
    lines.append(f"You carry {', '.join(map(_held, facts.inventory)) or 'nothing'}.")
    lines += [f"{name} is here." for name in facts.others]
    return "\n".join(lines)


def _ways(ways: Sequence[KnownExit]) -> str:
    return "; ".join([_way(*way) for way in ways])


@functools.lru_cache(maxsize=4096)
def _way(direction: str, door: str, to: str) -> str:
    """Write ``west through the oak door to the kitchen``."""
    through = f" through the {printable(door)}" if door else ""
    return f"{direction}{through}{f' to the {printable(to)}' if to else ''}"


def _goal(goal: str) -> str:
    """Write a goal: in a generated quest it is an item."""
    return _free_line(goal) if goal[-1] == "." else f"take the {printable(goal)}."


_SHOWN = {state: f" ({state})" if state else "" for state in STATES}
_SHOWN["unlocked"] = " (closed, unlocked)"
_STATE = {shown.strip(" ()"): state for state, shown in _SHOWN.items()} | {"open, empty": "open"}
_STATES = "|".join(filter(None, _STATE))


def _held(held: HeldObject) -> str:
    return f"the {printable(held.name)}{_SHOWN[held.state]}"


def _past(room: PastRoom) -> str:
    """Write what is remembered of a room."""
    when = f"seen {counted(room.age, 'step')} ago" if room.age else "where you are"
    ways = f" Ways: {_ways(room.exits)}." if room.exits else ""
    things = "; ".join([_past_thing(thing, room.age) for thing in room.things])
    return f"You remember the {printable(room.name)}, {when}.{ways}" + (
        f" Things: {things}." if things else ""
    )


def _past_thing(thing: PastThing, age: int) -> str:
    inside = f" in the {printable(thing.inside)}" if thing.inside else ""
    when = f", seen {counted(thing.age, 'step')} ago" if thing.age != age else ""
    return f"the {printable(thing.name)}{inside}{_SHOWN[thing.state]}{when}"


@functools.lru_cache(maxsize=4096)
def _plain_look(name: str) -> str:
    """Return the description that says no more than the name."""
    return f"{article(spaced(name))} {spaced(name)}."


_free_line = functools.lru_cache(maxsize=4096)(one_line)
"""Writes a free string on one line; cached, as the same descriptions recur."""


def _object(thing: VisibleObject, empty: bool) -> str:
    """Write an object in sight; if it is an open container with nothing in it, say so."""
    name, description = printable(thing.name), thing.description
    more = f" in the {printable(thing.inside)}" if thing.inside else ""
    more += " (open, empty)" if empty and thing.state == "open" else _SHOWN[thing.state]
    if description == _plain_look(thing.name):
        return f"You see {article(spaced(thing.name))} {name}{more}."
    return f"You see the {name}{more}{f': {_free_line(description)}' if description else '.'}"


_HEAD = re.compile(r"You are ([\w.-]+), in the (.+)\.")
_AROUND = re.compile(r"Around you: (.+)")
_WAYS = re.compile(r"You can go (.+)\.")
_NO_WAY = re.compile(r"There is no way out\.")
_SEE = re.compile(rf"You see (the|an?) (.+?)(?: \(({_STATES})\))?(?::\ (.+)|\.)")
_CARRY = re.compile(r"You carry (.+)\.")
_HELD = re.compile(rf"the (.+?)(?: \(({_STATES})\))?")
_HERE = re.compile(r"([\w.-]+) is here\.")
_BODY = re.compile(r"Your (.+) is (-?\d[\d.e+-]*)\.")
_GOAL = re.compile(r"Your goal: (.+)")
_TAKE = re.compile(r"take the (.+)\.")
_AGO = r"seen (\d+) steps? ago"
_PAST = re.compile(
    rf"You remember the (.+?), (?:where you are|{_AGO})\."
    r"(?: Ways: ([^.]+)\.)?(?: Things: ([^.]+)\.)?"
)
_PAST_THING = re.compile(rf"the (.+?)(?: \(({_STATES})\))?(?:, {_AGO})?")
_RESULT = re.compile(r"Result: (.*)")
_BETWEEN_HELD = re.compile(", (?=the )")


class _Names:
    """Finds names by the form in which texts show them."""

    def __init__(self, lines: LineReader, rooms: Sequence[str], objects: Sequence[str]) -> None:
        self.lines = lines
        self.rooms = {printable(name): name for name in rooms}
        self.objects = {printable(name): name for name in objects}

    def thing(self, match: re.Match[str]) -> VisibleObject:
        """Read a line about an object in sight."""
        first, shown, state, description = match.groups()
        name, inside = self._inside(shown)
        look = unescape(description) if description else ""
        if first != "the":
            self.lines.require(not look and first == article(spaced(name)), "another article")
            look = _plain_look(name)
        return VisibleObject(name, inside, _STATE[state or ""], look)

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

    def held(self, shown: str) -> tuple[HeldObject, ...]:
        """Read what is carried."""
        if shown == "nothing":
            return ()
        found = []
        for part in _BETWEEN_HELD.split(shown):
            match = _HELD.fullmatch(part)
            if match is None:
                raise self.lines.error(part)
            name = self.lines.name(match.group(1), self.objects)
            found.append(HeldObject(name, _STATE[match.group(2) or ""]))
        return tuple(found)

    def ways(self, shown: str) -> tuple[KnownExit, ...]:
        """Read the ways out."""
        found = []
        for part in shown.split("; "):
            direction, _, names = part.partition(" ")
            if direction not in DIRECTIONS:
                raise self.lines.error(part)
            found.append(KnownExit(direction, *self._door_and_room(names)))
        return tuple(found)

    def _door_and_room(self, shown: str) -> tuple[str, str]:
        """Read ``through the oak door to the kitchen``, either part of which may be missing."""
        if shown.startswith("to the ") and shown[7:] in self.rooms:
            return "", self.rooms[shown[7:]]
        if not shown.startswith("through the "):
            return ("", "") if not shown else ("", self.lines.name(shown, {}))
        parts = shown.removeprefix("through the ").split(" to the ")
        for cut in range(1, len(parts)):
            door, room = " to the ".join(parts[:cut]), " to the ".join(parts[cut:])
            if door in self.objects and room in self.rooms:
                return self.objects[door], self.rooms[room]
        return self.lines.name(" to the ".join(parts), self.objects), ""

    def past(self, match: re.Match[str]) -> PastRoom:
        """Read what is remembered of a room."""
        name, ago, ways, things = match.groups()
        age = int(ago or 0)
        found = [self._past_thing(part, age) for part in (things or "").split("; ") if part]
        room = self.lines.name(name, self.rooms)
        return PastRoom(room, age, self.ways(ways) if ways else (), tuple(found))

    def _past_thing(self, shown: str, age: int) -> PastThing:
        match = _PAST_THING.fullmatch(shown)
        if match is None:
            raise self.lines.error(shown)
        names, state, ago = match.groups()
        return PastThing(*self._inside(names), _STATE[state or ""], int(ago) if ago else age)

    def goal(self, shown: str, generated: bool) -> str:
        """Read a goal: in a generated quest it is an item."""
        if not generated:
            return unescape(shown)
        match = _TAKE.fullmatch(shown)
        return self.lines.name(match.group(1) if match else shown, self.objects)


def parse(text: str, config: TextRoomConfig) -> TextRoomFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes.
    """
    words = vocabulary(config)
    lines = LineReader("TextRoom", text)
    names = _Names(lines, words.rooms, tuple(words.objects))
    agents = {name: name for name in words.agents}
    result = lines.free(_RESULT)
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
        goal=names.goal(goal[1], config.story is None) if (goal := lines.next(_GOAL)) else "",
        past=tuple(names.past(match) for match in lines.every(_PAST)),
        messages=tuple(read_letters(lines, words.agents)),
        feedback=result,
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
    names = 12 * 450
    past = envelope.memory * (envelope.rooms * (500 + 12 * 900) + envelope.objects * 1300)
    return 1200 + names + past + envelope.text + letters + bodies + 10 * MAX_FEEDBACK + HINT_TEXT


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
"""The types of the perceptions of `surroundings_of`, by name."""


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
    sought = "" if facts.goal.endswith(".") else facts.goal
    lines += [f"Find the {spaced(sought)}."] if sought else []
    return native_text(lines, facts.messages, facts.hint)


def _brief(thing: VisibleObject) -> str:
    where = f" in {spaced(thing.inside)}" if thing.inside else ""
    shut = thing.state in ("closed", "locked", "unlocked")
    state = " (closed)" if shut else " (open)" * (thing.state == "open")
    return spaced(thing.name) + where + state
