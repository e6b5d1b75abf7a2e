"""What agents of ObjectSearch may know, and the vectors that encode it.

Everything here is pure: a function of facts and config. `sight` writes the same vectors faster;
this module says what they mean. The vector (uint8) has these parts:

* in a house, the window, row by row from the farthest, turned so that the heading is up: codes of
  `codes.TABLE`, with the viewer's own column in the middle of the nearest row;
* with a channel, for each agent what it has reported: 1 + x, y, level, heading, pitch, roll, two
  bytes with a bit for the name of each object that it sees, and in a house its window; or zeros;
* in a house, for each agent four bytes: 1 + x, y, level and heading, or zeros if it is not seen;
* for each name of an object two bytes, 1 + x and y of where the agent sees it (on a line 1 and 0),
  or zeros;
* if the envelope has `found`, two bytes with a bit for the name of each object the team has found;
* own number, width, height, x, y, level, heading (0 up, 1 right, 2 down, 3 left), pitch (0 down, 1
  level, 2 up), roll (0 left, 1 upright, 2 right), objects, then steps done and the maximum number
  of steps, in two bytes each, the low one first; 8 bytes of hashed hint;
* with a camera, 8 bytes of the hashed caption. Objects then have places in the picture, not in the
  house: 1 + hundredths across, and hundredths down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.core.world import Facts
from piase_gym.worlds.channel.heard import EarlierMessage
from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.object_search.codes import PITCHES, ROLLS
from piase_gym.worlds.object_search.config import ObjectSearchEnvelope
from piase_gym.worlds.object_search.form import (
    Cells,
    Form,
    Place,
    Pose,
    Report,
    VisibleAgent,
    VisibleObject,
    bits_of,
    cells_of,
    codes_of,
    names_of,
    pose_codes,
    pose_of,
)
from piase_gym.worlds.object_search.geometry import AREA
from piase_gym.worlds.object_search.observe.reports import read_report, write_report
from piase_gym.worlds.object_search.state import OTHER, POSE, vector_length


class Spoken(Message):
    """A message in words; see `piase_gym.worlds.object_search.speech`.

    It equals no report, even one in the same words, as both are told and encoded in different ways.
    """

    __slots__ = ()
    __hash__ = Message.__hash__

    def __eq__(self, other: object) -> bool:
        """Compare words, but not with those of a report."""
        return type(other) is not Message and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        """Return the opposite; tuples have a `__ne__` of their own."""
        return not self == other


@dataclass(frozen=True, kw_only=True)
class ObjectSearchFacts(Facts):
    """What one agent of ObjectSearch may know.

    Attributes:
        size: Columns and rows of a house; positions of a line.
        position: (x, y, level) in a house, (x,) on a line.
        heading: up, right, down or left; ``None`` on a line.
        pitch: Whether it looks down, level or up; ``None`` on a line.
        roll: Whether its head is tilted left, upright or tilted right; ``None`` on a line.
        cells: What fills the columns ahead, row by row from the farthest: names of `codes.TABLE`.
            The viewer's own column is in the middle of the last row. Empty on a line.
        objects: What it sees, in the order of the config's names.
        others: The agents that it sees.
        total: How many objects there are.
        found: What the team has found, if the config shows it.
        caption: With a camera, the picture in words.
        steps: Steps done.
        limit: The maximum number of steps of an episode.
        earlier: With `message_history`, the messages in words that it heard before.
    """

    size: Place
    position: Place
    heading: str | None = None
    pitch: str | None = None
    roll: str | None = None
    cells: Cells = ()
    objects: tuple[VisibleObject, ...] = ()
    others: tuple[VisibleAgent, ...] = ()
    total: int
    found: tuple[str, ...] | None = None
    caption: str | None = None
    steps: int
    limit: int
    earlier: tuple[EarlierMessage, ...] = ()

    @property
    def pose(self) -> Pose | Place:
        """Where the agent is and, in a house, where it looks."""
        if self.heading is None:
            return self.position
        return Pose(self.position, self.heading, self.pitch or "", self.roll or "")


def vector_box(envelope: ObjectSearchEnvelope) -> Box:
    """Return the space of the vectors."""
    length = vector_length(envelope)
    return Box(np.zeros(length, np.uint8), np.full(length, 255, np.uint8), dtype=np.uint8)


# -- reading ------------------------------------------------------------------------------


def facts_of(
    vector: NDArray[np.uint8],
    agent: int,
    form: Form,
    hint: str | None = None,
    caption: str | None = None,
) -> ObjectSearchFacts:
    """Read a vector back; hint and caption are given because their codes in it are lossy."""
    values = vector.tolist()
    start = form.start
    _, width, height, x, y, z, heading, pitch, roll, total = values[start : start + 10]
    steps, limit = (values[start + i] + 256 * values[start + i + 1] for i in (10, 12))
    house = form.house
    reports = _pieces(values[form.reports_start : form.others], form.report)
    return ObjectSearchFacts(
        agent=form.names[agent],
        messages=tuple(
            Message(name, EVERYONE, write_report(report_of(report, form), form))
            for name, report in zip(form.names, reports, strict=False)
            if report[0]
        ),
        hint=hint,
        size=(width, height) if house else (width,),
        position=(x, y, z) if house else (x,),
        heading=HEADINGS[heading] if house else None,
        pitch=PITCHES[pitch] if house else None,
        roll=ROLLS[roll] if house else None,
        cells=cells_of(values[:AREA], form) if house else (),
        objects=objects_of(values[form.objects : form.found], form),
        others=others_of(values[form.others : form.objects], form),
        total=total,
        found=names_of(values[form.found : form.start], form) if form.config.show_found else None,
        caption=caption,
        steps=steps,
        limit=limit,
    )


def objects_of(values: Sequence[int], form: Form) -> tuple[VisibleObject, ...]:
    """Read which objects are in sight, and where."""
    return tuple(
        VisibleObject(name, (values[2 * i] - 1, values[2 * i + 1]) if form.house else ())
        for i, name in enumerate(form.things)
        if values[2 * i]
    )


def others_of(values: Sequence[int], form: Form) -> tuple[VisibleAgent, ...]:
    """Read which agents are in sight, and where."""
    seen = enumerate(_pieces(values, OTHER))
    return tuple(other_of(number, piece, form) for number, piece in seen if piece[0])


def other_of(number: int, values: Sequence[int], form: Form) -> VisibleAgent:
    """Read where an agent is seen."""
    x, y, z, heading = values
    return VisibleAgent(form.names[number], (x - 1, y, z), HEADINGS[heading])


def report_of(values: Sequence[int], form: Form) -> Report:
    """Read what an agent has reported."""
    cells = cells_of(values[POSE:], form) if form.house else ()
    return Report(pose_of((values[0] - 1, *values[1:6]), form), names_of(values[6:8], form), cells)


def _pieces(values: Sequence[int], length: int) -> list[Sequence[int]]:
    """Cut numbers into pieces."""
    return [values[i : i + length] for i in range(0, len(values), length)]


# -- writing ------------------------------------------------------------------------------


def vector_of(facts: ObjectSearchFacts, form: Form) -> NDArray[np.uint8]:
    """Return the vector of the facts."""
    vector = np.zeros(form.length, np.uint8)
    if form.house:
        vector[:AREA] = codes_of(facts.cells, form)
    size = facts.size if form.house else (facts.size[0], 1)
    head = [form.names.index(facts.agent), *size, *pose_codes(facts.pose), facts.total]
    counts = [byte for value in (facts.steps, facts.limit) for byte in (value & 255, value >> 8)]
    end = form.caption - HINT_CODE
    vector[form.start : end] = head + counts
    vector[end : form.caption] = hash_text(facts.hint)
    if facts.caption is not None:
        vector[form.caption :] = hash_text(facts.caption)
    for thing in facts.objects:
        place = form.objects + 2 * form.things.index(thing.name)
        x, y = thing.position or (0, 0)
        vector[place : place + 2] = x + 1, y
    if facts.found is not None:
        vector[form.found : form.start] = bits_of(facts.found, form)
    for other in facts.others:
        place = form.others + OTHER * form.names.index(other.name)
        (x, *rest), heading = other.position, HEADINGS.index(other.heading)
        vector[place : place + OTHER] = x + 1, *rest, heading
    for letter in facts.messages:
        report = read_report(letter.message, form)
        place = form.reports_start + form.report * form.names.index(letter.sender)
        x, *turned = pose_codes(report.pose)
        window = codes_of(report.cells, form)
        codes = [x + 1, *turned, *bits_of(report.objects, form), *window]
        vector[place : place + form.report] = codes
    return vector
