"""Household's canonical text: facts as prose, and facts read back from it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from piase_gym.core.mailbox import Message
from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.text_encoding import escape, one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.household.config import MAX_MESSAGE, HouseholdConfig, HouseholdEnvelope
from piase_gym.worlds.household.facts import Held, HouseholdFacts, Place
from piase_gym.worlds.texts.letters import letter_line, read_letters
from piase_gym.worlds.texts.lines import LineReader

LONGEST_NAME = 60
LOOKS = ("clean", "hot", "cool", "sliced")

free_line = functools.lru_cache(maxsize=4096)(one_line)
"""Writes a free string on one line; answers come again and again."""


def text_of(facts: HouseholdFacts) -> str:
    """Write the facts as prose, each of them once."""
    return text_of_parts(
        facts.agent,
        facts.goal,
        map(place_line, facts.places),
        facts.holding,
        facts.others,
        facts.messages,
        "; ".join(facts.commands),
        facts.feedback,
        facts.hint,
    )


def text_of_parts(
    agent: str,
    goal: str,
    places: Any,
    holding: Sequence[Held],
    others: Sequence[str],
    messages: Sequence[Message],
    commands: str,
    feedback: str | None,
    hint: str | None,
) -> str:
    """Write the same, of places and commands that were written already."""
    lines = [f"You are {agent}. Your task is to: {free_line(goal)}", *places]
    lines.append(f"You carry {', '.join(map(_held, holding)) or 'nothing'}.")
    lines += [f"{name} is here." for name in others]
    lines += [letter_line(letter) for letter in messages]
    if commands:
        lines.append(f"You can: {commands}.")
    if feedback is not None:
        lines.append(f"Result: {free_line(feedback)}")
    if hint is not None:
        lines.append(f"Hint: {one_line(hint)}")
    return "\n".join(lines)


def place_line(place: Place) -> str:
    """Write what is known of a receptacle."""
    name, here, state, things = place
    you = ", where you are" if here else ""
    if state == "unseen":
        return f"There is {name}{you}."
    lid = "" if state == "plain" else f" ({state})"
    known = "unknown contents" if things is None else ", ".join(things) or "nothing"
    return f"There is {name}{lid}{you}: {known}."


def _held(held: Held) -> str:
    return f"{held.name} ({' '.join(held.looks)})" if held.looks else held.name


_HEAD = re.compile(r"You are ([\w.-]+)\. Your task is to: (.*)")
_PLACE = re.compile(r"There is (.+?)(?: \((open|closed)\))?(, where you are)?(?:: (.+))?\.")
_CARRY = re.compile(r"You carry (.+)\.")
_HELD = re.compile(r"([^()]+?)(?: \(([a-z ]+)\))?")
_HERE = re.compile(r"([\w.-]+) is here\.")
_CAN = re.compile(r"You can: (.+)\.")
_RESULT = re.compile(r"Result: (.*)")


def parse(text: str, config: HouseholdConfig) -> HouseholdFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes.
    """
    names = config.names(config.fixed_envelope().agents)
    agents = {name: name for name in names}
    lines = LineReader("Household", text)
    head = lines.need(_HEAD)
    facts = HouseholdFacts(
        agent=lines.name(head.group(1), agents),
        goal=unescape(head.group(2)),
        places=tuple(_place(match, lines) for match in lines.every(_PLACE)),
        holding=_read_held(lines.need(_CARRY).group(1), lines),
        others=tuple(lines.name(match.group(1), agents) for match in lines.every(_HERE)),
        messages=tuple(read_letters(lines, names)),
        commands=tuple(match.group(1).split("; ")) if (match := lines.next(_CAN)) else (),
        feedback=lines.free(_RESULT),
        hint=lines.hint(),
    )
    lines.require_end()
    return facts


def _place(match: re.Match[str], lines: LineReader) -> Place:
    """Read a line about a receptacle."""
    name, lid, here, known = match.groups()
    if known is None:
        lines.require(lid is None, "what is unseen is neither open nor closed")
        return Place(name, here is not None, "unseen", None)
    things: tuple[str, ...] | None = tuple(known.split(", "))
    if known == "nothing":
        things = ()
    elif known == "unknown contents":
        things = None
    return Place(name, here is not None, lid or "plain", things)


def _read_held(shown: str, lines: LineReader) -> tuple[Held, ...]:
    """Read what is carried."""
    match = _HELD.fullmatch(shown)
    if match is None:
        raise lines.error(shown)
    if shown == "nothing":
        return ()
    looks = tuple((match[2] or "").split())
    if looks != tuple(look for look in LOOKS if look in looks):
        raise lines.error(shown)
    return (Held(match[1], looks),)


def longest_text(envelope: HouseholdEnvelope) -> int:
    """Return an upper bound for the length of a text; one character may be escaped as ten."""
    places = envelope.receptacles * (LONGEST_NAME + 60) + 2 * envelope.objects * LONGEST_NAME
    commands = envelope.actions * 3 * LONGEST_NAME
    letters = envelope.agents * (120 + 10 * MAX_MESSAGE)
    return 12_000 + places + commands + letters + HINT_TEXT


def native_of(feedback: str, messages: Sequence[Message], hint: str | None) -> str:
    """Return the answer as the games word it, and below it letters and hints."""
    lines = [feedback, *(f"{letter.sender}: {letter.message}" for letter in messages)]
    lines += [f"Hint: {hint}"] if hint is not None else []
    return escape("\n".join(lines))


PERCEPTION_TYPES = {
    "location": "list[string]",
    "goal": "string",
    "receptacles": "list[object]",
    "objects_visible": "list[string]",
    "inventory": "list[string]",
    "others": "list[string]",
    "commands": "list[string]",
    "feedback": "string | None",
}
"""What `surroundings_of` perceives."""


def surroundings_of(facts: HouseholdFacts) -> Surroundings:
    """Return facts in the words of the PiaSE documents."""
    here = [place for place in facts.places if place.here]
    seen = [
        (name, place)
        for place in here
        if place.state in ("plain", "open")
        for name in place.things or ()
    ]
    held = tuple(item.name for item in facts.holding)
    things = [
        Thing(p.name, "receptacle", {} if p.state == "unseen" else {"state": p.state})
        for p in facts.places
    ]
    things += [Thing(name, "object", {"in": place.name}) for name, place in seen]
    things += [Thing(name, "agent") for name in facts.others]
    perceptions: dict[str, Any] = {
        "location": [place.name for place in here],
        "goal": facts.goal,
        "receptacles": [
            {**place._asdict(), "things": None if place.things is None else list(place.things)}
            for place in facts.places
        ],
        "objects_visible": [name for name, _ in seen],
        "inventory": list(held),
        "others": list(facts.others),
        "commands": list(facts.commands),
        "feedback": facts.feedback,
    }
    return Surroundings(
        position=here[0].name if here else None,
        objects=tuple(things),
        inventory=held,
        perceptions=perceptions,
    )
