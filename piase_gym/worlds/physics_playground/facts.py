"""PhysicsPlayground's views: facts, rows of whole numbers, vectors, prose, and the ways back.

Every number that an agent is told is a whole number of centimetres, centimetres a second or
degrees. A *row* is all facts of one agent as whole numbers; `Layout` says which fact lies where.
Facts, row, vector and text are functions of each other, so both views state the same fact exactly.

The vector (float32) is, in the order of the row: lengths in metres and speeds in metres a second
(hundredths of the row's numbers), codes and flags as they are, and for every bearing its sine and
cosine, from a table of 360 degrees. At its end are the hashed words heard from each sender, the
symbols heard, the hashed words of the hint, and the codes of words heard before.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.mailbox import Message
from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.core.world import HINT_TEXT, Facts
from piase_gym.worlds.channel.heard import EARLIER_CODE, EarlierMessage, Heard, code_of_earlier
from piase_gym.worlds.channel.symbols import ChannelForm
from piase_gym.worlds.physics_playground.config import PhysicsEnvelope, PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.items import COLOURS, KINDS
from piase_gym.worlds.physics_playground.observe.vector import (
    ANGLE,
    CODE,
    HUNDREDTH,
    LENGTH,
    encode,
)

LONGEST = 200
"""The largest number of characters in a message."""
PLACES = ("free", "held", "in the zone", "held in the zone")
LIMIT = 30000
"""No number in a row is larger."""


@dataclass(frozen=True)
class Sighting:
    """Something in egocentric polar form.

    Attributes:
        name: A name such as ``red box`` or ``agent_1``.
        distance: Centimetres on the floor, from centre to centre.
        bearing: Degrees to the left of the heading, from -179 to 180.
        height: Height of its centre above the floor, in centimetres.
        drift: How fast the distance grows, in centimetres a second.
        place: One of `PLACES`; for an agent always ``free``.
    """

    name: str
    distance: int
    bearing: int
    height: int
    drift: int
    place: str


@dataclass(frozen=True, kw_only=True)
class PhysicsPlaygroundFacts(Facts):
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
        placed: How many objects are in the zone or in the tower, and how many have to be.
        objects: The nearest objects, nearest first.
        others: The other agents in play that are in sight, in their order.
        lidar: Centimetres from the agent's centre to the next thing in each direction,
            counterclockwise from ahead; what is out of range reads as the range.
        earlier: With `message_history`, the messages heard before.
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
    earlier: tuple[EarlierMessage, ...] = ()


OWN = 14
"""How many numbers come before the lists: x, y, z, heading, ahead, left, turning, held object + 1,
its kind, goal flag, goal distance, goal bearing, placed, to be placed."""
SEEN = 7
"""How many numbers an object takes: its own + 1, kind, distance, bearing, height, drift, place."""
MET = 5
"""How many numbers an agent takes: present (2: the viewer), distance, bearing, height, drift."""
_OWN_TYPES = (
    *([LENGTH] * 3),
    ANGLE,
    *([LENGTH] * 3),  # turning: hundreds of degrees a second
    *([CODE] * 3),
    LENGTH,
    ANGLE,
    *([CODE] * 2),
)
_SEEN_TYPES = (CODE, CODE, LENGTH, ANGLE, LENGTH, LENGTH, CODE)
_MET_TYPES = (CODE, LENGTH, ANGLE, LENGTH, LENGTH)


class Layout:
    """The layout of the rows, vectors and texts of one config (with its envelope).

    Attributes:
        width: Numbers in a row.
        length: Numbers in a vector.
        objects: The column at which objects begin; then come agents, lidar, and what is touched.
    """

    def __init__(self, config: PhysicsPlaygroundConfig) -> None:
        """Work out the columns."""
        sizes = config.fixed_envelope()
        self.sizes = sizes
        self.names = config.names(sizes.agents)
        self.things = config.things
        self.range = round(100 * config.range)
        self.rays = config.rays
        self.objects = OWN
        self.others = self.objects + SEEN * sizes.nearest
        self.lidar = self.others + MET * sizes.agents
        self.touch = self.lidar + sizes.rays
        self.width = self.touch + 2 + sizes.objects + sizes.agents
        types = [*_OWN_TYPES, *(_SEEN_TYPES * sizes.nearest), *(_MET_TYPES * sizes.agents)]
        types += [LENGTH] * sizes.rays
        types += [CODE] * (self.width - len(types))
        self.kinds = np.array(types, np.int64)
        self.heard = self.width + types.count(ANGLE)
        self.channel = ChannelForm(config, sizes)
        self.symbols = self.heard + HINT_CODE * sizes.agents * sizes.messages
        self.hint = self.symbols + self.channel.length
        self.before = self.hint + HINT_CODE
        kept = sizes.message_history * sizes.messages
        self.length = self.before + sizes.agents * kept * EARLIER_CODE
        turns = [math.radians(degrees) for degrees in range(360)]
        parts = [math.sin(turn) for turn in turns], [math.cos(turn) for turn in turns]
        self._circle = np.array(parts, np.float32)

    @property
    def box(self) -> Box:
        """The space of the vectors."""
        low = np.full(self.length, -LIMIT, np.float32)
        high = np.full(self.length, LIMIT, np.float32)
        plain = self.kinds[self.kinds != ANGLE]
        bound = np.where(plain == LENGTH, HUNDREDTH, 1.0).astype(np.float32) * np.float32(LIMIT)
        low[: len(plain)], high[: len(plain)] = -bound, bound
        low[len(plain) : self.heard], high[len(plain) : self.heard] = -1.0, 1.0
        low[self.heard :], high[self.heard :] = 0.0, 255.0
        return Box(low, high, dtype=np.float32)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of rows, shape (agents, length), without messages and hints."""
        found = np.zeros((len(rows), self.length), np.float32)
        encode(rows, self.kinds, self._circle, found)
        return found

    def code(self, vector: NDArray[np.float32], heard: Heard, hint: str | None) -> None:
        """Write symbols, and the lossy code of words and hint, into a vector."""
        self.channel.write(heard, vector, self.symbols)
        if self.sizes.messages and self.channel.words:
            for letter in heard.messages:
                start = self.heard + HINT_CODE * self.names.index(letter.sender)
                vector[start : start + HINT_CODE] = hash_text(letter.message)
            kept = self.sizes.message_history
            vector[self.before :] = code_of_earlier(heard.earlier, self.names, kept)
        if hint is not None:
            vector[self.hint : self.before] = hash_text(hint)


