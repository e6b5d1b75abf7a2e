"""Where things lie in the vectors and texts of ObjectSearch, and the parts of its facts."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from piase_gym.worlds.grids.codes import AGENT, HEADINGS
from piase_gym.worlds.object_search import state
from piase_gym.worlds.object_search.codes import LEVEL, PITCHES, ROLLS, TABLE
from piase_gym.worlds.object_search.config import ObjectSearchConfig, ObjectSearchEnvelope
from piase_gym.worlds.object_search.geometry import AREA, SIDE

Place = tuple[int, ...]
"""(x, y) in a house, with (0, 0) at the top left, or (x,) on a line; (x, y, level) is the cell that
an agent in a house is in."""
Cells = tuple[tuple[str, ...], ...]


class Pose(NamedTuple):
    """Where an agent in a house is and where it looks.

    Attributes:
        place: (x, y, level).
        heading: up, right, down or left.
        pitch: down, level or up.
        roll: left, upright or right.
    """

    place: Place
    heading: str
    pitch: str
    roll: str


class VisibleObject(NamedTuple):
    """An object that an agent sees and, in a house, where it is: (x, y)."""

    name: str
    position: Place


class VisibleAgent(NamedTuple):
    """Another agent that an agent sees: where it is, (x, y, level), and where it looks."""

    name: str
    position: Place
    heading: str


class Report(NamedTuple):
    """What an agent reports: where it is, what it sees there, and in a house its window.

    Attributes:
        pose: Its pose in a house; on a line (x,).
        objects: The names of what it sees.
        cells: Its window.
    """

    pose: Pose | Place
    objects: tuple[str, ...]
    cells: Cells


class Form:
    """Where things lie in the vectors and texts of one config (with its envelope)."""

    world = "ObjectSearch"
    nouns = TABLE.nouns

    def __init__(self, config: ObjectSearchConfig) -> None:
        """Work out the parts from the config and its envelope."""
        self.config = config
        envelope: ObjectSearchEnvelope = config.fixed_envelope()
        self.envelope = envelope
        self.house = bool(envelope.house)
        self.names = config.names(envelope.agents)
        self.things = config.object_names
        self.length = state.vector_length(envelope)
        self.report = state.report_length(envelope)
        self.reports_start = AREA * envelope.house
        self.others = self.reports_start + self.report * envelope.agents * envelope.channel
        self.objects = self.others + state.OTHER * envelope.agents * envelope.house
        self.found = self.objects + 2 * envelope.objects
        self.by_pieces = not (config.show_found or config.in_pictures)
        self.start = self.found + 2 * envelope.found
        window = f"{self.reports_start}s"
        reports = f"{self.report}s" * (envelope.agents * envelope.channel)
        sights = f"{self.objects - self.others}s{self.found - self.objects}s{2 * envelope.found}x"
        self.parts = f"{window}{reports}{sights}x2x3s3sx4s"
        self.caption = self.start + state.SCALARS
        self.cell_names = tuple(TABLE.names.get(code, "") for code in range(AGENT))
        self.cell_codes = TABLE.codes


@functools.lru_cache(maxsize=64)
def form_of(config: ObjectSearchConfig) -> Form:
    """Return the form of a config; for the last few configs, it is the same object each time."""
    return Form(config)


# -- numbers for words, and back ----------------------------------------------------------


def names_of(bits: Sequence[int], form: Form) -> tuple[str, ...]:
    """Return the names of the objects with bits set in two bytes, the low one first."""
    word = bits[0] + 256 * bits[1]
    return tuple(name for i, name in enumerate(form.things) if word >> i & 1)


def bits_of(names: Sequence[str], form: Form) -> list[int]:
    """Return names as bits in two bytes, the low one first."""
    word = sum(1 << form.things.index(name) for name in names)
    return [word & 255, word >> 8]


def cells_of(codes: Sequence[int], form: Form) -> Cells:
    """Return the names of the cells of a window."""
    names = [form.cell_names[code] for code in codes]
    return tuple(tuple(names[i : i + SIDE]) for i in range(0, AREA, SIDE))


def codes_of(cells: Cells, form: Form) -> list[int]:
    """Return the codes of a window."""
    return [form.cell_codes[name] for row in cells for name in row]


def pose_of(values: Sequence[int], form: Form) -> Pose | Place:
    """Read x, y, level, heading, pitch and roll."""
    x, y, z, heading, pitch, roll = values
    if not form.house:
        return (x,)
    return Pose((x, y, z), HEADINGS[heading], PITCHES[pitch], ROLLS[roll])


def pose_codes(pose: Pose | Place) -> list[int]:
    """Return a pose as x, y, level, heading, pitch and roll."""
    if not isinstance(pose, Pose):
        return [pose[0], 0, 0, 0, LEVEL, LEVEL]
    turned = HEADINGS.index(pose.heading), PITCHES.index(pose.pitch), ROLLS.index(pose.roll)
    return [*pose.place, *turned]
