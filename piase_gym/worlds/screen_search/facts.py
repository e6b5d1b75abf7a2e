"""ScreenSearch's facts: what one agent may know; as prose, read back from it, and as a vector."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.text_encoding import HINT_CODE, one_line, unescape
from piase_gym.core.world import HINT_TEXT, Facts
from piase_gym.worlds.describing import LONGEST_CAPTION, LONGEST_NAME, MOST_OBJECTS, Description
from piase_gym.worlds.screen_search.config import MAX_MESSAGE, MOST_FOUND, ScreenSearchConfig
from piase_gym.worlds.texts import letters
from piase_gym.worlds.texts.lines import LineReader


class Sighting(NamedTuple):
    """An object in the picture; all numbers are hundredths of the picture.

    Attributes:
        name: What it is.
        x: How far its middle is from the left edge.
        y: How far its middle is from the top.
        width: How wide it is.
        height: How high it is.
    """

    name: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, kw_only=True)
class ScreenSearchFacts(Facts):
    """What one agent of ScreenSearch may know.

    Attributes:
        caption: What the picture shows, in words.
        objects: What is in the picture, the largest first.
        found: What the agent has found so far or, with `shared_memory`, what anybody has found.
        wanted: The objects that the config names and that are not yet found.
        feedback: What became of the last command, if there is more to say.
    """

    caption: str
    objects: tuple[Sighting, ...]
    found: tuple[str, ...]
    wanted: tuple[str, ...]
    feedback: str | None = None


def sightings(described: Description, height: int, width: int) -> tuple[Sighting, ...]:
    """Return the objects of a description, in hundredths of the picture."""
    return tuple(
        Sighting(
            name,
            round(50 * (left + right) / width),
            round(50 * (top + bottom) / height),
            round(100 * (right - left) / width),
            round(100 * (bottom - top) / height),
        )
        for name, (left, top, right, bottom) in described.objects
    )


# -- text -------------------------------------------------------------------------------------

_HEAD = re.compile(r"You are ([\w.-]+)\. You see: (.*)")
_NAME = r"[a-z0-9' -]+"
_OBJECT = re.compile(
    rf"Object ({_NAME}): (\d+)% across and (\d+)% down, (\d+)% wide and (\d+)% high\."
)
_FOUND = re.compile(rf"Found so far: ((?:{_NAME}, )*{_NAME})\.")
_WANTED = re.compile(rf"Still to be found: ((?:{_NAME}, )*{_NAME})\.")
_RESULT = re.compile(r"Result: (.*)")
LONGEST_FEEDBACK: Final = 400
TEXT_LENGTH: Final = (
    400
    + 10 * (LONGEST_CAPTION + LONGEST_FEEDBACK)
    + MOST_OBJECTS * (LONGEST_NAME + 80)
    + 2 * MOST_FOUND * (LONGEST_NAME + 2)
    + HINT_TEXT
)
"""No text is longer, apart from the letters in it."""
LETTER_LENGTH: Final = 120 + 10 * MAX_MESSAGE


def to_text(facts: ScreenSearchFacts) -> str:
    """Write the facts as prose, each of them once."""
    lines = [f"You are {facts.agent}. You see: {one_line(facts.caption)}"]
    lines += [
        f"Object {name}: {x}% across and {y}% down, {width}% wide and {height}% high."
        for name, x, y, width, height in facts.objects
    ]
    if facts.found:
        lines.append(f"Found so far: {', '.join(facts.found)}.")
    if facts.wanted:
        lines.append(f"Still to be found: {', '.join(facts.wanted)}.")
    if facts.feedback is not None:
        lines.append(f"Result: {one_line(facts.feedback)}")
    return "\n".join([*lines, *letters.closing_lines(facts)])


def parse(text: str, config: ScreenSearchConfig) -> ScreenSearchFacts:
    """Read a text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `to_text` writes.
    """
    names = config.names(config.fixed_envelope().agents)
    lines = LineReader("ScreenSearch", text)
    head = lines.need(_HEAD)
    facts = ScreenSearchFacts(
        agent=lines.name(head[1], {name: name for name in names}),
        caption=unescape(head[2]),
        objects=tuple(_sighting(match, lines) for match in lines.every(_OBJECT)),
        found=_names(lines.next(_FOUND)),
        wanted=_names(lines.next(_WANTED)),
        feedback=lines.free(_RESULT),
        messages=tuple(letters.read_letters(lines, names)),
        hint=lines.hint(),
    )
    lines.require_end()
    return facts


def _names(match: re.Match[str] | None) -> tuple[str, ...]:
    return tuple(match[1].split(", ")) if match else ()


def _sighting(match: re.Match[str], lines: LineReader) -> Sighting:
    """Read a line about an object."""
    x, y, width, height = (int(number) for number in match.groups()[1:])
    lines.require(max(x, y, width, height) <= 100, "a picture has 100%")
    return Sighting(match[1], x, y, width, height)


# -- vector -----------------------------------------------------------------------------------

SIGHTING_CODE: Final = 5 + HINT_CODE
"""How many numbers an object takes: 1, its place and size, and the code of its name."""


def vector_box(agents: int) -> Box:
    """Return the space of the vectors; see `vector_of`."""
    names = 2 * MOST_FOUND * HINT_CODE
    size = 1 + MOST_OBJECTS * SIGHTING_CODE + names + agents * letters.LETTER_CODE + 3 * HINT_CODE
    return Box(0.0, 255.0, (size,), np.float32)


def vector_of(facts: ScreenSearchFacts, agents: Sequence[str]) -> NDArray[np.float32]:
    """Return the vector of the facts.

    In order: the agent's number; for each object in the picture 1, x, y, width and height as shares
    of the picture, and 8 numbers of its hashed name; the names of what was found and of what has
    yet to be found, 8 numbers each; the letters; 8 numbers each for caption, feedback and hint.
    """
    (size,) = vector_box(len(agents)).shape
    row = np.zeros(size, np.float32)
    row[0] = agents.index(facts.agent)
    for k, seen in enumerate(facts.objects):
        place = 1 + k * SIGHTING_CODE
        row[place : place + 5] = (
            1.0,
            seen.x / 100,
            seen.y / 100,
            seen.width / 100,
            seen.height / 100,
        )
        row[place + 5 : place + SIGHTING_CODE] = letters.text_code(seen.name)
    start = 1 + MOST_OBJECTS * SIGHTING_CODE
    for names in (facts.found, facts.wanted):
        for k, name in enumerate(names):
            row[start + k * HINT_CODE : start + (k + 1) * HINT_CODE] = letters.text_code(name)
        start += MOST_FOUND * HINT_CODE
    letters.put_letters(row, start, facts.messages, agents)
    letters.put_last(row, facts.caption, facts.feedback, facts.hint)
    return row


# -- the words of the PiaSE documents ---------------------------------------------------------

PERCEPTION_TYPES: Final = {
    "caption": "string",
    "objects": "list[object]",
    "found": "list[string]",
    "wanted": "list[string]",
    "feedback": "string | None",
}
"""The names and types of the perceptions of `surroundings_of`."""


def surroundings_of(facts: ScreenSearchFacts) -> Surroundings:
    """Return facts in the terms of the PiaSE documents; no agent knows its position."""
    rows: list[dict[str, Any]] = [seen._asdict() for seen in facts.objects]
    things = [
        Thing(row["name"], "object", {k: v for k, v in row.items() if k != "name"}) for row in rows
    ]
    return Surroundings(
        objects=tuple(things),
        perceptions={
            "caption": facts.caption,
            "objects": rows,
            "found": list(facts.found),
            "wanted": list(facts.wanted),
            "feedback": facts.feedback,
        },
    )
