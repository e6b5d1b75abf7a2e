"""The prose of ObjectSearch, written from facts and read back into them. Pure functions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from piase_gym.core.commands import MAX_LINE
from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.core.text_encoding import one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.describing import LONGEST_CAPTION
from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.object_search.codes import LEVELS
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.facts import (
    SearchFacts,
    Spoken,
)
from piase_gym.worlds.object_search.form import (
    Form,
    Found,
    Other,
    Place,
    Pose,
    form_of,
)
from piase_gym.worlds.object_search.geometry import MIDDLE, SIDE
from piase_gym.worlds.object_search.observe.reports import (
    NOTHING,
    POSE,
    list_names,
    pose_text,
    read_names,
    read_pose,
    read_report,
    read_window,
    spot_text,
)
from piase_gym.worlds.object_search.observe.rows import ROW, rows_text
from piase_gym.worlds.texts.letters import closing_lines
from piase_gym.worlds.texts.lines import LineReader


def text_of(facts: SearchFacts, form: Form) -> str:
    """Write the facts as prose, each of them once. Columns that are not mentioned are floor."""
    pose = facts.pose
    if isinstance(pose, Pose):
        here = pose_text(pose, facts.cells[-1][MIDDLE], form) + rows_text(facts.cells, form)
    else:
        here = f"position {pose[0]}."
    lines = [
        head_text(form, facts.agent, facts.size, facts.total, facts.steps, facts.limit),
        f"You are at {here}",
        f"You see {seen_text(facts.objects, facts.caption is not None)}.",
    ]
    if facts.caption is not None:
        lines.append(f"Caption: {one_line(facts.caption)}")
    if facts.found is not None:
        lines.append(f"The team has found {list_names(facts.found)}.")
    lines += map(other_text, facts.others)
    return "\n".join([*lines, *closing_lines(facts)])


def head_text(form: Form, name: str, size: Place, total: int, steps: int, limit: int) -> str:
    """Write who an agent is, where it is to search for how much, and how far the episode is."""
    line = f"on a line of {size[0]} positions"
    place = f"in a house of {size[0]} by {size[1]}" if form.house else line
    objects = f"{total} object{'' if total == 1 else 's'}"
    return f"You are {name} {place} with {objects}, after {steps} of {limit} steps."


def words_line(letter: Message) -> str:
    """Write what somebody said in words."""
    to = "says to all" if letter.recipient == EVERYONE else f"tells {letter.recipient}"
    return f"{letter.sender} {to}: {one_line(letter.message)}"


def seen_text(objects: tuple[Found, ...], in_picture: bool) -> str:
    """Write what is in sight, in a house or a picture with where it is."""
    if not objects:
        return NOTHING
    if not objects[0].position:
        return ", ".join(thing.name for thing in objects)
    if in_picture:
        return "; ".join(f"{name} at {x}%, {y}%" for name, (x, y) in objects)
    return "; ".join(f"{name} at column {place[0]}, row {place[1]}" for name, place in objects)


def other_text(seen: Other) -> str:
    """Write where another agent is seen."""
    return f"{seen.name} is at {spot_text(seen.position)}, facing {seen.heading}."


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
