"""Household's canonical text: facts as prose, and facts read back from it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from piase_gym.core.jsonable import jsonable
from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.text_encoding import one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.household.actions import HELP
from piase_gym.worlds.household.config import MAX_MESSAGE, HouseholdConfig, HouseholdEnvelope
from piase_gym.worlds.household.facts import HeldObject, HouseholdFacts, KnownReceptacle
from piase_gym.worlds.texts.letters import letter_line, read_letters
from piase_gym.worlds.texts.lines import LineReader

LONGEST_NAME = 60
LOOKS = ("clean", "hot", "cool", "sliced")

free_line = functools.lru_cache(maxsize=4096)(one_line)
"""Writes a free string on one line; cached, as the same answers recur."""


def text_of(facts: HouseholdFacts, config: HouseholdConfig) -> str:
    """Write the facts as prose, each of them once; empty hands are not mentioned."""
    kinds = [
        tuple(group) for _, group in groupby(facts.places, key=lambda place: kind_of(place.name))
    ]
    written = [written_of(tuple(map(shown_of, kind))) for kind in kinds]
    return text_with(facts, written, names_in(config))


def names_in(config: HouseholdConfig) -> tuple[str, ...]:
    """Return the names of all agents."""
    return config.names(config.fixed_envelope().agents)


def text_with(facts: HouseholdFacts, places: Iterable[Written], names: tuple[str, ...]) -> str:
    """Write the same, given the places, which are written already.

    Args:
        facts: The facts.
        places: The places, written kind by kind.
        names: The names of all agents; one that is alone reads its name in the prompt only.
    """
    lines = [] if facts.feedback is None else [f"Result: {free_line(facts.feedback)}"]
    head = f"You are {facts.agent}. " if len(names) > 1 else ""
    lines.append(f"{head}Task: {free_line(facts.goal)}")
    lines += _known_lines(places)
    for item in facts.holding:
        lines.append(f"You carry {_held(item)}.")
    if facts.barred:
        barred = _in_short(facts.barred)
        what = f"{_PUT} {barred}" if facts.holding else f"take {barred}"
        lines.append(f"You cannot {what}.")
    if len(names) > 1:
        lines += [f"{name} is here." for name in facts.others]
        lines += [f"{name} is away." for name in facts.away]
    if facts.messages:
        lines += map(letter_line, facts.messages)
    if facts.commands:
        lines.append(f"You can also: {'; '.join(facts.commands)}.")
    if facts.hint is not None:
        lines.append(f"Hint: {one_line(facts.hint)}")
    return "\n".join(lines)


Shown = tuple[int, str]
"""A receptacle as it is written: the number in `_PARTS` of the line that it is in, and its text."""
Written = tuple[Shown, ...]
"""The receptacles of one kind; those with the same line share one entry, in short."""
_ALIKE = {
    ("plain", False): "Empty",
    ("open", False): "Open and empty",
    ("closed", False): "Closed and empty",
    ("closed", True): "Closed",
    ("plain", True): "Not looked into",
    ("open", True): "Open and not looked into",
    ("unseen", True): "Unseen",
    ("unseen", False): "Unseen and empty",
}
"""How the line begins that lists all receptacles in one state, with unknown contents or not."""
_PARTS = {("here", False): 0, ("seen", False): 1} | {key: k for k, key in enumerate(_ALIKE, 2)}
_SAID = ("", "", *_ALIKE.values())


def shown_of(place: KnownReceptacle) -> Shown:
    """Write what is known of a receptacle."""
    name, is_here, state, things = place
    if is_here:
        contents = "" if things is None else f": {_in_short(things) or 'nothing'}"
        return _PARTS["here", False], f"At {name}{_LIDS[state]}{contents}."
    if things:
        seen = _in_short((name,))
        return _PARTS["seen", False], f"{seen}{_LIDS[state]}: {_in_short(things)}"
    return _PARTS[state, things is None], name


@functools.lru_cache(maxsize=4096)
def written_of(kind: tuple[Shown, ...]) -> Written:
    """Write the receptacles of one kind, in their order."""
    if len(kind) == 1:
        ((part, shown),) = kind
        return kind if part < 2 else ((part, _in_short((shown,))),)
    alone = [row for row in kind if row[0] < 2]
    parts = sorted({part for part, _ in kind if part >= 2})
    alike = [(part, tuple([name for at, name in kind if at == part])) for part in parts]
    return (*alone, *((part, _in_short(names)) for part, names in alike))


def _known_lines(places: Iterable[Written]) -> list[str]:
    """Write what is known of receptacles, each of which is named once."""
    parts: dict[int, list[str]] = {}
    for part, shown in chain.from_iterable(places):
        if part in parts:
            parts[part].append(shown)
        else:
            parts[part] = [shown]
    lines, seen = parts.pop(0, []), parts.pop(1, ())
    if seen:
        lines.append(f"Seen {'; '.join(seen)}.")
    for part in sorted(parts):
        lines.append(f"{_SAID[part]}: {', '.join(parts[part])}.")
    return lines


_LIDS = {"plain": "", "closed": " (closed)", "open": " (open)", "unseen": " (unseen)"}
_KINDS_OF = {shown: key for key, shown in _ALIKE.items()}


@functools.lru_cache(maxsize=4096)
def _in_short(names: tuple[str, ...]) -> str:
    """Write names in short: ``cabinet 1,3-5, fridge`` are cabinets 1, 3, 4 and 5, and fridge 1."""
    shown: list[str] = []
    for kind, group in groupby(map(_parted, names), key=itemgetter(0)):
        if kind:
            shown.append(_counted(kind, tuple([number for _, number in group])))
        else:
            shown += [f"'{name}'" for _, name in group]
    return ", ".join(shown)


def kind_of(name: str) -> str:
    """Return the kind in a name such as ``mug 2``; an empty string for names of another form."""
    return _parted(name)[0]


@functools.lru_cache(maxsize=4096)
def _parted(name: str) -> tuple[str, Any]:
    """Return a name's kind and number; for other forms an empty string and the whole name."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], int(match[2])) if match else ("", name)


