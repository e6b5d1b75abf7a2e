"""Household's canonical text: facts as prose, and facts read back from it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from piase_gym.core.mailbox import Message
from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.text_encoding import escape, one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.household.actions import HELP, PHRASES
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
    return text_with(facts, map(shown_of, facts.places))


def text_with(facts: Any, places: Iterable[Shown]) -> str:
    """Write the same of anything with the fields of facts, of places that were written already."""
    lines = [] if facts.feedback is None else [f"Result: {free_line(facts.feedback)}"]
    lines.append(f"You are {facts.agent}. Task: {free_line(facts.goal)}")
    lines += _known_lines(places)
    lines.append(f"You carry {', '.join(map(_held, facts.holding)) or 'nothing'}.")
    lines += [f"{name} is here." for name in facts.others]
    lines += [letter_line(letter) for letter in facts.messages]
    if facts.commands:
        lines.append(_commands_line(facts.commands))
    if facts.hint is not None:
        lines.append(f"Hint: {one_line(facts.hint)}")
    return "\n".join(lines)


Shown = tuple[int, str]
"""A receptacle as it is written: the place in `_PARTS` of the line that tells of it, and how."""
_ALIKE = {
    ("plain", False): "Empty",
    ("open", False): "Open and empty",
    ("closed", False): "Closed and empty",
    ("closed", True): "Closed and not looked into",
    ("plain", True): "Not looked into",
    ("open", True): "Open and not looked into",
    ("unseen", True): "Not seen yet",
    ("unseen", False): "Not seen and empty",
}
"""What is said in one line of all receptacles of a state whose contents are unknown, or not."""
_PARTS = {("here", False): 0, ("seen", False): 1} | {key: k for k, key in enumerate(_ALIKE, 2)}


def shown_of(place: Place) -> Shown:
    """Write what is known of a receptacle."""
    name, is_here, state, things = place
    if is_here:
        contents = "" if things is None else f": {', '.join(things) or 'nothing'}"
        return _PARTS["here", False], f"You are at {name}{_LIDS[state]}{contents}."
    if things:
        return _PARTS["seen", False], f"{name}{_LIDS[state]}: {', '.join(things)}"
    return _PARTS[state, things is None], name


def _known_lines(places: Iterable[Shown]) -> list[str]:
    """Write what is known of receptacles, each of which is named once."""
    parts: list[list[str]] = [[] for _ in _PARTS]
    for part, shown in places:
        parts[part].append(shown)
    lines = parts[0]
    if parts[1]:
        lines.append(f"You saw {'; '.join(parts[1])}.")
    for names, shown in zip(parts[2:], _ALIKE.values(), strict=True):
        if names:
            lines.append(f"{shown}: {_in_short(tuple(names))}.")
    return lines


_LIDS = {"plain": "", "closed": " (closed)", "open": " (open)", "unseen": " (unseen)"}
_KINDS_OF = {shown: key for key, shown in _ALIKE.items()}


@functools.lru_cache(maxsize=4096)
def _in_short(names: tuple[str, ...]) -> str:
    """Write names that stand in order in short: ``cabinet 1, 3-5, fridge 1``."""
    shown: list[str] = []
    before, first, last = "", 0, 0
    for name in names:
        kind, _, number = name.partition(" ")
        if not _NUMBER.fullmatch(number):
            shown.append(name)
            before = ""
        elif kind != before or int(number) != last + 1:
            shown.append(number if kind == before else name)
            before, first, last = kind, int(number), int(number)
        else:
            last += 1
            start = shown[-1] if last == first + 1 else shown[-1].rpartition("-")[0]
            shown[-1] = f"{start}-{number}"
    return ", ".join(shown)


_NUMBER = re.compile(r"0|[1-9]\d{0,3}")


@functools.lru_cache(maxsize=4096)
def _commands_line(commands: tuple[str, ...]) -> str:
    """Write what can be done besides walking, those that differ in one name together."""
    taken: dict[str, list[str]] = {}
    rest: list[str] = []
    said: dict[str, list[str]] = {}
    for line in commands:
        opening, phrase = _phrase(line)
        if phrase:
            said.setdefault(opening, []).append(phrase)
        elif match := _TAKE.fullmatch(line):
            taken.setdefault(match[2], []).append(match[1])
        else:
            rest.append(line)
    rest += [f"take {_either(things)} from {place}" for place, things in taken.items()]
    for opening, phrases in said.items():
        whole = tuple(phrases) == tuple(sorted(PHRASES))
        rest += [f"{opening} anything"] if whole else [f"{opening} {p}" for p in phrases]
    return f"You can also: {'; '.join(rest)}."


def _either(names: list[str]) -> str:
    """Write names of which one may be chosen: ``cup 1, mug 1 or mug 2``."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _phrase(line: str) -> tuple[str, str]:
    """Part a line of speech by index into its beginning and what is said."""
    match = _SAID.fullmatch(line)
    return (match[1], match[2]) if match and match[2] in PHRASES else ("", "")


_EITHER = re.compile(", | or ")
_TAKE = re.compile(r"take (.+) from (.+)")
_SAID = re.compile(r"(say|tell [\w.-]+) (.+)")


