"""The words of reports, and of what is ahead of an agent of a house. Pure functions."""

from __future__ import annotations

import functools
import re
from typing import Final

from piase_gym.errors import TextParseError
from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.grids.nouns import require
from piase_gym.worlds.object_search.codes import LEVEL, LEVELS, PITCHES, ROLLS
from piase_gym.worlds.object_search.form import (
    NOT_AHEAD,
    Cells,
    Form,
    Place,
    Pose,
    Report,
)
from piase_gym.worlds.object_search.geometry import MIDDLE, SIDE
from piase_gym.worlds.object_search.observe.rows import read_row, rows_text

_HOUSE: Final = (
    r"column (\d+), row (\d+), level (\d+), over (.+?), facing (\w+)"
    r"(?:, looking (\w+))?(?:, head tilted (\w+))?"
)
POSE: Final = re.compile(rf"You are at {_HOUSE}\.")
_POSE: Final = re.compile(rf"I am at {_HOUSE}\.")
_LINE: Final = re.compile(r"I am at position (\d+) and see (.+)\.")
_SEE: Final = re.compile(r"I see (.+)\.")
NOTHING: Final = "nothing"


def pose_text(pose: Pose, below: str, form: Form) -> str:
    """Write where somebody is and looks, without a verb; `below` is what its column holds."""
    stance = stance_text(below, pose.heading, pose.pitch, pose.roll, form)
    return f"{spot_text(pose.place)}, {stance}"


def spot_text(cell: Place | bytes) -> str:
    """Write which cell of a house it is."""
    x, y, z = cell
    return f"column {x}, row {y}, level {z}"


def stance_text(below: str, heading: str, pitch: str, roll: str, form: Form) -> str:
    """Write what a pose says beside the place; to look level and upright is not told."""
    looking = "" if pitch == PITCHES[LEVEL] else f", looking {pitch}"
    head = "" if roll == ROLLS[LEVEL] else f", head tilted {roll}"
    return f"over {form.nouns.noun(below)}, facing {heading}{looking}{head}."


def read_pose(match: re.Match[str], form: Form) -> tuple[Pose, str]:
    """Read a pose, and the name of what is below.

    Raises:
        TextParseError: If there is no such pose.
    """
    x, y, z, below, heading, pitch, roll = match.groups()
    line = match.group()
    pitch, roll = pitch or PITCHES[LEVEL], roll or ROLLS[LEVEL]
    size = form.envelope
    require(form.world, int(x) < size.width and int(y) < size.height, line, "no such column")
    require(form.world, int(z) < LEVELS, line, f"levels are 0 to {LEVELS - 1}")
    require(form.world, heading in HEADINGS, line, f"headings are {', '.join(HEADINGS)}")
    require(form.world, pitch in PITCHES, line, f"agents look {', '.join(PITCHES)}")
    require(form.world, roll in ROLLS, line, "heads are upright, or tilted left or right")
    kinds = {form.nouns.noun(name): name for name in form.cell_codes}
    require(form.world, below in kinds, line, f"below there is {', '.join(kinds)}")
    return Pose((int(x), int(y), int(z)), heading, pitch, roll), kinds[below]


def read_window(lines: list[str], below: str, form: Form) -> Cells:
    """Read the lines of `rows_text`.

    Raises:
        TextParseError: If a line is none of them.
    """
    cells, last = [["floor"] * SIDE for _ in range(SIDE)], 0
    for line in lines:
        last = read_row(line, cells, form)
    for row in range(SIDE - 1 - last):
        cells[row] = ["unseen"] * SIDE
    for column in NOT_AHEAD:
        cells[column // SIDE][column % SIDE] = "unseen"
    cells[-1][MIDDLE] = below
    return tuple(map(tuple, cells))


def list_names(names: tuple[str, ...]) -> str:
    """Write names of objects."""
    return ", ".join(names) or NOTHING


def read_names(words: str, form: Form) -> tuple[str, ...]:
    """Read what `list_names` wrote.

    Raises:
        TextParseError: If there is no such object, or they are not in the order of the config.
    """
    names = () if words == NOTHING else tuple(words.split(", "))
    for name in names:
        require(form.world, name in form.things, words, f"objects are {', '.join(form.things)}")
    order = [form.things.index(name) for name in names]
    require(form.world, order == sorted(set(order)), words, "they are named in their order")
    return names


# -- reports ------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def write_report(report: Report, form: Form) -> str:
    """Write a report on one line."""
    pose, here = report.pose, f"position {report.pose[0]}."
    if isinstance(pose, Pose):
        here = pose_text(pose, report.cells[-1][MIDDLE], form) + rows_text(report.cells, form)
    return report_text(here, list_names(report.objects), form)


def report_text(here: str, seen: str, form: Form) -> str:
    """Write a report of where an agent is, with what is ahead, and of the objects it sees."""
    if form.house:
        return f"I am at {here} I see {seen}.".replace("\n", " ")
    return f"I am at {here[:-1]} and see {seen}."


def read_report(text: str, form: Form) -> Report:
    """Read a report back.

    Raises:
        TextParseError: If it is not one that `write_report` writes.
    """
    if not form.house:
        match = _LINE.fullmatch(text)
        if match is None:
            raise TextParseError(f"{form.world}: not a report: {text[:80]!r}")
        place: Place = (int(match.group(1)),)
        require(form.world, place[0] < form.envelope.width, text, "no such position")
        return Report(place, read_names(match.group(2), form), ())
    first, *window, last = re.split(r"(?<=\.) ", text)
    pose, seen = _POSE.fullmatch(first), _SEE.fullmatch(last)
    if pose is None or seen is None:
        raise TextParseError(f"{form.world}: not a report: {text[:80]!r}")
    found, below = read_pose(pose, form)
    names = read_names(seen.group(1), form)
    return Report(found, names, read_window(window, below, form))
