"""PhysicsPlayground's views: facts, rows of whole numbers, vectors, prose, and the ways back.

Every number that an agent is told is a whole number of centimetres, centimetres a second or
degrees. A *row* is all facts of one agent as whole numbers; `Layout` says where what lies. Facts,
row, vector and text are functions of each other, so both views state the same fact exactly.

The vector (float32) is, in the order of the row: lengths in metres and speeds in metres a second
(hundredths of the row's numbers), codes and flags as they are, and for every bearing its sine and
cosine, from a table of 360 degrees. At its end are the hashed words of the messages heard, one
code a sender, and of the hint.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.errors import TextParseError
from piase_gym.mailbox import EVERYONE, Letter
from piase_gym.textcode import HINT_CODE, hash_text, one_line, unescape
from piase_gym.world import HINT_TEXT, Facts
from piase_gym.worlds.physics_playground.config import COLOURS, KINDS, PhysicsPlaygroundConfig

LONGEST = 200
"""Longest message in characters."""
PLACES = ("free", "held", "in the zone", "held in the zone")
LIMIT = 30000
"""No whole number of a row is larger."""


@dataclass(frozen=True)
class Sighting:
    """Something in egocentric polar form.

    Attributes:
        name: Such as ``red box`` or ``agent_1``.
        distance: Centimetres on the floor, from centre to centre.
        bearing: Degrees to the left of the heading, from -179 to 180.
        height: Centimetres of its centre above the floor.
        drift: Centimetres a second by which the distance grows.
        place: One of `PLACES`; of an agent always ``free``.
    """

    name: str
    distance: int
    bearing: int
    height: int
    drift: int
    place: str


@dataclass(frozen=True, kw_only=True)
class PhysicsFacts(Facts):
    """What one agent of PhysicsPlayground may know.

    Attributes:
        position: Own x, y and height in centimetres.
        heading: Degrees from east to north, from -179 to 180.
        velocity: Own speed ahead and to the left, centimetres a second.
        turning: Own spin to the left, degrees a second.
        holding: What the agent grips, or ``None``.
        touching: What it touches, apart from the floor: ``wall``, ``ramp``, objects, agents.
        goal: Distance in centimetres and bearing in degrees of its target, or of the zone's
            middle; ``None`` if the task has neither.
        placed: How many objects are in the zone or in the tower, and how many are to be.
        objects: The nearest objects, nearest first.
        others: The other agents in play, in their order.
        lidar: How far it is from the agent's centre to the next thing in each direction,
            centimetres, from ahead around by the left; what is out of range reads as the range.
    """

    position: tuple[int, int, int]
    heading: int
    velocity: tuple[int, int]
    turning: int
    holding: str | None
    touching: tuple[str, ...]
    goal: tuple[int, int] | None
    placed: tuple[int, int]
    objects: tuple[Sighting, ...]
    others: tuple[Sighting, ...]
    lidar: tuple[int, ...]


OWN = 14
"""Whole numbers before the lists: x, y, z, heading, ahead, left, turning, held object + 1, its
kind, goal flag, goal distance, goal bearing, placed, to be placed."""
SEEN = 7
"""Numbers an object: its number + 1, kind, distance, bearing, height, drift, place."""
MET = 5
"""Numbers another agent: present (2: the viewer itself), distance, bearing, height, drift."""
_LENGTH, _CODE, _ANGLE = range(3)
_OWN_TYPES = (
    *([_LENGTH] * 3),
    _ANGLE,
    *([_LENGTH] * 3),  # turning: hundreds of degrees a second
    *([_CODE] * 3),
    _LENGTH,
    _ANGLE,
    *([_CODE] * 2),
)
_SEEN_TYPES = (_CODE, _CODE, _LENGTH, _ANGLE, _LENGTH, _LENGTH, _CODE)
_MET_TYPES = (_CODE, _LENGTH, _ANGLE, _LENGTH, _LENGTH)


class Layout:
    """Where what lies in the rows, vectors and texts of one config (with its envelope).

    Attributes:
        width: Numbers in a row.
        length: Numbers in a vector.
        objects: Where objects begin; then come agents, lidar, and what is touched.
    """

    def __init__(self, config: PhysicsPlaygroundConfig) -> None:
        """Work out the columns."""
        sizes = config.fixed_sizes()
        self.sizes = sizes
        self.names = config.names(sizes.agents)
        self.range = round(100 * config.range)
        self.rays = config.rays
        self.objects = OWN
        self.others = self.objects + SEEN * sizes.nearest
        self.lidar = self.others + MET * sizes.agents
        self.touch = self.lidar + sizes.rays
        self.width = self.touch + 2 + sizes.objects + sizes.agents
        types = [*_OWN_TYPES, *(_SEEN_TYPES * sizes.nearest), *(_MET_TYPES * sizes.agents)]
        types += [_LENGTH] * sizes.rays
        types += [_CODE] * (self.width - len(types))
        kinds = np.array(types)
        self.angles = np.flatnonzero(kinds == _ANGLE)
        self.flat = np.flatnonzero(kinds != _ANGLE)
        self.scale = np.where(kinds == _LENGTH, 0.01, 1.0).astype(np.float32)[self.flat]
        self.heard = len(self.flat) + 2 * len(self.angles)
        self.hint = self.heard + HINT_CODE * sizes.agents * sizes.messages
        self.length = self.hint + HINT_CODE
        turns = [math.radians(degrees) for degrees in range(360)]
        self.sine = np.array([math.sin(turn) for turn in turns], np.float32)
        self.cosine = np.array([math.cos(turn) for turn in turns], np.float32)

    @property
    def box(self) -> Box:
        """The space of the vectors."""
        low = np.full(self.length, -LIMIT, np.float32)
        high = np.full(self.length, LIMIT, np.float32)
        flat = len(self.flat)
        low[flat : self.heard], high[flat : self.heard] = -1.0, 1.0
        low[self.heard :], high[self.heard :] = 0.0, 255.0
        bound = self.scale * np.float32(LIMIT)
        low[:flat], high[:flat] = -bound, bound
        return Box(low, high, dtype=np.float32)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of rows, shape (agents, length), without messages and hints."""
        found = np.zeros((len(rows), self.length), np.float32)
        flat, angles = len(self.flat), len(self.angles)
        np.multiply(rows[:, self.flat], self.scale, out=found[:, :flat])
        turns = rows[:, self.angles] % 360
        found[:, flat : flat + angles] = self.sine[turns]
        found[:, flat + angles : self.heard] = self.cosine[turns]
        return found

    def code(
        self, vector: NDArray[np.float32], messages: Sequence[Letter], hint: str | None
    ) -> None:
        """Write the lossy code of messages and hint into a vector."""
        if messages and self.sizes.messages:
            for letter in messages:
                start = self.heard + HINT_CODE * self.names.index(letter.sender)
                vector[start : start + HINT_CODE] = hash_text(letter.message)
        if hint is not None:
            vector[self.hint :] = hash_text(hint)