def _held(held: Held) -> str:
    return f"{held.name} ({' '.join(held.looks)})" if held.looks else held.name


_SHOWN_BELOW = re.compile(
    r"(?:You (?:arrive at|open|close|pick up|put|move) [^.]+\.)?(?:^| |$)"
    r"(?:On the [^.]+, you see [^.]*\.|The [^.]+ is (?:open|closed)\.(?: In it, you see [^.]*\.)?"
    r"|You are not carrying anything\.|You are carrying: [^.]*\.)?"
)
"""What receptacles, hands and the echo of a command show: the answer, if it is nothing else."""


@functools.lru_cache(maxsize=4096)
def told_of(answer: str) -> str | None:
    """Return an answer of the games without what the facts show anyhow."""
    if answer == HELP:
        return "The commands are those of the instructions."
    plain = " ".join(answer.split())
    return None if _SHOWN_BELOW.fullmatch(plain) else plain


_HEAD = re.compile(r"You are ([\w.-]+)\. Task: (.*)")
_AT = re.compile(r"You are at (.+?)(?: \((open|closed|unseen)\))?(?:: (.+))?\.")
_SAW = re.compile(r"You saw (.+)\.")
_SEEN = re.compile(r"(.+?)(?: \((open|closed)\))?: (.+)")
_MANY = re.compile(rf"({'|'.join(_KINDS_OF)}): (.+)\.")
_RUN = re.compile(r"(?:(\S+) )?(0|[1-9]\d{0,3})(?:-(0|[1-9]\d{0,3}))?")
_CARRY = re.compile(r"You carry (.+)\.")
_HELD = re.compile(r"([^()]+?)(?: \(([a-z ]+)\))?")
_HERE = re.compile(r"([\w.-]+) is here\.")
_CAN = re.compile(r"You can also: (.+)\.")
_RESULT = re.compile(r"Result: (.*)")


def parse(text: str, config: HouseholdConfig) -> HouseholdFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes.
    """
    names = config.names(config.fixed_envelope().agents)
    agents = {name: name for name in names}
    lines = LineReader("Household", text)
    result = lines.free(_RESULT)
    head = lines.need(_HEAD)
    facts = HouseholdFacts(
        agent=lines.name(head.group(1), agents),
        goal=unescape(head.group(2)),
        places=_read_places(lines),
        holding=_read_held(lines.need(_CARRY).group(1), lines),
        others=tuple(lines.name(match.group(1), agents) for match in lines.every(_HERE)),
        messages=tuple(read_letters(lines, names)),
        commands=_read_commands(match[1]) if (match := lines.next(_CAN)) else (),
        feedback=result,
        hint=lines.hint(),
    )
    lines.require_end()
    return facts


def _read_places(lines: LineReader) -> tuple[Place, ...]:
    """Read what is known of receptacles."""
    found: dict[str, Place] = {}

    def know(place: Place) -> None:
        lines.require(place.name not in found, "this receptacle is told of twice")
        found[place.name] = place

    for match in lines.every(_AT):
        things = None if match[3] is None else _things(match[3])
        know(Place(match[1], True, match[2] or "plain", things))
    saw = lines.next(_SAW)
    for part in saw[1].split("; ") if saw else ():
        seen = _SEEN.fullmatch(part)
        if seen is None or seen[3] == "nothing":
            raise lines.error(part)
        know(Place(seen[1], False, seen[2] or "plain", _things(seen[3])))
    for match in lines.every(_MANY):
        state, unknown = _KINDS_OF[match[1]]
        for name in _at_length(match[2], lines):
            know(Place(name, False, state, None if unknown else ()))
    return tuple(found[name] for name in sorted(found, key=counting_order))


def counting_order(name: str) -> tuple[str, int, str]:
    """Return the key by which receptacles stand in facts: ``shelf 2`` before ``shelf 10``."""
    kind, _, number = name.partition(" ")
    return kind, int(number) if _NUMBER.fullmatch(number) else -1, name


def _things(shown: str) -> tuple[str, ...]:
    return () if shown == "nothing" else tuple(shown.split(", "))


def _at_length(shown: str, lines: LineReader) -> list[str]:
    """Read names that `_in_short` wrote."""
    names: list[str] = []
    kind = ""
    for part in shown.split(", "):
        match = _RUN.fullmatch(part)
        if match is None:
            names.append(part)
            kind = ""
            continue
        kind = match[1] or kind
        first, last = int(match[2]), int(match[3] or match[2])
        lines.require(bool(kind) and 0 <= last - first < 1000, "such names are not in a room")
        names += [f"{kind} {k}" for k in range(first, last + 1)]
    lines.require(len({*names}) == len(names), "a name stands there twice")
    return names


def _read_commands(shown: str) -> tuple[str, ...]:
    """Read what can be done."""
    found: list[str] = []
    for part in shown.split("; "):
        if match := _TAKE.fullmatch(part):
            found += [f"take {thing} from {match[2]}" for thing in _EITHER.split(match[1])]
        elif (match := _SAID.fullmatch(part)) and match[2] == "anything":
            found += [f"{match[1]} {phrase}" for phrase in PHRASES]
        else:
            found.append(part)
    return tuple(sorted(found))


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
