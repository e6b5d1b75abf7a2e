"""TextRoom's canonical text: facts as prose, and facts read back from it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from piase_gym.core.mailbox import EVERYONE, Letter
from piase_gym.core.text_encoding import one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.errors import TextParseError
from piase_gym.worlds.text_room.config import (
    MAX_FEEDBACK,
    MAX_MESSAGE,
    TextRoomConfig,
    TextRoomEnvelope,
)
from piase_gym.worlds.text_room.facts import (
    SYSTEM,
    Held,
    Seen,
    TextRoomFacts,
    Way,
)
from piase_gym.worlds.text_room.levels.story_rules import DIRECTIONS
from piase_gym.worlds.text_room.levels.vocabulary import vocabulary
from piase_gym.worlds.texts.wording import printable


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
    lines += [_letter(letter) for letter in facts.messages]
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
    told = f": {_free_line(thing.description)}" if thing.description else "."
    return f"You see the {printable(thing.name)}{inside}{state}{told}"


def _letter(letter: Letter) -> str:
    says = "says" if letter.recipient == EVERYONE else f"tells {letter.recipient}"
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
_SAYS = re.compile(r"([\w.-]+) (?:says|tells ([\w.-]+)): (.*)")
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
        self.rooms = {printable(name): name for name in rooms}
        self.objects = {printable(name): name for name in objects}
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
    shown = {printable(name): name for name in known}
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
    sender, recipient, told = match.groups()
    to = EVERYONE if recipient is None else names.one(recipient, names.agents)
    return Letter(names.one(sender, names.agents), to, unescape(told))


def _free(match: re.Match[str] | None) -> str | None:
    return unescape(match.group(1)) if match else None


def longest_text(envelope: TextRoomEnvelope) -> int:
    """Return an upper bound for the length of a text; one character may be escaped as ten."""
    letters = envelope.agents * (120 + 10 * MAX_MESSAGE)
    bodies = envelope.stats * 100 + envelope.agents * 60
    return 1200 + envelope.text + letters + bodies + 10 * MAX_FEEDBACK + HINT_TEXT