@functools.lru_cache(maxsize=64)
def layout_of(config: PhysicsPlaygroundConfig) -> Layout:
    """Return the layout of a config."""
    return Layout(config)


def text_length(config: PhysicsPlaygroundConfig) -> int:
    """Return a length that no text exceeds."""
    sizes = config.fixed_sizes()
    things = 120 * sizes.nearest + 130 * sizes.agents + 50 * (sizes.objects + sizes.agents)
    letters = sizes.messages * sizes.agents * (60 + 10 * LONGEST)
    return 700 + things + 10 * sizes.rays + letters + HINT_TEXT


def kind_code(name: str) -> int:
    """Return the code of the kind in an object's name."""
    return KINDS.index(name.split()[1]) + 1


def row_of(facts: PhysicsFacts, form: Layout) -> NDArray[np.int64]:
    """Return the facts as whole numbers."""
    row = np.zeros(form.width, np.int64)
    held = facts.holding
    goal = facts.goal or (0, 0)
    row[:OWN] = (
        *facts.position,
        facts.heading,
        *facts.velocity,
        facts.turning,
        *(_object_codes(held) if held else (0, 0)),
        facts.goal is not None,
        *goal,
        *facts.placed,
    )
    for slot, seen in enumerate(facts.objects):
        start = form.objects + SEEN * slot
        row[start : start + SEEN] = (
            *_object_codes(seen.name),
            seen.distance,
            seen.bearing,
            seen.height,
            seen.drift,
            PLACES.index(seen.place),
        )
    row[form.others + MET * form.names.index(facts.agent)] = 2
    for seen in facts.others:
        start = form.others + MET * form.names.index(seen.name)
        row[start : start + MET] = 1, seen.distance, seen.bearing, seen.height, seen.drift
    row[form.lidar : form.lidar + len(facts.lidar)] = facts.lidar
    for name in facts.touching:
        place, code = touch_place(name, form)
        row[place] = code
    return row