@functools.lru_cache(maxsize=4096)
def _counted(kind: str, numbers: tuple[int, ...]) -> str:
    """Write the numbers of things of one kind; numbers that follow each other are a range."""
    if numbers == (1,):
        return kind
    runs: list[str] = []
    first = last = numbers[0]
    for number in (*numbers[1:], -1):
        if number != last + 1:
            runs.append(f"{first}" if first == last else f"{first}-{last}")
            first = number
        last = number
    return f"{kind} {','.join(runs)}"


_NUMBER = re.compile(r"0|[1-9]\d{0,3}")
_NUMBERED = re.compile(rf"([^\W\d][^\s,;:'()]*) ({_NUMBER.pattern})")


def _held(held: HeldObject) -> str:
    return f"{held.name} ({' '.join(held.looks)})" if held.looks else held.name


_SHOWN_BELOW = re.compile(
    r"(?:You (?:arrive at|open|close|pick up|put|move) [^.]+\.)?(?:^| |$)"
    r"(?:On the [^.]+, you see [^.]*\.|The [^.]+ is (?:open|closed)\.(?: In it, you see [^.]*\.)?"
    r"|You are not carrying anything\.|You are carrying: [^.]*\.)?"
)
"""Matches answers that say only what receptacles, hands and the echo of a command show."""


@functools.lru_cache(maxsize=4096)
def told_of(answer: str) -> str | None:
    """Return an answer of the games, or ``None`` if the facts show all of it anyway."""
    if answer == HELP:
        return "The commands are those of the instructions."
    plain = " ".join(answer.split())
    return None if _SHOWN_BELOW.fullmatch(plain) else plain


_PUT = "put it in or on"
_HEAD = re.compile(r"(?:You are ([\w.-]+)\. )?Task: (.*)")
_CANNOT = re.compile(rf"You cannot (take|{_PUT}) (.+)\.")
_AT = re.compile(r"At (.+?)(?: \((open|closed|unseen)\))?(?:: (.+))?\.")
_SAW = re.compile(r"Seen (.+)\.")
_SEEN = re.compile(r"(.+?)(?: \((open|closed)\))?: (.+)")
_MANY = re.compile(rf"({'|'.join(_KINDS_OF)}): (.+)\.")
_RUN = re.compile(r"(0|[1-9]\d{0,3})(?:-(0|[1-9]\d{0,3}))?")
_CARRY = re.compile(r"You carry (.+)\.")
_HELD = re.compile(r"([^()]+?)(?: \(([a-z ]+)\))?")
_HERE = re.compile(r"([\w.-]+) is here\.")
_AWAY = re.compile(r"([\w.-]+) is away\.")
_CAN = re.compile(r"You can also: (.+)\.")
_RESULT = re.compile(r"Result: (.*)")


