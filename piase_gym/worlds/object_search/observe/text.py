"""The prose of ObjectSearch, written from facts and read back into them. Pure functions."""

from __future__ import annotations

import re
from dataclasses import replace

from piase_gym.core.commands import MAX_LINE
from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.core.text_encoding import one_line, unescape
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.describing import LONGEST_CAPTION
from piase_gym.worlds.object_search.codes import LEVELS
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.facts import ObjectSearchFacts, Spoken
from piase_gym.worlds.object_search.form import (
    Form,
    Place,
    Pose,
    VisibleAgent,
    VisibleObject,
    form_of,
)
from piase_gym.worlds.object_search.geometry import MIDDLE, SIDE
from piase_gym.worlds.object_search.observe.reports import (
    NOTHING,
    POSE,
    cells_text,
    facing,
    list_names,
    pose_text,
    read_cells,
    read_facing,
    read_names,
    read_pose,
    read_report,
    spot_text,
    with_article,
)
from piase_gym.worlds.object_search.observe.rows import ROW
from piase_gym.worlds.texts.letters import closing_lines
from piase_gym.worlds.texts.lines import LineReader


def text_of(facts: ObjectSearchFacts, form: Form) -> str:
    """Write the facts as prose, each of them once.

    What the prompt says about the place is left out: its size, and how many objects there are.
    """
    pose = facts.pose
    if isinstance(pose, Pose):
        here = pose_text(pose, facts.cells[-1][MIDDLE], form) + cells_text(facts.cells, form)
    else:
        here = f"position {pose[0]}."
    lines = [f"{head_text(facts.agent, facts.steps, facts.limit)}{here}"]
    if facts.objects or not form.house:
        lines.append(f"You see {seen_text(facts.objects, facts.caption is not None)}.")
    if facts.caption is not None:
        lines.append(f"Caption: {one_line(facts.caption)}")
    if facts.found is not None:
        lines.append(f"The team has found {list_names(facts.found)}.")
    lines += map(other_text, facts.others)
    return "\n".join([*lines, *closing_lines(facts)])


def head_text(name: str, steps: int, limit: int) -> str:
    """Write who an agent is and how far the episode has come; the agent's place follows."""
    return f"You are {name}, step {steps} of {limit}, at "


def words_line(letter: Message) -> str:
    """Write what somebody said in words."""
    to = "says to all" if letter.recipient == EVERYONE else f"tells {letter.recipient}"
    return f"{letter.sender} {to}: {one_line(letter.message)}"


def seen_text(objects: tuple[VisibleObject, ...], in_picture: bool) -> str:
    """Write what is in sight and, in a house or a picture, where it is."""
    if not objects:
        return NOTHING
    if not objects[0].position:
        return list_names(tuple(thing.name for thing in objects))
    where = "{}%, {}%" if in_picture else "column {}, row {}"
    return "; ".join(f"{with_article(name)} at {where.format(*place)}" for name, place in objects)


def other_text(seen: VisibleAgent) -> str:
    """Write where another agent is seen."""
    return f"{seen.name} is at {spot_text(seen.position)}, {facing(seen.heading)}."


# -- parsing ------------------------------------------------------------------------------

_HEAD = re.compile(rf"You are (\S+), step (\d+) of (\d+), at (?:position (\d+)|{POSE})\.")
_SEEN = re.compile(r"You see (.+)\.")
_THING = re.compile(r"(.+) at column (\d+), row (\d+)")
_SPOT = re.compile(r"(.+) at (\d+)%, (\d+)%")
_CAPTION = re.compile(r"Caption: (.*)")
_TEAM = re.compile(r"The team has found (.+)\.")
_OTHER = re.compile(r"(\S+) is at column (\d+), row (\d+), level (\d+), facing (\w+)\.")
_SAYS = re.compile(r"(\S+) says: (.*)")
_WORDS = re.compile(r"(\S+) (?:says to all|tells (\S+)): (.*)")
_MOST = 65_535
"""The largest number that fits into two bytes."""


