"""Texts about what is seen of a grid, in one frame of reference, and how to read them.

The frame ``grid`` counts cells to the north, south, west and east of the viewer, the frame
``agent`` cells ahead, behind, to the left and to the right. The commands of a world are in the same
frame. Things are named one by one, the nearest first; walls, darkness and any kind with many cells
in sight are summed up by rows; what is not mentioned is floor. Where the grid ends follows from its
size and the viewer's place: texts say it, and it is checked when a text is read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol

import numpy as np

from piase_gym.compiled import readable
from piase_gym.worlds.grids import mentions
from piase_gym.worlds.grids.codes import AGENT, FLOOR, OUTSIDE, TURNS, WALL
from piase_gym.worlds.grids.mentions import CENTRE, SHOWN, find_mentions, most_mentions
from piase_gym.worlds.grids.nouns import YOU, CellNouns, matched, require

FrameName = Literal["grid", "agent"]
COMPASS: Final = ("north", "east", "south", "west")
"""The words in texts for the headings up, right, down and left."""
ASIDE: Final = ("ahead", "right", "behind", "left")
SIDES: Final = {"grid": COMPASS, "agent": ASIDE}
"""The four directions of each frame, clockwise from the top of what is shown."""
MOST_WORDS: Final = 8192
"""The largest number of mentions per form for which the words are cached."""


class Form(Protocol):
    """The layout of what an agent is shown.

    Attributes:
        world: The world's name, for errors.
        frame: The frame of reference of texts and commands.
        whole_grid: Whether a whole grid is shown, not a window turned to the viewer's heading.
        opaque: The names of the cells that hide what lies behind them.
        rows: How many rows are shown.
        columns: How many columns are shown.
        shown: The rows and the columns that can show anything under the config.
        names: The agents.
        nouns: What cells are called.
        cell_names: The names of all cells, by their codes.
        cell_codes: The codes of all cells, by their names.
    """

    world: str
    frame: FrameName
    whole_grid: bool
    opaque: frozenset[str]
    rows: int
    columns: int
    shown: tuple[range, range]
    names: tuple[str, ...]
    nouns: CellNouns
    cell_names: tuple[str, ...]
    cell_codes: dict[str, int]

    def __hash__(self) -> int:
        """Return a hash, so that texts can be cached by form."""


class ViewerPlace(NamedTuple):
    """Where a viewer stands, how it is turned (by number), and how large the grid is."""

    x: int
    y: int
    heading: int
    width: int
    height: int

    def turned(self, form: Form) -> int:
        """Return the quarter turns from the frame of the text to the north."""
        return self.heading if form.frame == "agent" else 0

    def limits(self, form: Form) -> list[int]:
        """Return how many cells of the grid lie on each side, in the frame of the text."""
        sides = [self.y, self.width - 1 - self.x, self.height - 1 - self.y, self.x]
        turn = self.turned(form)
        return sides[turn:] + sides[:turn]

    def view(self, form: Form) -> list[int]:
        """Return how far the viewer sees to each side, in the frame of the text."""
        if form.whole_grid:
            return self.limits(form)
        size = len(form.shown[0])
        sides = [size - 1, size // 2, 0, size // 2]
        turn = (self.turned(form) - self.heading) % 4
        return sides[turn:] + sides[:turn]


# -- writing ------------------------------------------------------------------------------


def words_of_cells(cells: Sequence[Sequence[str]], form: Form, place: ViewerPlace) -> str:
    """Write the cells of facts as text; see `scene_text`.

    Raises:
        IndexError: If the viewer is not on the grid, or the grid is larger than what is shown.
    """
    x, y, _, width, height = place
    inside = 0 <= x < max(1, width) <= form.columns and 0 <= y < max(1, height) <= form.rows
    if form.whole_grid and not inside:  # kernels check no bounds; an agent not in play sees 0 x 0
        raise IndexError(f"{place} is not within {form.columns} columns and {form.rows} rows")
    codes = form.cell_codes
    names = [FLOOR if name == YOU else codes[name] for row in cells for name in row]
    return scene_text(form, bytes(names), place)


def scene_text(form: Form, cells: bytes, place: ViewerPlace) -> str:
    """Write what is ahead, what is in sight, and where the grid ends.

    Args:
        form: Where cells lie.
        cells: The codes of all cells that are shown, row by row; further bytes are ignored.
        place: Where the viewer is; the text does not mention that cell.

    Returns:
        The lines, each with a line break before it.
    """
    words = _words(form)
    found = np.empty(words.most, np.int64)
    count = find_mentions(np.frombuffer(cells, np.uint8, words.size), words.shown, found, *place)
    return "".join(map(words.__getitem__, found[:count].tolist()))


_NOTHING: Final = "Nothing but free floor is in view."
_LEADS: Final = ("", "\nYou see ", "; ", ", ", " and ", "\nThe grid ends ")
"""What separates a mention from the one before it, by the constants of `mentions`."""


class _Words(dict[int, str]):
    """The words of mentions in one form, each with what separates it from the one before."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.size = form.rows * form.columns
        self.most = most_mentions(self.size)
        window = 0 if form.whole_grid else len(form.shown[0])
        row = form.rows, form.columns, window, form.frame == "agent", _things(form)
        self.shown = readable(np.array([row], SHOWN))

    def __missing__(self, number: int) -> str:
        """Make the words of a number that has not occurred before."""
        if len(self) >= MOST_WORDS:
            self.clear()
        lead, what, code, *pair = number.to_bytes(5, "big")
        words = _LEADS[lead] + self._mention_words(what, code, pair[0] - CENTRE, pair[1] - CENTRE)
        return self.setdefault(number, words)

    def _mention_words(self, what: int, code: int, one: int, two: int) -> str:
        """Return the words of what is mentioned; see `mentions`."""
        form = self.form
        sides = SIDES[form.frame]
        match what:
            case mentions.IS_AHEAD:
                return f"\nAhead of you, to the {COMPASS[one]}, is {cell_noun(form, code)}."
            case mentions.NOTHING:
                return f"\n{_NOTHING}"
            case mentions.THING:
                return f"{_noun(form, code)} {offset_text(one, two, form)}"
            case mentions.KIND:
                return _heading(form, code)
            case mentions.ROWS:
                return "in your row" if one == two == 0 else _span_text(one, two, *sides[::2])
            case mentions.ACROSS:
                return "all across"
            case mentions.BOTH_SIDES:
                return "on both sides"
            case mentions.COLUMNS:
                return "in line" if one == two == 0 else _span_text(one, two, *sides[1::2])
            case mentions.END:
                return f"{one} {sides[two]}"
        return "."


