"""GridWorld's two views: facts as a vector and as text, and the way back from both.

Everything here is pure: a function of facts and config. `sight` writes the same vectors faster;
this module says what they mean.

The vector (uint8) is the frame, row by row from the top (cell codes of `cells`), then width,
height, x, y, heading (0 up, 1 right, 2 down, 3 left), what is carried (a cell code or 0), where
the nearest visible goal is (two bytes, see `Form.goal_bytes`), and 8 bytes of hashed hint. The
agent's own cell holds its own code.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.text_encoding import hash_text, one_line, unescape
from piase_gym.core.world import HINT_TEXT, Facts
from piase_gym.errors import TextParseError
from piase_gym.worlds.channel.heard import EarlierMessage, Heard, heard_lines
from piase_gym.worlds.grid_world.cells import AGENT, CODES, HEADINGS, NAMES
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.form import Form, form_of
from piase_gym.worlds.grid_world.observe.recall import (
    MOMENT,
    Recalled,
    in_order,
    read_moment,
    recall_text,
    recalled,
    vector_of_recalled,
)
from piase_gym.worlds.grid_world.rules.events import ROLES
from piase_gym.worlds.grid_world.state import SCALARS, STATUS
from piase_gym.worlds.grids import words
from piase_gym.worlds.grids.nouns import YOU, require

Offset = tuple[int, int]


class Status(NamedTuple):
    """What an agent knows about itself and the task, if it matters.

    Attributes:
        energy: Steps until it starves; 0 if nobody starves.
        level: Its strength at lifting food.
        role: One of `events.ROLES`.
        food: Pieces of food left; at most 255 are counted.
    """

    energy: int
    level: int
    role: str
    food: int


@dataclass(frozen=True, kw_only=True)
class GridWorldFacts(Facts):
    """What one agent of GridWorld may know.

    Attributes:
        size: Columns and rows of the grid.
        position: (x, y), (0, 0) at the top left.
        heading: up, right, down or left.
        carrying: What the agent carries, or ``None``.
        cells: What is shown, row by row from the top: names of `cells.NAMES`, or an agent as
            ``agent_1 facing left`` (in a window also away, right, you). The viewer's own cell is
            ``you`` in a window and ``floor`` in a grid, in which `position` says where it is.
        goal: The nearest visible goal as (ahead, right) in a window, (down, right) in a grid.
        status: Energy, strength, role and food left, if the envelope has `status`.
        earlier: With `message_history`, what was heard before.
        recall: With `recall`, what was seen before and is not in view now, row by row.
    """

    size: tuple[int, int]
    position: tuple[int, int]
    heading: str
    carrying: str | None
    cells: tuple[tuple[str, ...], ...]
    goal: tuple[int, int] | None
    status: Status | None = None
    earlier: tuple[EarlierMessage, ...] = ()
    recall: tuple[Recalled, ...] = ()


def facts_of(
    vector: NDArray[np.uint8], agent: str, form: Form, hint: str | None = None
) -> GridWorldFacts:
    """Read a vector back; `hint` is given because its code in the vector is lossy."""
    values = vector.tolist()
    area = form.rows * form.columns
    width, height, x, y, heading, carry, ahead, aside = values[area : area + 8]
    names = form.cell_names
    rows = [
        [names[code] for code in values[start : start + form.columns]]
        for start in range(0, area, form.columns)
    ]
    row, column = form.own_cell((x, y))
    rows[row][column] = "floor" if form.whole_grid else YOU
    end, memory = form.status_start + STATUS * form.status, len(values) - form.recall
    heard = form.channel.read(values[end:memory], agent)
    return GridWorldFacts(
        agent=agent,
        messages=heard.messages,
        hint=hint,
        size=(width, height),
        position=(x, y),
        heading=HEADINGS[heading],
        carrying=NAMES[carry] if carry else None,
        cells=tuple(map(tuple, rows)),
        goal=form.goal_of(ahead, aside),
        status=_read_status(values[form.status_start : end]),
        earlier=heard.earlier,
        recall=recalled(values[memory:], form),
    )


def _read_status(values: Sequence[int]) -> Status | None:
    """Read energy, strength, role and food from the values of a vector, if it has them."""
    return Status(values[0], values[1], ROLES[values[2]], values[3]) if values else None


@dataclass(frozen=True)
class VectorWriter:
    """Writes texts from captured vectors, or from (vector, hint) if there are hints."""

    form: Form
    agents: tuple[str, ...]

    def __call__(self, kept: Any, agent: int) -> str:
        """Write the text of the moment in which the vector was captured.

        It is the text of `text_of`, made of pieces that are cached by the bytes they stand for.
        """
        vector, hint = kept if isinstance(kept, tuple) else (kept, None)
        form, name, data = self.form, self.agents[agent], vector.tobytes()
        text = _seen_of_bytes(form, name, data[: form.area + 8])
        if form.wide:
            heard, memory = form.status_start + STATUS * form.status, len(data) - form.recall
            text += _status_of_bytes(form, data[form.status_start : heard])
            text += recall_text(recalled(data[memory:], form)) if form.recall else ""
            text += _heard_of_bytes(form, name, data[heard:memory])
        return text if hint is None else f"{text}\nHint: {one_line(hint)}"


@functools.lru_cache(maxsize=8192)
def _seen_of_bytes(form: Form, agent: str, data: bytes) -> str:
    """Write what the part that all vectors have says, apart from hints."""
    area = form.area
    width, height, x, y, heading = data[area : area + 5]
    return (
        _head_of_bytes(form, agent, data[area : area + 6])
        + words.scene_text(form, data, words.ViewerPlace(x, y, heading, width, height))
        + _goal_of_bytes(form, heading, data[area + 6 :])
    )


@functools.lru_cache(maxsize=16384)
def _head_of_bytes(form: Form, agent: str, scalars: bytes) -> str:
    """Write who and where an agent is, and what it carries."""
    width, height, x, y, heading, carry = scalars
    carried = NAMES[carry] if carry else None
    return _head(form, agent, (width, height), (x, y), heading, carried)


@functools.lru_cache(maxsize=8192)
def _goal_of_bytes(form: Form, heading: int, place: bytes) -> str:
    """Write where the goal is."""
    return _goal(form.goal_of(*place), heading, form)


@functools.lru_cache(maxsize=8192)
def _status_of_bytes(form: Form, status: bytes) -> str:
    """Write energy, strength, role and food, as far as they are in play."""
    return _status(_read_status(status), form.config)


@functools.lru_cache(maxsize=8192)
def _heard_of_bytes(form: Form, agent: str, heard: bytes) -> str:
    """Write what an agent has heard."""
    return "\n".join(["", *heard_lines(*form.channel.read(heard, agent))])


def vector_of(facts: GridWorldFacts, form: Form) -> NDArray[np.uint8]:
    """Return the vector of the facts, shape ``(form.length,)``, uint8."""
    codes = form.cell_codes
    number = form.names.index(facts.agent)
    heading = HEADINGS.index(facts.heading)
    row, column = form.own_cell(facts.position)
    vector = np.zeros(form.length, np.uint8)
    flat = [codes[name] if name != YOU else 0 for line in facts.cells for name in line]
    flat[row * form.columns + column] = AGENT + 4 * number + (heading if form.whole_grid else 0)
    vector[: len(flat)] = flat
    carry = CODES[facts.carrying] if facts.carrying else 0
    scalars = (*facts.size, *facts.position, heading, carry, *form.goal_bytes(facts.goal))
    vector[len(flat) : len(flat) + 8] = scalars
    vector[len(flat) + 8 : len(flat) + SCALARS] = hash_text(facts.hint)
    start = len(flat) + SCALARS
    if facts.status is not None:
        energy, level, role, food = facts.status
        vector[start : start + STATUS] = energy, level, ROLES.index(role), food
        start += STATUS
    form.channel.write(Heard(facts.messages, facts.earlier), vector, start)
    if form.recall:
        vector[form.length - form.recall :] = vector_of_recalled(facts.recall, form)
    return vector


# -- text --------------------------------------------------------------------------------


def text_of(facts: GridWorldFacts, form: Form) -> str:
    """Write the facts as prose. Cells that are not mentioned are free floor."""
    heading = HEADINGS.index(facts.heading)
    place = words.ViewerPlace(*facts.position, heading, *facts.size)
    text = _head(form, facts.agent, facts.size, facts.position, heading, facts.carrying)
    text += words.words_of_cells(facts.cells, form, place) + _goal(facts.goal, heading, form)
    text += _status(facts.status, form.config) + recall_text(facts.recall)
    return "\n".join([text, *heard_lines(facts.messages, facts.earlier, facts.hint)])


def _head(
    form: Form,
    agent: str,
    size: tuple[int, int],
    position: tuple[int, int],
    heading: int,
    carrying: str | None,
) -> str:
    """Write who and where an agent is and, if there are keys, what it carries."""
    place = (
        f"You are {agent} at column {position[0]}, row {position[1]} of a grid "
        f"with {size[0]} columns and {size[1]} rows, facing {words.COMPASS[heading]}."
    )
    if carrying is None and not form.config.has_keys:
        return place
    return f"{place}\nYou carry {form.nouns.noun(carrying) if carrying else 'nothing'}."


def _goal(goal: tuple[int, int] | None, heading: int, form: Form) -> str:
    """Write where the nearest goal is, after a line break; nothing if there are no goals."""
    if goal is not None:
        return f"\nThe nearest goal is {words.offset_text(*_turned(goal, heading, form), form)}."
    return "\nNo goal is in view." if form.config.goals or form.config.any_goals else ""


def _turned(goal: tuple[int, int], heading: int, form: Form, back: bool = False) -> Offset:
    """Convert a goal's offset in facts to one in the frame of the text, or back."""
    turn = 0 if form.frame == "agent" else heading
    if form.whole_grid:
        turn = heading if form.frame == "agent" else 0
        turn, goal = -turn, goal if back else (-goal[0], goal[1])
    up, aside = goal
    for _ in range((-turn if back else turn) % 4):
        up, aside = -aside, up
    return (-up, aside) if form.whole_grid and back else (up, aside)