def parse(text: str, config: ObjectSearchConfig) -> ObjectSearchFacts:
    """Read a text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes; the message shows the line.
    """
    form = form_of(config)
    reader = LineReader("ObjectSearch", text, "another line is expected here", "nothing may follow")
    line = reader.line
    agent, steps, limit, position, *words = reader.need(_HEAD).groups()
    reader.require(agent in form.names, f"agents are {', '.join(form.names)}")
    reader.require(form.house == (position is None), "this config has another place")
    reader.require(max(int(steps), int(limit)) <= _MOST, f"there are at most {_MOST} steps")
    pose: Pose | Place
    if form.house:
        pose, below = read_pose(words, line, form)
        cells = read_cells([found.group() for found in reader.every(ROW)], below, form)
    else:
        pose, cells = (int(position),), ()
        reader.require(pose[0] < form.envelope.width, "no such position")
    objects = _read_objects(reader, form)
    caption = reader.free(_CAPTION)
    reader.require((caption is not None) == form.config.in_pictures, "pictures have captions")
    found = None
    if form.config.show_found:
        found = read_names(reader.need(_TEAM).group(1), form)
    others = _read_others(reader, form, agent) if form.house else ()
    facts = ObjectSearchFacts(
        agent=agent,
        size=(config.width, config.height) if form.house else (config.width,),
        position=pose.place if isinstance(pose, Pose) else pose,
        heading=pose.heading if isinstance(pose, Pose) else None,
        pitch=pose.pitch if isinstance(pose, Pose) else None,
        roll=pose.roll if isinstance(pose, Pose) else None,
        cells=cells,
        objects=objects,
        others=others,
        total=config.objects,
        found=found,
        caption=caption,
        steps=int(steps),
        limit=int(limit),
        messages=_read_reports(reader, form, agent),
        hint=reader.hint(),
    )
    letters = _read_words(reader, form) if config.speech else ()
    reader.require_end()
    return replace(facts, messages=(*facts.messages, *letters))


def _read_objects(reader: LineReader, form: Form) -> tuple[VisibleObject, ...]:
    """Read what is in sight."""
    if not form.house:
        return tuple(
            VisibleObject(name, ()) for name in read_names(reader.need(_SEEN).group(1), form)
        )
    match = reader.next(_SEEN)
    if match is None:
        return ()
    found, pictures = [], form.config.in_pictures
    known = {with_article(name): name for name in form.things}
    pattern = _SPOT if pictures else _THING
    where = "25%, 40%" if pictures else "column 1, row 2"
    most = (101, 101) if pictures else (form.envelope.width, form.envelope.height)
    for item in match.group(1).split("; "):
        parts = reader.matched(pattern, item, f"objects are 'a lamp at {where}'")
        noun, x, y = parts.group(1), int(parts.group(2)), int(parts.group(3))
        reader.require(noun in known, f"objects are {', '.join(known)}")
        reader.require(x < most[0] and y < most[1], "there is no such place")
        found.append(VisibleObject(known[noun], (x, y)))
    read_names(list_names(tuple(thing.name for thing in found)), form)
    return tuple(found)


def _read_others(reader: LineReader, form: Form, agent: str) -> tuple[VisibleAgent, ...]:
    """Read which agents are in sight."""
    found: list[VisibleAgent] = []
    for match in reader.every(_OTHER):
        name, x, y, z, heading = match.groups()
        reader.require(name in form.names and name != agent, "others are those who are seen")
        late = not found or form.names.index(found[-1].name) < form.names.index(name)
        reader.require(late, "agents are named in their order")
        size = form.envelope
        inside = int(x) < size.width and int(y) < size.height and int(z) < LEVELS
        reader.require(inside, "no such place")
        turned = read_facing(heading, match.group(), form)
        found.append(VisibleAgent(name, (int(x), int(y), int(z)), turned))
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