def parse(text: str, config: HouseholdConfig) -> HouseholdFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes.
    """
    names = names_in(config)
    agents = {name: name for name in names}
    lines = LineReader("Household", text)
    result = lines.free(_RESULT)
    head = lines.need(_HEAD)
    lines.require((head.group(1) is None) == (len(names) == 1), "several are told who it is for")
    agent = names[0] if head.group(1) is None else lines.name(head.group(1), agents)
    places = _read_places(lines)
    holding = _read_held(lines)
    barred = _read_barred(lines, bool(holding))
    facts = HouseholdFacts(
        agent=agent,
        goal=unescape(head.group(2)),
        places=places,
        holding=holding,
        barred=barred,
        others=tuple(lines.name(match.group(1), agents) for match in lines.every(_HERE)),
        away=tuple(lines.name(match.group(1), agents) for match in lines.every(_AWAY)),
        messages=tuple(read_letters(lines, names)),
        commands=tuple(found[1].split("; ")) if (found := lines.next(_CAN)) else (),
        feedback=result,
        hint=lines.hint(),
    )
    lines.require_end()
    return facts if config.lists_commands else replace(facts, commands=None)


def _read_places(lines: LineReader) -> tuple[KnownReceptacle, ...]:
    """Read what is known of receptacles."""
    found: dict[str, KnownReceptacle] = {}

    def know(place: KnownReceptacle) -> None:
        lines.require(place.name not in found, "this receptacle is told of twice")
        found[place.name] = place

    for match in lines.every(_AT):
        things = None if match[3] is None else _things(match[3], lines)
        know(KnownReceptacle(match[1], True, match[2] or "plain", things))
    saw = lines.next(_SAW)
    for part in saw[1].split("; ") if saw else ():
        seen = _SEEN.fullmatch(part)
        if seen is None or seen[3] == "nothing":
            raise lines.error(part)
        (name,) = _at_length(seen[1], lines)
        know(KnownReceptacle(name, False, seen[2] or "plain", _things(seen[3], lines)))
    for match in lines.every(_MANY):
        state, unknown = _KINDS_OF[match[1]]
        for name in _at_length(match[2], lines):
            know(KnownReceptacle(name, False, state, None if unknown else ()))
    return tuple(found[name] for name in sorted(found, key=counting_order))


@functools.lru_cache(maxsize=4096)
def counting_order(name: str) -> tuple[str, int, str]:
    """Return the sort key of receptacles in facts: ``shelf 2`` before ``shelf 10``."""
    kind, _, number = name.partition(" ")
    return kind, int(number) if _NUMBER.fullmatch(number) else -1, name


def _things(shown: str, lines: LineReader) -> tuple[str, ...]:
    return () if shown == "nothing" else tuple(_at_length(shown, lines))


def _at_length(shown: str, lines: LineReader) -> list[str]:
    """Read names that `_in_short` wrote."""
    names: list[str] = []
    for part in shown.split(", "):
        kind, _, numbers = part.partition(" ")
        quoted = len(part) > 2 and part[0] == part[-1] == "'"
        known = quoted or bool(kind_of(f"{kind} 1"))
        lines.require(known, "names are 'shelf 1,3-5, bed'")
        if quoted:
            names.append(part[1:-1])
            continue
        for run in (numbers or "1").split(","):
            match = lines.matched(_RUN, run, "names are 'shelf 1,3-5, bed'")
            first, last = int(match[1]), int(match[2] or match[1])
            lines.require(0 <= last - first < 1000, "so many are not in a room")
            names += [f"{kind} {k}" for k in range(first, last + 1)]
    lines.require(len({*names}) == len(names), "a name stands there twice")
    return names


def _read_barred(lines: LineReader, holding: bool) -> tuple[str, ...]:
    """Read what cannot be taken, or where nothing can be put."""
    match = lines.next(_CANNOT)
    if match is None:
        return ()
    lines.require((match[1] == _PUT) == holding, "who carries nothing can put nothing down")
    return tuple(_at_length(match[2], lines))


def _read_held(lines: LineReader) -> tuple[HeldObject, ...]:
    """Read what is carried."""
    carried = lines.next(_CARRY)
    if carried is None:
        return ()
    match = _HELD.fullmatch(carried[1])
    if match is None:
        raise lines.error(carried[1])
    looks = tuple((match[2] or "").split())
    if looks != tuple(look for look in LOOKS if look in looks):
        raise lines.error(carried[1])
    return (HeldObject(match[1], looks),)


def longest_text(envelope: HouseholdEnvelope) -> int:
    """Return an upper bound for the length of a text; one character may be escaped as ten."""
    places = envelope.receptacles * (LONGEST_NAME + 60) + 2 * envelope.objects * LONGEST_NAME
    commands = envelope.actions * 3 * LONGEST_NAME
    letters = envelope.agents * (120 + 10 * MAX_MESSAGE)
    return 12_000 + places + commands + letters + HINT_TEXT


PERCEPTION_TYPES = {
    "location": "list[string]",
    "goal": "string",
    "receptacles": "list[object]",
    "objects_visible": "list[string]",
    "inventory": "list[string]",
    "others": "list[string]",
    "away": "list[string]",
    "commands": "list[string]",
    "barred": "list[string]",
    "feedback": "string | None",
}
"""The types of the perceptions of `surroundings_of`, by name."""


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
        "receptacles": jsonable(facts.places),
        "objects_visible": [name for name, _ in seen],
        "inventory": list(held),
        "others": list(facts.others),
        "away": list(facts.away),
        "commands": list(facts.commands or ()),
        "barred": list(facts.barred),
        "feedback": facts.feedback,
    }
    return Surroundings(
        position=here[0].name if here else None,
        objects=tuple(things),
        inventory=held,
        perceptions=perceptions,
    )
