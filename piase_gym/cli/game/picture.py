"""Colours a world's ``ansi`` picture. It knows no world: signs of maps get a colour each."""

from __future__ import annotations

import re

from rich.text import Text

SOLID = "#"
"""The sign of what blocks: drawn as a block."""
FLOOR = ".·"
COLOURS = (
    "bright_yellow",
    "bright_magenta",
    "bright_cyan",
    "bright_red",
    "bright_blue",
    "bright_green",
    "orange1",
    "orchid",
)
KNOWN = {"G": "bright_green", "k": "bright_yellow", "L": "bright_red", "+": "orange1"}
"""Signs whose colour is a habit: goals are green, keys yellow, locks red."""
OWN = "bold black on bright_white"
OTHERS = "bold bright_cyan"
ESCAPE = "\x1b["
WORD = re.compile(r"[A-Za-z]{3,}")
LEGEND = re.compile(r"(?<!\S)(\S)(\1?) (?=[a-z])")
"""A sign, or the same sign twice, before the word that explains it."""
LEAST_ROWS = 3


def paint(picture: str, me: str, names: tuple[str, ...], width: int, height: int) -> Text:
    """Return a world's picture in colour, cut to a size.

    A map (the first lines without words) is spread to square cells where there is room for that,
    else it has one column a cell; what is still too large is shown around the person's own agent.
    An agent's sign is the first word of the
    line that names it, such as ``^0 agent_0 at (3, 4)``.

    Args:
        picture: What `World.ansi` returned.
        me: The person's agent.
        names: All agents.
        width: Columns.
        height: Rows.
    """
    if ESCAPE in picture:  # the world has colours of its own
        text = Text.from_ansi(picture)
        return _cut(list(text.split("\n")), width, height)
    lines = picture.split("\n")
    first, after = _find_map(lines)
    signs = _signs(lines[after:], names)
    own, others = signs.get(me, ""), set(signs.values())
    rows = _spread(lines[first:after], signs)
    x, y = _place(rows, own)
    room = max(LEAST_ROWS, height - min(len(lines) - after, 4) - first)
    low, high = _around(y, len(rows), room)
    if max(map(len, rows), default=0) <= width:
        drawn = [_draw_row(row, own, others) for row in rows[low:high]]
    else:
        left, right = _around(x // 2, max(map(len, rows)) // 2 + 1, width)
        drawn = [_draw_narrow(row[2 * left : 2 * right], own, others) for row in rows[low:high]]
    told = [*lines[:first], *_own_first(lines[after:], own, me)]
    rest = [_draw_line(line, me, own, signs) for line in told]
    return _cut([*rest[:first], *drawn, *rest[first:]], width, height)


def _cut(lines: list[Text], width: int, height: int) -> Text:
    """Put lines together, as many and as much of each as there is room for."""
    for line in lines[:height]:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines[:height])


def _find_map(lines: list[str]) -> tuple[int, int]:
    """Return where the first lines without words begin and end, if they are enough for a map."""
    first = 0
    for place, line in enumerate([*lines, ""]):
        if not line.strip() or WORD.search(line):
            if place - first >= LEAST_ROWS:
                return first, place
            first = place + 1
    return 0, 0


def _own_first(lines: list[str], own: str, me: str) -> list[str]:
    """Return the lines below a map, that of the person's agent before those of others."""
    mine = [line for line in lines if own and line.startswith(f"{own} {me}")]
    others = [line for line in lines if line not in mine]
    legend = next((n for n, line in enumerate(others) if LEGEND.match(line)), -1) + 1
    return [*others[:legend], *mine, *others[legend:]]


def _place(rows: list[str], own: str) -> tuple[int, int]:
    """Return the column and the row of the person's agent on a map."""
    for y, row in enumerate(rows):
        for x in range(0, len(row), 2):
            if own and row.startswith(own, x):
                return x, y
    return 0, 0


def _signs(lines: list[str], names: tuple[str, ...]) -> dict[str, str]:
    """Return the sign of each agent, from the line that begins with the sign and the name."""
    signs = {}
    for line in lines:
        words = line.split(maxsplit=2)
        if len(words) > 1 and words[1].rstrip(",:") in names and len(words[0]) <= 2:
            signs[words[1].rstrip(",:")] = words[0]
    return signs


def _spread(rows: list[str], signs: dict[str, str]) -> list[str]:
    """Return a map with two columns a cell, so that cells look square."""
    if any(len(sign) > 1 for sign in signs.values()):
        return rows  # its cells have two columns already
    return ["".join(sign + (sign if sign == SOLID else " ") for sign in row) for row in rows]


def _draw_row(row: str, own: str, others: set[str]) -> Text:
    """Colour a row of a map."""
    text = Text(no_wrap=True)
    place = 0
    while place < len(row):
        pair, sign = row[place : place + 2], row[place]
        if own and row.startswith(own, place):
            text.append(own, OWN)
            place += len(own)
        elif pair in others or sign in others:
            agent = pair if pair in others else sign
            text.append(agent, OTHERS)
            place += len(agent)
        else:
            text.append(*_cell(sign))
            place += 1
    return text


def _draw_narrow(row: str, own: str, others: set[str]) -> Text:
    """Colour a row of a map whose cells have two columns, in one column a cell."""
    text = Text(no_wrap=True)
    for place in range(0, len(row), 2):
        pair = row[place : place + 2]
        if own and pair.startswith(own):
            text.append(pair[0], OWN)
        elif pair in others or pair[0] in others:
            text.append(pair[0], OTHERS)
        else:
            text.append(*_cell(pair[0]))
    return text


def _cell(sign: str) -> tuple[str, str]:
    """Return what is drawn for a sign, and its colour."""
    if sign == SOLID:
        return "█", "grey50"
    if sign in FLOOR:
        return "·", "grey35"
    return sign, colour_of(sign)


def colour_of(sign: str) -> str:
    """Return the colour of a sign, always the same."""
    return KNOWN.get(sign, COLOURS[ord(sign) % len(COLOURS)]) if sign.strip() else ""


def _draw_line(line: str, me: str, own: str, signs: dict[str, str]) -> Text:
    """Colour a line of a legend, or one about an agent."""
    marks = [m for m in LEGEND.finditer(line) if not m[1].isalnum() or m[1] in KNOWN]
    drawn = list(line)
    for mark in marks:
        drawn[mark.start() : mark.end() - 1] = _cell(mark[1])[0] * (1 + len(mark[2]))
    text = Text("".join(drawn), "", no_wrap=True)
    for mark in marks:
        text.stylize(_cell(mark[1])[1], mark.start(), mark.end() - 1)
    for name, sign in signs.items():
        if line.startswith(f"{sign} {name}"):
            text.stylize(OWN if name == me else OTHERS, 0, len(sign))
    text.highlight_regex(rf"(?<![\w.-]){re.escape(me)}(?![\w-])", "bold")
    return text


def _around(place: int, count: int, room: int) -> tuple[int, int]:
    """Return which rows or columns of a map are shown, so that a place is in their middle."""
    first = max(0, min(place - room // 2, count - room))
    return first, first + room