def _object_codes(name: str) -> tuple[int, int]:
    """Return the number of an object, plus one, and the code of its kind."""
    return COLOURS.index(name.split()[0]) + 1, kind_code(name)


def touch_place(name: str, form: Layout) -> tuple[int, int]:
    """Return where in a row stands that something is touched, and the number that says so."""
    if name in ("wall", "ramp"):
        return form.touch + ("wall", "ramp").index(name), 1
    if name in form.names:
        return form.touch + 2 + form.sizes.objects + form.names.index(name), 1
    number, kind = _object_codes(name)
    return form.touch + 1 + number, kind


def object_name(number: int, kind: int) -> str:
    """Return the name of an object from the codes of a row."""
    return f"{COLOURS[number - 1]} {KINDS[kind - 1]}"


def facts_of(
    row: Sequence[int], form: Layout, messages: tuple[Letter, ...] = (), hint: str | None = None
) -> PhysicsFacts:
    """Read a row (a list of integers) back into facts."""
    objects = []
    for slot in range(form.sizes.nearest):
        number, kind, distance, bearing, height, drift, place = row[
            form.objects + SEEN * slot : form.objects + SEEN * (slot + 1)
        ]
        if number:
            name = object_name(number, kind)
            objects.append(Sighting(name, distance, bearing, height, drift, PLACES[place]))
    agent, others = "", []
    for name, start in zip(form.names, range(form.others, form.lidar, MET), strict=True):
        present, distance, bearing, height, drift = row[start : start + MET]
        if present == 1:
            others.append(Sighting(name, distance, bearing, height, drift, PLACES[0]))
        agent = name if present == 2 else agent
    return PhysicsFacts(
        agent=agent,
        messages=messages,
        hint=hint,
        position=(row[0], row[1], row[2]),
        heading=row[3],
        velocity=(row[4], row[5]),
        turning=row[6],
        holding=object_name(row[7], row[8]) if row[7] else None,
        touching=_touching(row, form),
        goal=(row[10], row[11]) if row[9] else None,
        placed=(row[12], row[13]),
        objects=tuple(objects),
        others=tuple(others),
        lidar=tuple(row[form.lidar : form.lidar + form.rays]),
    )


def _touching(row: Sequence[int], form: Layout) -> tuple[str, ...]:
    """Read what is touched."""
    first = form.touch + 2
    last = first + form.sizes.objects
    plain = [name for name, flag in zip(("wall", "ramp"), row[form.touch :], strict=False) if flag]
    things = [object_name(i + 1, kind) for i, kind in enumerate(row[first:last]) if kind]
    agents = [name for name, flag in zip(form.names, row[last:], strict=True) if flag]
    return (*plain, *things, *agents)


# -- prose --------------------------------------------------------------------------------


def text_of(facts: PhysicsFacts, config: PhysicsPlaygroundConfig) -> str:
    """Write the facts as prose, each once."""
    x, y, z = facts.position
    ahead, left = facts.velocity
    lines = [
        f"You are {facts.agent} at x {_m(x)}, y {_m(y)}, {_m(z)} above the floor.",
        f"You face {facts.heading} degrees north of east.",
        f"Your speed is {_m(ahead)} m/s ahead and {_m(left)} m/s to the left.",
        f"You turn left by {facts.turning} degrees a second.",
        f"You hold the {facts.holding}." if facts.holding else "You hold nothing.",
        *[f"You touch {_the(name)}." for name in facts.touching],
    ]
    if facts.goal is not None:
        lines.append(f"Your goal is {_m(facts.goal[0])} m away, {_bearing(facts.goal[1])}.")
    if facts.placed[1]:
        lines.append(f"Placed: {facts.placed[0]} of {facts.placed[1]}.")
    for seen in facts.objects:
        where = {"free": "free"}.get(seen.place, seen.place)
        lines.append(f"The {_sighting(seen)}; it is {where}.")
    lines += [f"{_sighting(seen)}." for seen in facts.others]
    if facts.lidar:
        lines.append("Lidar, from ahead by the left: " + ", ".join(map(_m, facts.lidar)) + ".")
    lines += [f"{letter.sender} says: {one_line(letter.message)}" for letter in facts.messages]
    if facts.hint is not None:
        lines.append("Hint: " + one_line(facts.hint))
    return "\n".join(lines)


