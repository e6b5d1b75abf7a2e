"""TextProbe's views: facts as a vector and as prose, and the way back from the prose.

The vector (uint8): the agent's number, room one-hot, mood, a passage code for each direction,
for each item 0 (not seen), 1 (here) or 2 (carried), who else is here, a slot for each letter
(sender's number + 1 and 8 bytes of hashed words), 8 bytes of feedback and 8 of hint.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.core.text_encoding import HINT_CODE, escape, hash_text, one_line, unescape
from piase_gym.core.world import HINT_TEXT, Facts
from piase_gym.errors import TextParseError
from tests.probes.text_config import (
    DIRECTIONS,
    ITEMS,
    MOODS,
    PASSAGES,
    ROOMS,
    TextProbeConfig,
    TextProbeEnvelope,
)

MAX_FREE = 200
"""Longest hint and feedback in characters."""
MAX_MESSAGE = 80


@dataclass(frozen=True, kw_only=True)
class TextFacts(Facts):
    """What one agent of TextProbe may know.

    Attributes:
        room: Where the agent is.
        mood: How the room looks, a key of the descriptions.
        exits: (direction, passage) of every way out.
        items: What lies here.
        inventory: What the agent carries.
        others: Who else is here.
        feedback: What the agent was last told.
    """

    room: str
    mood: str
    exits: tuple[tuple[str, str], ...]
    items: tuple[str, ...]
    inventory: tuple[str, ...]
    others: tuple[str, ...]
    feedback: str | None


def clip(text: str | None) -> str | None:
    """Cut a free string to what texts have room for."""
    return text if text is None else text[:MAX_FREE]


def longest_text(envelope: TextProbeEnvelope) -> int:
    """Return an upper bound for the length of a text; one character may be escaped as ten."""
    others = envelope.agents * (120 + 10 * MAX_MESSAGE)
    return 600 + 20 * envelope.items + others + 20 + 10 * MAX_FREE + HINT_TEXT


# -- the vector --------------------------------------------------------------------------


def vector_box(envelope: TextProbeEnvelope) -> Box:
    """Return the space of the vectors."""
    slots = envelope.agents - 1
    high = [
        *([3] + [1] * len(ROOMS) + [len(MOODS) - 1] + [len(PASSAGES)] * len(DIRECTIONS)),
        *([2] * envelope.items + [1] * envelope.agents),
        *(([envelope.agents] + [255] * HINT_CODE) * slots),
        *([255] * 2 * HINT_CODE),
    ]
    return Box(np.zeros(len(high), np.uint8), np.array(high, np.uint8), dtype=np.uint8)


def vector_of(
    facts: TextFacts, names: tuple[str, ...], envelope: TextProbeEnvelope
) -> NDArray[np.uint8]:
    """Return the vector of the facts."""
    passages = dict(facts.exits)
    codes = [1 + PASSAGES.index(passages[d]) if d in passages else 0 for d in DIRECTIONS]
    held = set(facts.inventory)
    items = [2 if i in held else int(i in facts.items) for i in ITEMS[: envelope.items]]
    letters = np.zeros((envelope.agents - 1, 1 + HINT_CODE), np.uint8)
    for slot, letter in zip(letters, facts.messages, strict=False):
        slot[0] = names.index(letter.sender) + 1
        slot[1:] = hash_text(letter.message)
    parts = [
        [names.index(facts.agent)],
        [int(room == facts.room) for room in ROOMS],
        [MOODS.index(facts.mood)],
        codes,
        items,
        [int(name in facts.others) for name in names],
        letters.ravel(),
        hash_text(facts.feedback),
        hash_text(facts.hint),
    ]
    return np.concatenate([np.asarray(part, np.uint8) for part in parts])


# -- the text ----------------------------------------------------------------------------


def text_of(facts: TextFacts) -> str:
    """Write the facts as prose, each of them once."""
    lines = [
        f"You are {facts.agent}, standing in the {facts.room}.",
        f"It looks {facts.mood} here.",
        *(f"{_a(passage).capitalize()} leads {way}." for way, passage in facts.exits),
        f"On the floor you see {_listed(facts.items)}.",
        f"You carry {_listed(facts.inventory)}.",
        *(f"{name} is here." for name in facts.others),
        *(f"{item.sender} says: {one_line(item.message)}" for item in facts.messages),
    ]
    if facts.feedback is not None:
        lines.append(f"Result: {one_line(facts.feedback)}")
    if facts.hint is not None:
        lines.append(f"Hint: {one_line(facts.hint)}")
    return "\n".join(lines)


def _a(noun: str) -> str:
    """Put the article before a noun."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _listed(nouns: tuple[str, ...]) -> str:
    """Write a list with articles."""
    return ", ".join(map(_a, nouns)) or "nothing"


