"""The words for reports, and for what is ahead of an agent in a house. Pure functions."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final

from piase_gym.errors import TextParseError
from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.grids.nouns import require
from piase_gym.worlds.grids.words import COMPASS
from piase_gym.worlds.object_search.codes import LEVEL, LEVELS, PITCHES, ROLLS
from piase_gym.worlds.object_search.form import Cells, Form, Place, Pose, Report, cells_of, codes_of
from piase_gym.worlds.object_search.geometry import MIDDLE
from piase_gym.worlds.object_search.observe.rows import read_window, window_text
from piase_gym.worlds.texts.wording import article

_OLUMN: Final = (
    r"olumn (\d+), row (\d+), level (\d+)(?:, over (.+?))?, facing (\w+)"
    r"(?:, head (up|down))?(?:, tilted (left|right))?"
)
POSE: Final = f"c{_OLUMN}"
"""What `pose_text` writes."""
_POSE: Final = re.compile(rf"C{_OLUMN}\.")
_LINE: Final = re.compile(r"I am at position (\d+) and see (.+)\.")
_SEE: Final = re.compile(r"I see (.+)\.")
NOTHING: Final = "nothing"
_FACING: Final = dict(zip(HEADINGS, COMPASS, strict=True))
_HEADING: Final = dict(zip(COMPASS, HEADINGS, strict=True))


def pose_text(pose: Pose, below: str, form: Form) -> str:
    """Write where an agent is and looks, without a verb; `below` is what its column holds."""
    stance = stance_text(below, pose.heading, pose.pitch, pose.roll, form)
    return f"{spot_text(pose.place)}, {stance}"


def spot_text(cell: Place | bytes) -> str:
    """Write the place of a cell of a house."""
    x, y, z = cell
    return f"column {x}, row {y}, level {z}"


def stance_text(below: str, heading: str, pitch: str, roll: str, form: Form) -> str:
    """Write a pose without its place; floor below and a level, upright head are left out."""
    over = "" if below == "floor" else f"over {form.nouns.noun(below)}, "
    head = "" if pitch == PITCHES[LEVEL] else f", head {pitch}"
    tilted = "" if roll == ROLLS[LEVEL] else f", tilted {roll}"
    return f"{over}{facing(heading)}{head}{tilted}."


def facing(heading: str) -> str:
    """Write where an agent looks, as a compass direction."""
    return f"facing {_FACING[heading]}"


def read_facing(word: str, line: str, form: Form) -> str:
    """Read a heading.

    Raises:
        TextParseError: If there is no such heading.
    """
    require(form.world, word in _HEADING, line, f"headings are {', '.join(COMPASS)}")
    return _HEADING[word]


def read_pose(words: Sequence[str | None], line: str, form: Form) -> tuple[Pose, str]:
    """Read a pose, and the name of what is below.

    Args:
        words: The groups of `POSE`.
        line: The line that contains them.
        form: The form of the config.

    Raises:
        TextParseError: If there is no such pose.
    """
    *place, below, heading, pitch, roll = words
    x, y, z = (int(number or 0) for number in place)
    size = form.envelope
    require(form.world, x < size.width and y < size.height, line, "no such column")
    require(form.world, z < LEVELS, line, f"levels are 0 to {LEVELS - 1}")
    kinds = {form.nouns.noun(name): name for name in form.cell_codes if name != "floor"}
    require(form.world, not below or below in kinds, line, f"below there is {', '.join(kinds)}")
    turned = read_facing(heading or "", line, form), pitch or PITCHES[LEVEL], roll or ROLLS[LEVEL]
    return Pose((x, y, z), *turned), kinds[below] if below else "floor"


def cells_text(cells: Cells, form: Form) -> str:
    """Write what is ahead, each line after a line break."""
    return window_text(bytes(codes_of(cells, form)), form.config.sight)


def read_cells(lines: Sequence[str], below: str, form: Form) -> Cells:
    """Read what `cells_text` wrote about a window; `below` is what the agent's column holds.

    Raises:
        TextParseError: If it is not written so.
    """
    return cells_of(read_window(lines, form.cell_codes[below], form), form)


def list_names(names: tuple[str, ...]) -> str:
    """Write names of objects."""
    return ", ".join(map(with_article, names)) or NOTHING


def with_article(name: str) -> str:
    """Return a name with its article."""
    return f"{article(name)} {name}"


def read_names(words: str, form: Form) -> tuple[str, ...]:
    """Read what `list_names` wrote.

    Raises:
        TextParseError: If there is no such object, or they are not in the order of the config.
    """
    known = {with_article(name): name for name in form.things}
    listed = () if words == NOTHING else tuple(words.split(", "))
    for name in listed:
        require(form.world, name in known, words, f"objects are {', '.join(known)}")
    names = tuple(known[name] for name in listed)
    order = [form.things.index(name) for name in names]
    require(form.world, order == sorted(set(order)), words, "they are named in their order")
    return names


# -- reports ------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def write_report(report: Report, form: Form) -> str:
    """Write a report on one line."""
    pose, here = report.pose, f"position {report.pose[0]}"
    if isinstance(pose, Pose):
        here = pose_text(pose, report.cells[-1][MIDDLE], form) + cells_text(report.cells, form)
    return report_text(here, list_names(report.objects), form)


def report_text(here: str, seen: str, form: Form) -> str:
    """Write a report of where an agent is, with what is ahead, and of the objects it sees."""
    if not form.house:
        return f"I am at {here} and see {seen}."
    objects = "" if seen == NOTHING else f" I see {seen}."
    return f"{here[0].upper()}{here[1:]}{objects}".replace("\n", " ")


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
    first, *lines = re.split(r"(?<=\.) ", text)
    match, seen = _POSE.fullmatch(first), _SEE.fullmatch(lines[-1] if lines else "")
    if match is None:
        raise TextParseError(f"{form.world}: not a report: {text[:80]!r}")
    pose, below = read_pose(match.groups(), first, form)
    names = read_names(seen.group(1), form) if seen else ()
    require(form.world, seen is None or bool(names), text, "'I see nothing' is not said")
    window = lines[:-1] if seen else lines
    return Report(pose, names, read_cells(window, below, form))