def _m(value: int) -> str:
    """Write hundredths with two decimals."""
    return f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02d}"


def _the(name: str) -> str:
    """Write a name with its article, if it has one."""
    return f"the {name}" if " " in name or name in ("wall", "ramp") else name


def _bearing(degrees: int) -> str:
    """Write a bearing."""
    if degrees == 0:
        return "straight ahead"
    return f"{abs(degrees)} degrees {'left' if degrees > 0 else 'right'}"


def _sighting(seen: Sighting) -> str:
    """Write the polar part of a sighting."""
    drift = f"moving away at {_m(seen.drift)} m/s"
    if seen.drift <= 0:
        drift = f"coming nearer at {_m(-seen.drift)} m/s" if seen.drift else "keeping its distance"
    return (
        f"{seen.name} is {_m(seen.distance)} m away, {_bearing(seen.bearing)}, "
        f"{_m(seen.height)} high, {drift}"
    )


_M = r"(-?\d+\.\d\d)"
_BEARING = r"(straight ahead|\d+ degrees (?:left|right))"
_DRIFT = rf"(keeping its distance|(?:moving away|coming nearer) at \d+\.\d\d m/s)"
_POLAR = rf"is {_M} m away, {_BEARING}, {_M} high, {_DRIFT}"
_HEAD = re.compile(
    rf"You are ([\w.-]+) at x {_M}, y {_M}, {_M} above the floor\.\n"
    rf"You face (-?\d+) degrees north of east\.\n"
    rf"Your speed is {_M} m/s ahead and {_M} m/s to the left\.\n"
    rf"You turn left by (-?\d+) degrees a second\.\n"
    rf"You hold (nothing|the [a-z]+ [a-z]+)\."
)
_HEAD_LINES = 5
_TOUCH = re.compile(r"You touch (?:the (wall|ramp|[a-z]+ [a-z]+)|([\w.-]+))\.")
_GOAL = re.compile(rf"Your goal is {_M} m away, {_BEARING}\.")
_PLACED = re.compile(r"Placed: (\d+) of (\d+)\.")
_OBJECT = re.compile(rf"The ([a-z]+ [a-z]+) {_POLAR}; it is ({'|'.join(PLACES)})\.")
_OTHER = re.compile(rf"([\w.-]+) {_POLAR}\.")
_LIDAR = re.compile(rf"Lidar, from ahead by the left: ({_M}(?:, {_M})*)\.")
_SAYS = re.compile(r"([\w.-]+) says: (.*)")
_HINT = re.compile(r"Hint: (.*)")


