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

    A picture whose first lines are a map (no words in them) is spread to square cells and shown
    around the person's own agent where it is too large. An agent's sign is the first word of the
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
    rows = _map_rows(lines)
    signs = _signs(lines[rows:], names)
    own = signs.get(me, "")
    drawn = [_draw_row(row, own, set(signs.values())) for row in _spread(lines[:rows], signs)]
    rest = [_draw_line(line, me, own, signs) for line in lines[rows:]]
    room = height - min(len(rest), 4)
    if len(drawn) > room:
        drawn = _around(drawn, own, max(room, LEAST_ROWS))
    return _cut([*drawn, *rest], width, height)


def _cut(lines: list[Text], width: int, height: int) -> Text:
    """Put lines together, as many and as much of each as there is room for."""
    for line in lines[:height]:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines[:height])


def _map_rows(lines: list[str]) -> int:
    """Return how many of the first lines are a map."""
    rows = 0
    for line in lines:
        if not line.strip() or WORD.search(line):
            break
        rows += 1
    return rows if rows >= LEAST_ROWS else 0


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


def _around(rows: list[Text], own: str, room: int) -> list[Text]:
    """Return the rows of a map around the person's agent."""
    place = next((i for i, row in enumerate(rows) if own and own in row.plain), 0)
    first = min(max(0, place - room // 2), len(rows) - room)
    return rows[first : first + room]