def _status(status: Status | None, config: GridWorldConfig) -> str:
    """Write energy, strength, role and food if they are in play, each after a line break."""
    if status is None:
        return ""
    energy, level, role, food = status
    text = f"\nYou have energy for {energy} more steps." if config.energy or energy else ""
    if role != ROLES[0]:
        text += f"\nYou are a {role}."
    if config.levels or level != 1:
        text += f"\nYour strength is {level}."
    return f"{text}\nPieces of food left: {food}." if config.clearing or food else text


def longest_text(form: Form) -> int:
    """Return an upper bound for the length of a text."""
    name = max(len(agent) for agent in form.names)
    cells = form.rows * (20 + form.columns * (name + 40))
    return 400 + cells + HINT_TEXT + form.recall * (name + 40) + form.channel.text_length


# -- parsing -----------------------------------------------------------------------------

_HEADER = re.compile(
    r"You are (\S+) at column (\d+), row (\d+) of a grid with (\d+) columns and (\d+) rows, "
    r"facing (\w+)\."
)
_CARRY = re.compile(r"You carry (?:nothing|an? (.+))\.")
_GOAL = re.compile(
    r"No goal is in view\.|The nearest goal is (?:(\d+) (\w+)(?:, (\d+) (\w+))?|where you are)\."
)
_require = functools.partial(require, "GridWorld")
_STATUS = re.compile(
    r"You have energy for (\d+) more steps\.|You are an? (tagger|runner)\.|"
    r"Your strength is (\d+)\.|Pieces of food left: (\d+)\."
)
_HINT = re.compile(r"Hint: (.*)")