@functools.lru_cache(maxsize=64)
def layout_of(config: PhysicsPlaygroundConfig) -> Layout:
    """Return the layout of a config."""
    return Layout(config)


def text_length(config: PhysicsPlaygroundConfig) -> int:
    """Return a length that no text exceeds."""
    sizes: PhysicsEnvelope = config.fixed_envelope()
    things = 120 * sizes.nearest + 130 * sizes.agents + 50 * (sizes.objects + sizes.agents)
    letters = sizes.messages * sizes.agents * (1 + sizes.message_history) * (60 + 10 * LONGEST)
    letters += 90 * sizes.agents * max(1, sizes.message_history) * (sizes.symbols > 0)
    return 700 + things + 10 * sizes.rays + letters + HINT_TEXT


def kind_code(name: str) -> int:
    """Return the code of the kind in an object's name."""
    return KINDS.index(name.split()[1]) + 1


def row_of(facts: PhysicsPlaygroundFacts, form: Layout) -> NDArray[np.int64]:
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
    """Return the column of a row that says that something is touched, and the number there."""
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
    row: Sequence[int],
    form: Layout,
    messages: tuple[Message, ...] = (),
    hint: str | None = None,
    earlier: tuple[EarlierMessage, ...] = (),
) -> PhysicsPlaygroundFacts:
    """Read a row (a list of integers) back into facts."""
    return PhysicsPlaygroundFacts(**fields_of(row, form, messages, hint, earlier))


def fields_of(
    row: Sequence[int],
    form: Layout,
    messages: tuple[Message, ...],
    hint: str | None,
    earlier: tuple[EarlierMessage, ...],
) -> dict[str, Any]:
    """Read the fields of facts from a row."""
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
    return {
        "agent": agent,
        "messages": messages,
        "hint": hint,
        "earlier": earlier,
        "position": (row[0], row[1], row[2]),
        "heading": row[3],
        "velocity": (row[4], row[5]),
        "turning": row[6],
        "holding": object_name(row[7], row[8]) if row[7] else None,
        "touching": _touching(row, form) if any(row[form.touch :]) else (),
        "goal": (row[10], row[11]) if row[9] else None,
        "placed": (row[12], row[13]),
        "objects": tuple(objects),
        "others": tuple(others),
        "lidar": tuple(row[form.lidar : form.lidar + form.rays]),
    }


def _touching(row: Sequence[int], form: Layout) -> tuple[str, ...]:
    """Read from a row what is touched."""
    first = form.touch + 2
    last = first + form.sizes.objects
    plain = [name for name, flag in zip(("wall", "ramp"), row[form.touch :], strict=False) if flag]
    things = [object_name(i + 1, kind) for i, kind in enumerate(row[first:last]) if kind]
    agents = [name for name, flag in zip(form.names, row[last:], strict=True) if flag]
    return (*plain, *things, *agents)
