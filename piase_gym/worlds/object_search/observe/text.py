"""The prose of ObjectSearch, written from facts and read back into them. Pure functions."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import Any

from piase_gym.core.commands import MAX_LINE
from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.core.text_encoding import one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.describing import LONGEST_CAPTION
from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.object_search.codes import LEVELS, PITCHES, ROLLS
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.facts import (
    SearchFacts,
    Spoken,
    facts_of,
    objects_of,
    others_of,
)
from piase_gym.worlds.object_search.form import (
    Form,
    Found,
    Other,
    Place,
    Pose,
    form_of,
    names_of,
)
from piase_gym.worlds.object_search.geometry import AREA, MIDDLE, OWN, SIDE
from piase_gym.worlds.object_search.observe.reports import (
    NOTHING,
    POSE,
    list_names,
    pose_text,
    read_names,
    read_pose,
    read_report,
    read_window,
    stance_text,
)
from piase_gym.worlds.object_search.observe.rows import ROW, rows_text
from piase_gym.worlds.object_search.state import POSE as REPORT
from piase_gym.worlds.texts.letters import closing_lines
from piase_gym.worlds.texts.lines import LineReader


def text_of(facts: SearchFacts, form: Form) -> str:
    """Write the facts as prose, each of them once. Columns that are not mentioned are floor."""
    pose = facts.pose
    if isinstance(pose, Pose):
        place = f"in a house of {facts.size[0]} by {facts.size[1]}"
        standing = pose_text(pose, facts.cells[-1][MIDDLE], form)
        here = f"You are at {standing}{rows_text(facts.cells, form)}"
    else:
        place = f"on a line of {facts.size[0]} positions"
        here = f"You are at position {pose[0]}."
    objects = f"{facts.total} object{'' if facts.total == 1 else 's'}"
    lines = [
        f"You are {facts.agent} {place} with {objects}, "
        f"after {facts.steps} of {facts.limit} steps.",
        here,
        f"You see {_seen(facts.objects, facts.caption is not None)}.",
    ]
    if facts.caption is not None:
        lines.append(f"Caption: {one_line(facts.caption)}")
    if facts.found is not None:
        lines.append(f"The team has found {list_names(facts.found)}.")
    lines += [_other(*other) for other in facts.others]
    return "\n".join([*lines, *closing_lines(facts)])


def words_line(letter: Message) -> str:
    """Write what somebody said in words."""
    to = "says to all" if letter.recipient == EVERYONE else f"tells {letter.recipient}"
    return f"{letter.sender} {to}: {one_line(letter.message)}"


def _seen(objects: tuple[Found, ...], in_picture: bool) -> str:
    """Write what is in sight, in a house or a picture with where it is."""
    if not objects:
        return NOTHING
    if not objects[0].position:
        return ", ".join(thing.name for thing in objects)
    if in_picture:
        return "; ".join(f"{name} at {x}%, {y}%" for name, (x, y) in objects)
    return "; ".join(f"{name} at column {place[0]}, row {place[1]}" for name, place in objects)


@dataclass(frozen=True)
class VectorTeller:
    """Writes texts from kept vectors; (vector, hint) or (vector, hint, caption) may be kept too."""

    form: Form

    def __call__(self, kept: Any, agent: int) -> str:
        """Write the text of the moment in which the vector was kept.

        It is the text of `text_of`, of pieces that are remembered by the bytes they stand for.
        """
        form = self.form
        if isinstance(kept, tuple) or not form.by_pieces:
            given = kept if isinstance(kept, tuple) else (kept,)
            return text_of(facts_of(given[0], agent, form, *given[1:]), form)
        data, start = kept.tobytes(), form.start
        counts = _counts_of_bytes(form, data[start + 9 : start + 14])
        text = f"You are {form.names[agent]} {_size_of_bytes(form, data[start + 1 : start + 3])}"
        text += f" with {counts}\nYou are at "
        if form.house:
            stance = _stance_of_bytes(form, data[start + 6 : start + 9], data[OWN])
            window = _window_of_bytes(form, data[:AREA])
            x, y, z = data[start + 3 : start + 6]
            text += f"column {x}, row {y}, level {z}, {stance}{window}"
        else:
            text += f"position {data[start + 3]}."
        text += _seen_of_bytes(form, data[form.objects : form.found])
        if form.house:
            text += _others_of_bytes(form, data[form.others : form.objects])
        for number, place in form.places_of_reports:
            if data[place]:
                text += _report_of_bytes(form, number, data[place : place + form.report])
        return text


@functools.lru_cache(maxsize=64)
def _size_of_bytes(form: Form, size: bytes) -> str:
    """Write where an agent is to search."""
    if form.house:
        return f"in a house of {size[0]} by {size[1]}"
    return f"on a line of {size[0]} positions"


@functools.lru_cache(maxsize=16384)
def _counts_of_bytes(form: Form, counts: bytes) -> str:
    """Write how many objects there are, and how far the episode has gone."""
    total, steps, limit = counts[0], counts[1] + 256 * counts[2], counts[3] + 256 * counts[4]
    return f"{total} object{'' if total == 1 else 's'}, after {steps} of {limit} steps."


@functools.lru_cache(maxsize=1024)
def _stance_of_bytes(form: Form, turned: bytes, below: int) -> str:
    """Write what a pose says beside the place: what is below, heading, pitch and roll."""
    stance = stance_text(HEADINGS[turned[0]], PITCHES[turned[1]], ROLLS[turned[2]])
    return f"over {form.nouns.noun(form.cell_names[below])}, {stance}"


@functools.lru_cache(maxsize=16384)
def _window_of_bytes(form: Form, codes: bytes) -> str:
    """Write what is ahead."""
    return rows_text([codes[i : i + SIDE] for i in range(0, AREA, SIDE)], form)


@functools.lru_cache(maxsize=4096)
def _seen_of_bytes(form: Form, places: bytes) -> str:
    """Write which objects are in sight, after a line break."""
    return f"\nYou see {_seen(objects_of(places, form), False)}."


@functools.lru_cache(maxsize=4096)
def _others_of_bytes(form: Form, places: bytes) -> str:
    """Write which agents are in sight, each after a line break."""
    return "".join(f"\n{_other(*other)}" for other in others_of(places, form))


@functools.lru_cache(maxsize=4096)
def _report_of_bytes(form: Form, number: int, told: bytes) -> str:
    """Write what an agent has reported, after a line break; see `write_report`."""
    seen = _names_of_bytes(form, told[6:8])
    if not form.house:
        return f"\n{form.names[number]} says: I am at position {told[0] - 1} and see {seen}."
    stance = _stance_of_bytes(form, told[3:6], told[REPORT + OWN])
    window = _line_of_bytes(form, told[REPORT:])
    place = f"column {told[0] - 1}, row {told[1]}, level {told[2]}"
    return f"\n{form.names[number]} says: I am at {place}, {stance}{window} I see {seen}."


@functools.lru_cache(maxsize=4096)
def _names_of_bytes(form: Form, bits: bytes) -> str:
    """Write which objects are told of."""
    return list_names(names_of(bits, form))


@functools.lru_cache(maxsize=16384)
def _line_of_bytes(form: Form, codes: bytes) -> str:
    """Write what is ahead on one line."""
    return _window_of_bytes(form, codes).replace("\n", " ")


def _other(name: str, position: Place, heading: str) -> str:
    """Write where another agent is seen."""
    x, y, z = position
    return f"{name} is at column {x}, row {y}, level {z}, facing {heading}."


# -- parsing ------------------------------------------------------------------------------

_HEAD = re.compile(
    r"You are (\S+) (?:in a house of (\d+) by (\d+)|on a line of (\d+) positions) "
    r"with (\d+) objects?, after (\d+) of (\d+) steps\."
)
_POSITION = re.compile(r"You are at position (\d+)\.")
_SEEN = re.compile(r"You see (.+)\.")
_THING = re.compile(r"(.+) at column (\d+), row (\d+)")
_SPOT = re.compile(r"(.+) at (\d+)%, (\d+)%")
_CAPTION = re.compile(r"Caption: (.*)")
_TEAM = re.compile(r"The team has found (.+)\.")
_OTHER = re.compile(r"(\S+) is at column (\d+), row (\d+), level (\d+), facing (\w+)\.")
_SAYS = re.compile(r"(\S+) says: (.*)")
_WORDS = re.compile(r"(\S+) (?:says to all|tells (\S+)): (.*)")
_MOST = 65_535
"""The largest number of two bytes."""


def parse(text: str, config: ObjectSearchConfig) -> SearchFacts:
    """Read a text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes; the message shows the line.
    """
    form = form_of(config)
    reader = LineReader("ObjectSearch", text, "another line is expected here", "nothing may follow")
    agent, wide, high, positions, *numbers = reader.need(_HEAD).groups()
    total, steps, limit = map(int, numbers)
    reader.require(agent in form.names, f"agents are {', '.join(form.names)}")
    reader.require(form.house == (positions is None), "this config has another place")
    size = (int(wide), int(high)) if form.house else (int(positions),)
    reader.require(max(size) <= form.envelope.width or form.house, "no line is so long")
    reader.require(max(size) <= 255 and total <= 255, "no place is so large")
    reader.require(max(steps, limit) <= _MOST, f"there are at most {_MOST} steps")
    pose, cells = _read_place(reader, form)
    objects = _read_objects(reader, form, pose)
    caption = reader.free(_CAPTION)
    reader.require((caption is not None) == form.config.in_pictures, "pictures have captions")
    found = None
    if form.config.show_found:
        found = read_names(reader.need(_TEAM).group(1), form)
    others = _read_others(reader, form, agent) if form.house else ()
    house = isinstance(pose, Pose)
    facts = SearchFacts(
        agent=agent,
        size=size,
        position=pose.place if isinstance(pose, Pose) else pose,
        heading=pose.heading if isinstance(pose, Pose) else None,
        pitch=pose.pitch if isinstance(pose, Pose) else None,
        roll=pose.roll if isinstance(pose, Pose) else None,
        cells=cells if house else (),
        objects=objects,
        others=others,
        total=total,
        found=found,
        caption=caption,
        steps=steps,
        limit=limit,
        messages=_read_reports(reader, form, agent),
        hint=reader.hint(),
    )
    letters = _read_words(reader, form) if config.speech else ()
    reader.require_end()
    return replace(facts, messages=(*facts.messages, *letters))


def _read_place(reader: LineReader, form: Form) -> tuple[Pose | Place, Any]:
    """Read where the agent is, and what is ahead of it."""
    if not form.house:
        place = (int(reader.need(_POSITION).group(1)),)
        reader.require(place[0] < form.envelope.width, "no such position")
        return place, ()
    pose, below = read_pose(reader.need(POSE), form)
    rows = []
    while ROW.fullmatch(reader.line):
        rows.append(reader.line)
        reader.place += 1
    return pose, read_window(rows, below, form)


def _read_objects(reader: LineReader, form: Form, pose: Pose | Place) -> tuple[Found, ...]:
    """Read what is in sight."""
    words = reader.need(_SEEN).group(1)
    if not isinstance(pose, Pose):
        return tuple(Found(name, ()) for name in read_names(words, form))
    found, pictures = [], form.config.in_pictures
    where = "25%, 40%" if pictures else "column 1, row 2"
    most = (101, 101) if pictures else (form.envelope.width, form.envelope.height)
    for item in () if words == NOTHING else words.split("; "):
        match = (_SPOT if pictures else _THING).fullmatch(item)
        reader.require(match is not None, f"objects are 'lamp at {where}'")
        assert match is not None
        name, x, y = match.group(1), int(match.group(2)), int(match.group(3))
        reader.require(x < most[0] and y < most[1], "there is no such place")
        found.append(Found(name, (x, y)))
    read_names(list_names(tuple(thing.name for thing in found)), form)
    return tuple(found)


def _read_others(reader: LineReader, form: Form, agent: str) -> tuple[Other, ...]:
    """Read which agents are in sight."""
    found: list[Other] = []
    for match in reader.every(_OTHER):
        name, x, y, z, heading = match.groups()
        reader.require(name in form.names and name != agent, "others are those who are seen")
        late = not found or form.names.index(found[-1].name) < form.names.index(name)
        reader.require(late, "agents are named in their order")
        size = form.envelope
        inside = int(x) < size.width and int(y) < size.height and int(z) < LEVELS
        reader.require(inside and heading in HEADINGS, "no such place")
        found.append(Other(name, (int(x), int(y), int(z)), heading))
    return tuple(found)


def _read_reports(reader: LineReader, form: Form, agent: str) -> tuple[Message, ...]:
    """Read what the others report."""
    found: list[Message] = []
    for match in reader.every(_SAYS):
        name, message = match.group(1), unescape(match.group(2))
        reader.require(name in form.names and name != agent, "others are those who report")
        late = not found or form.names.index(found[-1].sender) < form.names.index(name)
        reader.require(bool(form.envelope.channel) and late, "everybody reports once, in order")
        read_report(message, form)
        found.append(Message(name, EVERYONE, message))
    return tuple(found)


def _read_words(reader: LineReader, form: Form) -> tuple[Spoken, ...]:
    """Read what was said in words."""
    found = []
    for match in reader.every(_WORDS):
        sender, recipient, message = match.groups()
        names = (sender, *([] if recipient is None else [recipient]))
        reader.require(set(names) <= set(form.names), f"agents are {', '.join(form.names)}")
        found.append(Spoken(sender, recipient or EVERYONE, unescape(message)))
    return tuple(found)


def longest_text(form: Form) -> int:
    """Return an upper bound for the length of a text."""
    name = max(len(agent) for agent in form.names)
    things = sum(len(thing) + 30 for thing in form.things)
    window = (200 + SIDE * (20 + SIDE * 40)) if form.house else 60
    others = len(form.names) * (2 * name + 80 + (window + things) * form.envelope.channel)
    if form.config.speech:
        others += 64 * (2 * name + 30 + 10 * MAX_LINE)
    caption = 10 * LONGEST_CAPTION + 20 if form.envelope.camera else 0
    return 300 + window + 2 * things + caption + others + HINT_TEXT
