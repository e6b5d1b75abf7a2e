"""What is seen of a grid, in words of one frame of reference, and the way back. Pure functions.

The frame ``grid`` counts cells to the north, south, west and east of the viewer, the frame
``agent`` cells ahead, behind, to the left and to the right. Commands of a world are in the same
frame. Things are named one by one, the nearest first; walls, darkness and whatever there is much
of are summed up by rows; what is not mentioned is floor. Where the grid ends follows from its size
and the viewer's place: it is said, and checked when a text is read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol

from piase_gym.worlds.grids.codes import AGENT, AHEAD, FLOOR, OUTSIDE, TURNS, UNSEEN, WALL
from piase_gym.worlds.grids.nouns import YOU, Nouns, require

FrameName = Literal["grid", "agent"]
COMPASS: Final = ("north", "east", "south", "west")
"""The headings up, right, down and left in texts."""
ASIDE: Final = ("ahead", "right", "behind", "left")
SIDES: Final = {"grid": COMPASS, "agent": ASIDE}
"""The four directions of each frame, clockwise from the top of what is shown."""
MUCH: Final = 4
"""From so many cells of a kind on they are summed up."""


class Form(Protocol):
    """Where cells lie in what an agent is shown.

    Attributes:
        world: The world's name, for errors.
        frame: The frame of reference of texts and commands.
        whole_grid: Whether a whole grid is shown, not a window turned to the viewer's heading.
        opaque: The names of what hides what lies behind it.
        rows: How many rows there are in what is shown.
        columns: How many columns.
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
    nouns: Nouns
    cell_names: tuple[str, ...]
    cell_codes: dict[str, int]

    def __hash__(self) -> int:
        """Return a number, so that texts can be remembered by form."""