def _things(form: Form) -> list[int]:
    """Return the codes of all kinds of things in the order of their headings, padded with zeros."""
    things = [code for code in range(WALL + 1, AGENT) if form.cell_names[code]]
    things.sort(key=lambda code: _heading(form, code))
    return things + [0] * (AGENT - len(things))


@functools.lru_cache(maxsize=64)
def _words(form: Form) -> _Words:
    """Return the words of mentions of a form."""
    return _Words(form)


def cell_noun(form: Form, code: int) -> str:
    """Name what is on the cell ahead, whatever it is."""
    if code >= AGENT:
        return form.names[(code - AGENT) >> 2]
    named = {OUTSIDE: "the edge of the grid", FLOOR: "free floor"}.get(code)
    return named or form.nouns.noun(form.cell_names[code])


def offset_text(up: int, aside: int, form: Form) -> str:
    """Write where something is from the viewer, in the frame of the text."""
    sides = SIDES[form.frame]
    parts = [f"{abs(up)} {sides[0 if up > 0 else 2]}"] if up else []
    parts += [f"{abs(aside)} {sides[1 if aside > 0 else 3]}"] if aside else []
    return ", ".join(parts) or "where you are"


def _noun(form: Form, code: int) -> str:
    """Name what is on a cell, with its article; for an agent, add where it faces."""
    if code < AGENT:
        return form.nouns.noun(form.cell_names[code])
    facing = (COMPASS if form.frame == "grid" else TURNS)[code & 3]
    return f"{form.names[(code - AGENT) >> 2]} (facing {facing})"


def _span_text(low: int, high: int, positive: str, negative: str) -> str:
    """Write a span of offsets: ``2 north``, ``0 to 3 east``, ``2 west to 1 east``."""
    if low == high:
        return f"{abs(low)} {positive if low > 0 else negative}"
    if low >= 0:
        return f"{low} to {high} {positive}"
    if high <= 0:
        return f"{-high} to {-low} {negative}"
    return f"{-low} {negative} to {high} {positive}"


@functools.lru_cache(maxsize=1024)
def _heading(form: Form, code: int) -> str:
    """Return the word that begins the line with the places of a kind."""
    word = form.nouns.noun(form.cell_names[code], plural=True)
    return f"\n{word[0].upper()}{word[1:]}: "