def parse(text: str, config: GridWorldConfig) -> GridWorldFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes; the message shows the line.
    """
    form = form_of(config)
    first, *lines = text.split("\n")
    header = _HEADER.fullmatch(first)
    if header is None:
        raise TextParseError(f"GridWorld: not the start of an observation: {text[:80]!r}")
    x, y, width, height = (int(header.group(i)) for i in (2, 3, 4, 5))
    _require(header.group(1) in form.names, first, f"agents are {', '.join(form.names)}")
    _require(header.group(6) in words.COMPASS, first, f"headings are {', '.join(words.COMPASS)}")
    inside = x < width <= form.config.width and y < height <= form.config.height
    _require(inside, first, "that place is not on the grid")
    heading = words.COMPASS.index(header.group(6))
    scene = words.SceneReader(form, words.ViewerPlace(x, y, heading, width, height))
    carried: str | None = None
    goal: Offset | None = None
    heard = Heard(())
    hint: str | None = None
    status = Status(0, 1, ROLES[0], 0) if form.status else None
    memory: list[Recalled] = []
    for line in lines:
        if match := _HINT.fullmatch(line):
            hint = unescape(match.group(1))
        elif match := _CARRY.fullmatch(line):
            carried = match.group(1)
            _require(carried in (None, *CODES), line, "nothing like that can be carried")
        elif match := _GOAL.fullmatch(line):
            goal = _read_goal(match, line, heading, form)
        elif match := _STATUS.fullmatch(line):
            status = _status_told(match, line, status)
        elif match := MOMENT.fullmatch(line):
            memory = [*memory, *in_order(read_moment(match, line, form), line)]
        elif found := form.channel.take(line, header.group(1), heard, _require):
            heard = found
        elif not scene.take(line):
            raise TextParseError(f"GridWorld: cannot read the line {line[:80]!r}")
    return GridWorldFacts(
        agent=header.group(1),
        messages=heard.messages,
        hint=hint,
        size=(width, height),
        position=(x, y),
        heading=HEADINGS[heading],
        carrying=carried,
        cells=scene.cells(),
        goal=goal,
        status=status,
        earlier=heard.earlier,
        recall=in_order(memory, "Seen ..."),
    )


def _status_told(match: re.Match[str], line: str, status: Status | None) -> Status:
    """Read energy, strength, role or food."""
    if status is None:
        raise TextParseError(f"GridWorld: {line[:80]!r}: this envelope has no status")
    energy, role, level, food = match.groups()
    numbers = {"energy": energy, "level": level, "food": food}
    found = {name: int(number) for name, number in numbers.items() if number is not None}
    _require(all(number <= 255 for number in found.values()), line, "numbers go up to 255")
    return status._replace(**found, role=role or status.role)


def _read_goal(match: re.Match[str], line: str, heading: int, form: Form) -> Offset | None:
    """Read the direction of the goal."""
    if line.startswith("No goal"):
        return None
    sides, up, aside = words.SIDES[form.frame], 0, 0
    for steps, side in (match.group(1, 2), match.group(3, 4)):
        if side is not None:
            _require(side in sides, line, f"sides are {', '.join(sides)}")
            way = sides.index(side)
            up += int(steps) * (1, 0, -1, 0)[way]
            aside += int(steps) * (0, 1, 0, -1)[way]
    goal = _turned((up, aside), heading, form, back=True)
    low = [-form.config.height, -form.config.width] if form.whole_grid else [0, -form.columns // 2]
    most = form.config.height if form.whole_grid else form.rows
    fits = low[0] <= goal[0] < most and low[1] <= goal[1] <= form.config.width
    _require(fits, line, "no goal is in view so far away")
    return goal