class Place(NamedTuple):
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
        """Return how far it sees to each side, in the frame of the text."""
        if form.whole_grid:
            return self.limits(form)
        size = len(form.shown[0])
        sides = [size - 1, size // 2, 0, size // 2]
        turn = (self.turned(form) - self.heading) % 4
        return sides[turn:] + sides[:turn]


# -- writing ------------------------------------------------------------------------------


def words_of_cells(cells: Sequence[Sequence[str]], form: Form, place: Place) -> str:
    """Write what facts say of cells; see `scene_text`."""
    codes = form.cell_codes
    names = [FLOOR if name == YOU else codes[name] for row in cells for name in row]
    return scene_text(form, bytes(names), place)


@functools.lru_cache(maxsize=8192)
def scene_text(form: Form, cells: bytes, place: Place) -> str:
    """Write what is ahead, what is in sight, and where the grid ends.

    Args:
        form: Where cells lie.
        cells: The codes of all cells that are shown, the viewer's own being floor.
        place: Where the viewer is.

    Returns:
        The lines, each with a line break before it.
    """
    return f"\n{_ahead_text(form, cells, place)}{_cells_text(form, *_seen(form, cells, place))}"


def _seen(form: Form, cells: bytes, place: Place) -> tuple[bytes, int, int, int, str]:
    """Return what is seen inside of the grid, in the frame of the text, and where the grid ends.

    That is the cells row by row, how many there are in a row, the row and the column of the viewer,
    and the sentence about the ends.
    """
    view, limits = place.view(form), place.limits(form)
    data, wide = _cropped(form, cells)
    turn = place.turned(form) if form.whole_grid else place.turned(form) - place.heading
    data, wide = _rotated(data, wide, -turn % 4)
    far, right, near, left = (max(0, min(pair)) for pair in zip(view, limits, strict=True))
    top, first = view[0] - far, view[3] - left
    columns = left + right + 1
    if columns < wide or top or near < view[2]:
        starts = range(top * wide + first, (view[0] + near + 1) * wide, wide)
        data = b"".join([data[start : start + columns] for start in starts])
    ends = [
        (limit + 1, side)
        for limit, seen, side in zip(limits, view, SIDES[form.frame], strict=True)
        if limit < seen or form.whole_grid
    ]
    return data, columns, far, left, _ends_text(ends)


def _ends_text(ends: list[tuple[int, str]]) -> str:
    """Say where the first cells beyond the grid are, the nearest first."""
    if not ends:
        return ""
    ends.sort(key=lambda end: end[0])
    return f"\nThe grid ends {listed([f'{steps} {side}' for steps, side in ends])}."


def _cropped(form: Form, cells: bytes) -> tuple[bytes, int]:
    """Return the cells that can show anything under the config, and how many make a row."""
    rows, columns = form.shown
    if len(columns) == form.columns:
        return cells[rows.start * form.columns : rows.stop * form.columns], form.columns
    starts = range(rows.start * form.columns, rows.stop * form.columns, form.columns)
    parts = [cells[start + columns.start : start + columns.stop] for start in starts]
    return b"".join(parts), len(columns)


def _rotated(data: bytes, wide: int, turn: int) -> tuple[bytes, int]:
    """Turn rows of cells clockwise by quarters, and the headings of agents with them."""
    if turn == 0:
        return data, wide
    data = data.translate(_TURNED[turn])
    if turn == 2:
        return data[::-1], wide
    high = len(data) // wide
    if turn == 1:
        last = len(data) - wide
        return b"".join([data[last + column :: -wide] for column in range(wide)]), high
    return b"".join([data[column::wide] for column in reversed(range(wide))]), high


_TURNED: Final = [
    bytes(range(AGENT)) + bytes((code & ~3) | (code + turn & 3) for code in range(AGENT, 256))
    for turn in range(4)
]
"""What becomes of each code by turning what is shown."""


def _ahead_text(form: Form, cells: bytes, place: Place) -> str:
    """Say what is on the one cell ahead."""
    code = OUTSIDE
    if form.whole_grid:
        dx, dy = tuple(AHEAD.values())[place.heading]
        x, y = place.x + dx, place.y + dy
        if 0 <= x < place.width and 0 <= y < place.height:
            code = cells[y * form.columns + x : y * form.columns + x + 1][0]
    elif form.rows > 1:
        code = cells[(form.rows - 2) * form.columns + form.columns // 2]
    return f"Ahead of you, to the {COMPASS[place.heading]}, is {cell_noun(form, code)}."


def cell_noun(form: Form, code: int) -> str:
    """Name what is on the cell ahead, whatever it is."""
    if code >= AGENT:
        return form.names[(code - AGENT) >> 2]
    named = {OUTSIDE: "the edge of the grid", FLOOR: "free floor"}.get(code)
    return named or form.nouns.noun(form.cell_names[code])


@functools.lru_cache(maxsize=8192)
def _cells_text(form: Form, data: bytes, wide: int, own: int, middle: int, ends: str) -> str:
    """Write what is seen: things one by one, then what there is much of, walls and darkness."""
    rows = [data[start : start + wide] for start in range(0, len(data), wide)]
    rest = data.translate(None, _PLAIN)
    much = [code for code in sorted(set(rest)) if code < AGENT and rest.count(code) >= MUCH]
    text, layers = "", []
    if len(rest) > sum(map(rest.count, much)):
        text = f"\nYou see {_things_text(form, data, wide, own, middle, much)}."
    for code in much:
        layers.append(_layer(form, code, rows, own, middle))
    layers.sort()
    if WALL in data:
        layers.append(_layer(form, WALL, rows, own, middle))
    if UNSEEN in data:
        layers.append(_layer(form, UNSEEN, rows, own, middle))
    text += "".join([f"\n{line}" for _, line in layers])
    return f"{text or _NOTHING}{ends}"


_PLAIN: Final = bytes((UNSEEN, OUTSIDE, FLOOR, WALL))
_NOTHING: Final = "\nNothing but free floor is in view."


def _things_text(
    form: Form, data: bytes, wide: int, own: int, middle: int, much: Sequence[int]
) -> str:
    """Name things with where they are, the nearest first."""
    found = []
    for at, code in enumerate(data):
        if code > WALL and code not in much:
            up, aside = own - at // wide, at % wide - middle
            found.append((abs(up) + abs(aside), up, aside, code))
    found.sort(key=lambda thing: thing[0])
    return "; ".join([_thing_text(form, *thing[1:]) for thing in found])


@functools.lru_cache(maxsize=16384)
def _thing_text(form: Form, up: int, aside: int, code: int) -> str:
    """Name a thing and where it is."""
    sides = SIDES[form.frame]
    parts = [f"{abs(up)} {sides[0 if up > 0 else 2]}"] if up else []
    parts += [f"{abs(aside)} {sides[1 if aside > 0 else 3]}"] if aside else []
    return f"{_noun(form, code)} {', '.join(parts) or 'where you are'}"


def _noun(form: Form, code: int) -> str:
    """Name what is on a cell, with its article; agents with where they face."""
    if code < AGENT:
        return form.nouns.noun(form.cell_names[code])
    facing = (COMPASS if form.frame == "grid" else TURNS)[code & 3]
    return f"{form.names[(code - AGENT) >> 2]} (facing {facing})"


class _Bits(NamedTuple):
    """The cells of a row that are of a kind, and those that are surely not of another."""

    yes: int
    known: int


@functools.lru_cache(maxsize=16384)
def _bits(row: bytes, code: int) -> _Bits:
    """Return which cells of a row are of a kind. Of walls, things may stand in for them."""
    yes = known = 0
    for column, cell in enumerate(row):
        yes |= (cell == code) << column
        known |= (code != WALL or cell <= WALL) << column
    return _Bits(yes, known)


def _layer(form: Form, code: int, rows: Sequence[bytes], own: int, middle: int) -> tuple[int, str]:
    """Sum up where a kind is; return how near it is, and the line."""
    groups: list[list[int]] = []  # first row, last row, cells of the kind, cells that are known
    last = -2
    for number, row in enumerate(rows):
        yes, known = _bits(row, code)
        if groups and last == number - 1:
            first, final, all_yes, all_known = groups[-1]
            if not (yes ^ all_yes) & known & all_known:
                last = number
                final = number if yes else final
                groups[-1] = [first, final, all_yes | yes, all_known | known]
                continue
        if yes:
            groups.append([number, number, yes, known])
            last = number
    for group in groups:
        group[:2] = own - group[1], own - group[0]
    groups.sort(key=lambda group: max(0, group[0], -group[1]))
    wide = len(rows[0])
    items = [_group_text(form.frame, wide, middle, *group) for group in groups]
    near = max(0, groups[0][0], -groups[0][1])
    return near, f"{_heading(form.nouns, form.cell_names[code])}: {'; '.join(items)}."


@functools.lru_cache(maxsize=16384)
def _group_text(
    frame: FrameName, wide: int, middle: int, low: int, high: int, yes: int, known: int
) -> str:
    """Write where the cells of equal rows are."""
    sides = SIDES[frame]
    rows = "in your row" if low == high == 0 else _span_text(low, high, sides[0], sides[2])
    full = (1 << wide) - 1
    if yes | ~known & full == full and yes & (yes - 1):
        return f"{rows}, all across"
    signs = "".join("01?"[2 * (not known >> c & 1) if not yes >> c & 1 else 1] for c in range(wide))
    runs = [(m.start() - middle, m.end() - 1 - middle) for m in _RUN.finditer(signs)]
    if runs == [(-1, -1), (1, 1)]:
        return f"{rows}, on both sides"
    told = ["in line" if run == (0, 0) else _span_text(*run, sides[1], sides[3]) for run in runs]
    return f"{rows}, {listed(told)}"


_RUN = re.compile("1(?:[1?]*1)?")
"""Cells of a kind, with what may stand in for it between them."""


def _span_text(low: int, high: int, positive: str, negative: str) -> str:
    """Write a span of offsets: ``2 north``, ``0 to 3 east``, ``2 west to 1 east``."""
    if low == high:
        return f"{abs(low)} {positive if low > 0 else negative}"
    if low >= 0:
        return f"{low} to {high} {positive}"
    if high <= 0:
        return f"{-high} to {-low} {negative}"
    return f"{-low} {negative} to {high} {positive}"


def listed(parts: Sequence[str]) -> str:
    """Join parts with commas and an ``and``."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def _heading(nouns: Nouns, name: str) -> str:
    """Return the word before the places of a kind."""
    word = nouns.noun(name, plural=True)
    return word[0].upper() + word[1:]


def offset_text(up: int, aside: int, form: Form) -> str:
    """Write where something is from the viewer, in the frame of the text."""
    return _thing_text(form, up, aside, WALL).removeprefix("a wall ")


# -- reading ------------------------------------------------------------------------------


class SceneReader:
    """Reads the lines of `scene_text`, in any order, and gives the cells.

    Args:
        form: Where cells lie.
        place: Where the viewer is.
    """

    def __init__(self, form: Form, place: Place) -> None:
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
        """Note what a line says; tell whether it is one of a scene."""
        if line.startswith(("Ahead of you, to the ", "The grid ends ")) or line == _NOTHING[1:]:
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
            TextParseError: If something is not where it can be, or what follows from the rest is
                another than the text says.
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
        """Return the lines that must be there."""
        return [line for line in lines if line.startswith(("Ahead of", "The grid", "Nothing"))]

    def _in_frame(self, found: dict[tuple[int, int], str]) -> tuple[tuple[str, ...], ...]:
        """Return cells that were read as an agent is shown them."""
        form, place = self.form, self.place
        view = place.view(form)
        code = form.cell_codes
        data = bytes(
            code[found.get((up, aside), "outside")]
            for up in range(view[0], -view[2] - 1, -1)
            for aside in range(-view[3], view[1] + 1)
        )
        turn = place.turned(form) if form.whole_grid else place.turned(form) - place.heading
        data, wide = _rotated(data, view[1] + view[3] + 1, turn % 4)
        rows, columns = form.shown
        require(
            form.world,
            wide == len(columns) and len(data) == wide * len(rows),
            f"{place.width} columns",
            "the grid has another size",
        )
        blank = "outside" if form.whole_grid else "unseen"
        cells = [[blank] * form.columns for _ in range(form.rows)]
        for number, row in enumerate(rows):
            names = [form.cell_names[c] for c in data[number * wide : (number + 1) * wide]]
            cells[row][columns.start : columns.stop] = names
        if not form.whole_grid:
            if form.opaque:
                _hide_outside(cells, form)
            cells[-1][form.columns // 2] = YOU
        return tuple(map(tuple, cells))

    def _read_thing(self, item: str, line: str) -> None:
        """Note a thing that is named with its place."""
        match = _THING.fullmatch(item)
        require(self.form.world, match is not None, line, "things are 'a key 2 north, 1 east'")
        assert match is not None
        noun, *parts = match.groups()
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
        """Return the name in facts, turned like the text, of a noun with its article."""
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
        """Return the cells of some rows that a part of a line tells."""
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
        match = _SPAN.fullmatch(words)
        require(self.form.world, match is not None, line, "places are '1 to 3 north', '2 west'")
        assert match is not None
        first, side, last, other = match.groups()
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


_SEEN = re.compile(r"You see (.+)\.")
_LAYER = re.compile(r"([A-Z][\w ]*): (.+)\.")
_THING = re.compile(r"(.+?) (\d+) ([a-z]+)(?:, (\d+) ([a-z]+))?")
_AGENT = re.compile(r"(\S+) \(facing (\w+)\)")
_SPAN = re.compile(r"(\d+)(?: ([a-z]+))?(?: to (\d+) ([a-z]+))?")


@functools.lru_cache(maxsize=64)
def _headings(form: Form) -> dict[str, str]:
    """Return the names of kinds by the words before their places."""
    names = [name for name in form.cell_names[:AGENT] if name and name != "outside"]
    return {_heading(form.nouns, name): name for name in names}


@functools.lru_cache(maxsize=64)
def _nouns(form: Form) -> dict[str, str]:
    """Return the names of kinds by their nouns with articles."""
    plain = ("unseen", "outside", "floor", "wall")
    names = [name for name in form.cell_names[:AGENT] if name and name not in plain]
    return {form.nouns.noun(name): name for name in names}


def _hide_outside(cells: list[list[str]], form: Form) -> None:
    """Leave the outside in sight only beside or ahead of what can be seen through.

    Sight spreads so in the kernel; inside of the grid the text says what is dark.
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