def parse(text: str, config: PhysicsPlaygroundConfig) -> PhysicsFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If the world does not write such a text under this config.
    """
    form = layout_of(config)
    lines = text.split("\n")
    head = _HEAD.fullmatch("\n".join(lines[:_HEAD_LINES]))
    if head is None:
        raise TextParseError(f"PhysicsPlayground: not the start of a text: {text[:80]!r}")
    facts = PhysicsFacts(agent=head.group(1), **_read_head(head), **_read_lines(lines[_HEAD_LINES:]))
    problem = _problem(facts, form, config)
    if problem is None and text_of(facts, config) != text:
        problem = "it is not written as this world writes"
    if problem is not None:
        raise TextParseError(f"PhysicsPlayground: cannot read this text: {problem}")
    return facts


def _read_head(head: re.Match[str]) -> dict[str, Any]:
    """Read the first lines."""
    x, y, z, heading, ahead, left, turning = (_whole(part) for part in head.groups()[1:8])
    held = head.group(9)
    return {
        "position": (x, y, z),
        "heading": heading,
        "velocity": (ahead, left),
        "turning": turning,
        "holding": None if held == "nothing" else held.removeprefix("the "),
    }


def _read_lines(lines: Sequence[str]) -> dict[str, Any]:
    """Read the other lines; their order is checked by writing them again."""
    touching: list[str] = []
    objects: list[Sighting] = []
    others: list[Sighting] = []
    messages: list[Letter] = []
    found: dict[str, Any] = {"goal": None, "placed": (0, 0), "lidar": (), "hint": None}
    for line in lines:
        if match := _TOUCH.fullmatch(line):
            touching.append(match.group(1) or match.group(2))
        elif match := _GOAL.fullmatch(line):
            found["goal"] = _whole(match.group(1)), _degrees(match.group(2))
        elif match := _PLACED.fullmatch(line):
            found["placed"] = int(match.group(1)), int(match.group(2))
        elif match := _OBJECT.fullmatch(line):
            objects.append(_read_sighting(match, match.group(6)))
        elif match := _OTHER.fullmatch(line):
            others.append(_read_sighting(match, PLACES[0]))
        elif match := _LIDAR.fullmatch(line):
            found["lidar"] = tuple(_whole(part) for part in match.group(1).split(", "))
        elif match := _HINT.fullmatch(line):
            found["hint"] = _free(match.group(1))
        elif match := _SAYS.fullmatch(line):
            messages.append(Letter(match.group(1), EVERYONE, _free(match.group(2))))
        else:
            raise TextParseError(f"PhysicsPlayground: cannot read the line {line[:80]!r}")
    lists = {"touching": touching, "objects": objects, "others": others, "messages": messages}
    return {**found, **{name: tuple(part) for name, part in lists.items()}}


def _read_sighting(match: re.Match[str], place: str) -> Sighting:
    """Read one sighting."""
    name, distance, bearing, height, drift = match.groups()[:5]
    speed = 0 if drift.startswith("keeping") else _whole(drift.split()[-2])
    return Sighting(
        name,
        _whole(distance),
        _degrees(bearing),
        _whole(height),
        -speed if drift.startswith("coming") else speed,
        place,
    )


def _whole(number: str) -> int:
    """Read hundredths, or a whole number."""
    return int(number.replace(".", ""))


def _degrees(bearing: str) -> int:
    """Read a bearing."""
    if bearing == "straight ahead":
        return 0
    degrees = int(bearing.split()[0])
    return degrees if bearing.endswith("left") else -degrees


def _free(text: str) -> str:
    """Undo the escapes of a free string."""
    try:
        return unescape(text)
    except (ValueError, OverflowError) as error:
        raise TextParseError(
            f"PhysicsPlayground: bad escape in {text[:80]!r}: {error}"
        ) from None


def _problem(facts: PhysicsFacts, form: Layout, config: PhysicsPlaygroundConfig) -> str | None:
    """Say what in facts cannot be under a config, or return ``None``."""
    seen = [item.name for item in facts.objects]
    met = [item.name for item in facts.others]
    held = [facts.holding] if facts.holding else []
    touched = [name for name in facts.touching if " " in name]
    agents = [facts.agent, *met, *(n for n in facts.touching if " " not in n)]
    agents += [letter.sender for letter in facts.messages]
    known = set(COLOURS[: form.sizes.objects])
    for name in (*seen, *held, *touched):
        colour, _, kind = name.partition(" ")
        if colour not in known or kind not in KINDS:
            return f"there is no {name!r}"
    for name in agents:
        if name not in form.names and name not in ("wall", "ramp"):
            return f"there is no agent {name!r}"
    for names in (seen, [facts.agent, *met], list(facts.touching)):
        if len(set(names)) < len(names):
            return f"something occurs twice in {names}"
    if len(seen) > form.sizes.nearest or len(facts.lidar) != form.rays:
        return "it has more objects or rays than this config"
    if [*map(form.names.index, met)] != sorted(map(form.names.index, met)):
        return "agents are not in their order"
    if _ordered(facts.touching, form) != list(facts.touching):
        return "what is touched is not in its order"
    turns = [facts.heading, *([facts.goal[1]] if facts.goal else [])]
    turns += [item.bearing for item in (*facts.objects, *facts.others)]
    if any(not -180 < turn <= 180 for turn in turns):
        return "a bearing is from -179 to 180 degrees"
    lengths = [item.distance for item in (*facts.objects, *facts.others)]
    lengths += [*facts.lidar, *([facts.goal[0]] if facts.goal else [])]
    if any(length < 0 for length in lengths) or any(ray > form.range for ray in facts.lidar):
        return "a distance is negative or out of range"
    if facts.agent in facts.touching:
        return f"{facts.agent} cannot touch itself"
    return None


def _ordered(names: Sequence[str], form: Layout) -> list[str]:
    """Return what is touched in the order of rows."""
    return sorted(names, key=lambda name: touch_place(name, form)[0])