_HEAD = re.compile(r"You are ([\w.-]+), standing in the (\w+)\.")
_MOOD = re.compile(r"It looks (\w+) here\.")
_EXIT = re.compile(r"An? ([a-z ]+) leads (\w+)\.")
_FLOOR = re.compile(r"On the floor you see (.+)\.")
_CARRY = re.compile(r"You carry (.+)\.")
_HERE = re.compile(r"([\w.-]+) is here\.")
_SAYS = re.compile(r"([\w.-]+) says: (.*)")
_TOLD = re.compile(r"Result: (.*)")
_HINT = re.compile(r"Hint: (.*)")


class _Lines:
    """Takes lines off a text, one after the other."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")

    def take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Take the next line, which must be of this form."""
        match = pattern.fullmatch(self.lines[0]) if self.lines else None
        if match is None:
            shown = self.lines[0][:80] if self.lines else "the end"
            raise TextParseError(f"TextProbe: cannot read {shown!r}")
        del self.lines[0]
        return match

    def all(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        """Take every next line of this form."""
        found = []
        while self.lines and pattern.fullmatch(self.lines[0]):
            found.append(self.take(pattern))
        return found

    def maybe(self, pattern: re.Pattern[str]) -> str | None:
        """Take the free string of one line of this form, if it comes next."""
        if not self.lines or not pattern.fullmatch(self.lines[0]):
            return None
        return _free(self.take(pattern).group(1))


def _free(text: str) -> str:
    """Undo `one_line`."""
    try:
        return unescape(text)
    except (ValueError, OverflowError) as error:
        raise TextParseError(f"TextProbe: bad escape in {text[:80]!r}: {error}") from None


def _one_of(word: str, known: tuple[str, ...]) -> str:
    """Return a known word."""
    if word not in known:
        raise TextParseError(f"TextProbe: {word[:40]!r} is not known; allowed: {', '.join(known)}")
    return word


def _nouns(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Read a list with articles."""
    if text == "nothing":
        return ()
    bare = (noun.removeprefix("a ").removeprefix("an ") for noun in text.split(", "))
    return tuple(_one_of(noun, known) for noun in bare)


def parse(text: str, config: TextProbeConfig) -> TextFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes.
    """
    envelope = config.fixed_envelope()
    names, items = config.names(envelope.agents), ITEMS[: envelope.items]
    lines = _Lines(text)
    head = lines.take(_HEAD)
    facts = TextFacts(
        agent=_one_of(head.group(1), names),
        room=_one_of(head.group(2), ROOMS),
        mood=_one_of(lines.take(_MOOD).group(1), MOODS),
        exits=tuple(
            (_one_of(m.group(2), DIRECTIONS), _one_of(m.group(1), PASSAGES))
            for m in lines.all(_EXIT)
        ),
        items=_nouns(lines.take(_FLOOR).group(1), items),
        inventory=_nouns(lines.take(_CARRY).group(1), items),
        others=tuple(_one_of(m.group(1), names) for m in lines.all(_HERE)),
        messages=tuple(
            Message(_one_of(m.group(1), names), EVERYONE, _free(m.group(2)))
            for m in lines.all(_SAYS)
        ),
        feedback=lines.maybe(_TOLD),
        hint=lines.maybe(_HINT),
    )
    if lines.lines:
        raise TextParseError(f"TextProbe: cannot read {lines.lines[0][:80]!r}")
    return facts


# -- the second dialect ------------------------------------------------------------------

_PROSE = {
    "damp": "Water drips from somewhere.",
    "dusty": "Nobody has swept here for years.",
    "bright": "Light floods in.",
}


def native_of(facts: TextFacts) -> str:
    """Word the facts in the manner of an old text adventure."""
    ways = ", ".join(f"{way} ({passage})" for way, passage in facts.exits) or "none"
    pick: Callable[[tuple[str, ...]], str] = _listed
    parts = [
        f"-= {facts.room.title()} =-",
        _PROSE[facts.mood],
        f"Exits: {ways}.",
        *([f"There is {pick(facts.items)} lying around."] if facts.items else []),
        *([f"In your pockets: {pick(facts.inventory)}."] if facts.inventory else []),
        *(f"{name} stands next to you." for name in facts.others),
        *(f'{item.sender}: "{item.message}"' for item in facts.messages),
        *([facts.feedback] if facts.feedback else []),
        *([f"(A voice in your head: {facts.hint})"] if facts.hint else []),
        ">",
    ]
    return escape("\n".join(parts))