# -- reading ------------------------------------------------------------------------------


class SceneReader:
    """Reads the lines of `scene_text`, in any order, and returns the cells.

    Args:
        form: Where cells lie.
        place: Where the viewer is.
    """

    def __init__(self, form: Form, place: ViewerPlace) -> None:
        self.form, self.place = form, place
        sides = SIDES[form.frame]
        self.sides = {sides[0]: (1, 0), sides[2]: (-1, 0), sides[1]: (0, 1), sides[3]: (0, -1)}
        view = place.view(form)
        far, right, near, left = map(min, view, place.limits(form))
        self.rows, self.columns = range(-near, far + 1), range(-left, right + 1)
        self._layers: list[tuple[str, str, str]] = []
        self._things: dict[tuple[int, int], str] = {}
        self._seen: list[str] = []

    def take(self, line: str) -> bool:
        """Note what a line says; return whether it is a line of a scene."""
        if line.startswith(("Ahead of you, to the ", "The grid ends ")) or line == _NOTHING:
            self._seen.append(line)
        elif match := _SEEN.fullmatch(line):
            for item in match.group(1).split("; "):
                self._read_thing(item, line)
        elif (match := _LAYER.fullmatch(line)) and match.group(1) in _headings(self.form):
            name = _headings(self.form)[match.group(1)]
            self._layers.append((name, match.group(2), line))
        else:
            return False
        return True

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """Return all cells that are shown, as in facts.

        Raises:
            TextParseError: If something is where it cannot be, or if a line says something other
                than what follows from the rest of the text.
        """
        form, found = self.form, {(u, a): "floor" for u in self.rows for a in self.columns}
        for name, places, line in sorted(self._layers, key=lambda layer: layer[0] != "wall"):
            for item in places.split("; "):
                found.update(dict.fromkeys(self._read_group(item, line), name))
        found.update(self._things)
        cells = self._in_frame(found)
        codes = [FLOOR if name == YOU else form.cell_codes[name] for row in cells for name in row]
        written = scene_text(form, bytes(codes), self.place).split("\n")
        for line in (*self._seen, *self._derived(written)):
            both = line in self._seen and line in written
            require(form.world, both, line, "this follows from the rest, which says otherwise")
        return cells

    @staticmethod
    def _derived(lines: Sequence[str]) -> list[str]:
        """Return the written lines that the text must also have."""
        return [line for line in lines if line.startswith(("Ahead of", "The grid", "Nothing"))]

    def _in_frame(self, found: dict[tuple[int, int], str]) -> tuple[tuple[str, ...], ...]:
        """Arrange the cells that were read in the way the agent is shown them."""
        form, place = self.form, self.place
        view = place.view(form)
        code = form.cell_codes
        turn = place.turned(form) if form.whole_grid else place.turned(form) - place.heading
        data = [
            [
                _turned(code[found.get((up, aside), "outside")], turn)
                for aside in range(-view[3], view[1] + 1)
            ]
            for up in range(view[0], -view[2] - 1, -1)
        ]
        shown = np.rot90(data, -turn)
        rows, columns = form.shown
        fits = shown.shape == (len(rows), len(columns))
        require(form.world, fits, f"{place.width} columns", "the grid has another size")
        blank = "outside" if form.whole_grid else "unseen"
        cells = [[blank] * form.columns for _ in range(form.rows)]
        for row, codes in zip(rows, shown.tolist(), strict=True):
            cells[row][columns.start : columns.stop] = [form.cell_names[c] for c in codes]
        if not form.whole_grid:
            if form.opaque:
                _hide_outside(cells, form)
            cells[-1][form.columns // 2] = YOU
        return tuple(map(tuple, cells))

    def _read_thing(self, item: str, line: str) -> None:
        """Note a thing that is named with its place."""
        noun, *parts = matched(
            self.form.world, _THING, item, line, "things are 'a key 2 north, 1 east'"
        ).groups()
        up = aside = 0
        for steps, side in zip(parts[::2], parts[1::2], strict=True):
            if steps is not None:
                along, across = self._side(side, line)
                fits = (up, aside) == (0, 0) or (along == 0) != (up == 0)
                require(self.form.world, fits and int(steps) > 0, line, "that is no place")
                up, aside = up + int(steps) * along, aside + int(steps) * across
        free = (up, aside) != (0, 0) and (up, aside) not in self._things
        inside = up in self.rows and aside in self.columns
        require(self.form.world, free and inside, line, "that place is taken or not in view")
        self._things[up, aside] = self._name(noun, line)

    def _name(self, noun: str, line: str) -> str:
        """Return the name in facts, turned like the text, for a noun with its article."""
        form = self.form
        if match := _AGENT.fullmatch(noun):
            who, facing = match.groups()
            words = COMPASS if form.frame == "grid" else TURNS
            require(form.world, who in form.names, line, f"agents are {', '.join(form.names)}")
            require(form.world, facing in words, line, f"they face {', '.join(words)}")
            return form.cell_names[AGENT + 4 * form.names.index(who) + words.index(facing)]
        names = _nouns(form)
        require(form.world, noun in names, line, f"there are {', '.join(names)}")
        return names[noun]

    def _read_group(self, item: str, line: str) -> list[tuple[int, int]]:
        """Return the cells that a part of a line mentions: some rows and their columns."""
        words, *parts = re.split(", | and ", item)
        sides = SIDES[self.form.frame]
        rows = range(1) if words == "in your row" else self._span(words, line, sides[::2])
        columns: set[int] = set()
        for part in parts:
            if part == "on both sides":
                columns |= {-1, 1}
            elif part == "all across":
                columns |= set(self.columns)
            elif part == "in line":
                columns.add(0)
            else:
                columns |= set(self._span(part, line, sides[1::2]))
        fits = columns and set(rows) <= set(self.rows) and columns <= set(self.columns)
        require(self.form.world, bool(fits), line, "that is not in view")
        return [(up, aside) for up in rows for aside in columns]

    def _span(self, words: str, line: str, sides: Sequence[str]) -> range:
        """Read a span of offsets."""
        first, side, last, other = matched(
            self.form.world, _SPAN, words, line, "places are '1 to 3 north', '2 west'"
        ).groups()
        known = (side is None or side in sides) and (other is None or other in sides)
        require(self.form.world, known, line, f"sides are {' and '.join(sides)} here")
        signs = {sides[0]: 1, sides[1]: -1}
        end = signs[other or side or sides[0]] * int(last or first)
        start = signs[side or other or sides[0]] * int(first)
        low, high = min(start, end), max(start, end)
        require(self.form.world, last is None or low < high, line, "that span is empty")
        return range(low, high + 1)

    def _side(self, word: str, line: str) -> tuple[int, int]:
        """Return the step to a side."""
        require(self.form.world, word in self.sides, line, f"sides are {', '.join(self.sides)}")
        return self.sides[word]


def _turned(code: int, turn: int) -> int:
    """Return a code after a number of clockwise quarter turns of what is shown."""
    return code & ~3 | code + turn & 3 if code >= AGENT else code


_SEEN = re.compile(r"You see (.+)\.")
_LAYER = re.compile(r"([A-Z][\w ]*): (.+)\.")
_THING = re.compile(r"(.+?) (\d+) ([a-z]+)(?:, (\d+) ([a-z]+))?")
_AGENT = re.compile(r"(\S+) \(facing (\w+)\)")
_SPAN = re.compile(r"(\d+)(?: ([a-z]+))?(?: to (\d+) ([a-z]+))?")


@functools.lru_cache(maxsize=64)
def _headings(form: Form) -> dict[str, str]:
    """Return the names of kinds by the words before their places."""
    kinds = enumerate(form.cell_names[:AGENT])
    return {_heading(form, code)[1:-2]: name for code, name in kinds if name and code != OUTSIDE}


@functools.lru_cache(maxsize=64)
def _nouns(form: Form) -> dict[str, str]:
    """Return the names of kinds by their nouns with articles."""
    plain = ("unseen", "outside", "floor", "wall")
    names = [name for name in form.cell_names[:AGENT] if name and name not in plain]
    return {form.nouns.noun(name): name for name in names}


def _hide_outside(cells: list[list[str]], form: Form) -> None:
    """Leave the outside in sight only next to or ahead of cells that can be seen through.

    Sight spreads in this way in the kernel; within the grid the text says what is dark.
    """
    rows, columns = form.shown
    lit: set[tuple[int, int]] = {(rows[-1], form.columns // 2)}
    lit |= {
        (row, column)
        for row in rows
        for column in columns
        if cells[row][column] not in form.opaque | {"unseen", "outside"}
    }
    for row in rows:
        for column in columns:
            near = {(row, column - 1), (row, column + 1)}
            near |= {(row + 1, column + step) for step in (-1, 0, 1)}
            if cells[row][column] == "outside" and not near & lit:
                cells[row][column] = "unseen"
