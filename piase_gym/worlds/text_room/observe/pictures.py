"""TextRoom's picture: a map of the rooms, what is in them, their doors, and who carries what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.text_encoding import escape
from piase_gym.worlds.drawing import font
from piase_gym.worlds.text_room.state import Plot, RoomState
from piase_gym.worlds.texts.wording import printable, spaced

Colour = tuple[int, int, int]
WIDTH, GAP, LINE, PAD = 270, 56, 23, 14
"""Pixels: a room's width, the gap between two rooms, a line's height, and a margin."""
TITLE, TEXT, SMALL = 18, 16, 14
"""Font sizes."""
LEAST, LEAST_WIDTH = 5, 620
"""Lines that every room has space for, and pixels that the legend needs."""
PAPER, ROOM, HERE = (236, 232, 222), (255, 254, 250), (255, 247, 214)
INK, PALE, EDGE, WAY = (40, 38, 35), (120, 114, 104), (150, 138, 118), (196, 184, 160)
OPEN, CLOSED, LOCKED = (58, 140, 74), (204, 138, 30), (190, 52, 44)
ITEM, FIXTURE = (38, 110, 140), (120, 92, 60)
PEOPLE: tuple[Colour, ...] = (
    (36, 88, 170), (178, 58, 120), (30, 130, 110), (190, 100, 20),
    (110, 70, 170), (150, 40, 50), (70, 110, 30), (90, 90, 100),
)  # fmt: skip
MOVES = {
    "north": (0, -1),
    "south": (0, 1),
    "east": (1, 0),
    "west": (-1, 0),
    "northeast": (1, -1),
    "southeast": (1, 1),
    "southwest": (-1, 1),
    "northwest": (-1, -1),
    "up": (1, -1),
    "down": (-1, 1),
    "in": (1, 1),
    "out": (-1, -1),
}
LEGEND = (
    ("item", ITEM, "dot"),
    ("fixture", FIXTURE, "square"),
    ("open", OPEN, "bar"),
    ("closed", CLOSED, "bar"),
    ("locked", LOCKED, "bar"),
    ("hidden", PALE, "ring"),
)


class Entry(NamedTuple):
    """A line in a room.

    Attributes:
        text: The words.
        colour: The colour of its mark.
        mark: ``dot``, ``square``, ``ring`` or ``person``.
        depth: How many things it is in.
        state: The words at its end and their colour, or ``None``.
    """

    text: str
    colour: Colour
    mark: str
    depth: int = 0
    state: tuple[str, Colour] | None = None


def rgb(plot: Plot, state: RoomState, agents: Sequence[str]) -> NDArray[np.uint8]:
    """Draw the rooms as a map."""
    from PIL import Image, ImageDraw

    cells = _cells(plot)
    lists = [list(_entries(plot, state, agents, room)) for room in range(len(plot.rooms))]
    height = 2 * PAD + LINE * (1 + max(LEAST, *map(len, lists)))
    columns, rows = max(x for x, _ in cells) + 1, max(y for _, y in cells) + 1
    foot = [*_carried(plot, state, agents)]
    wide = max(columns * (WIDTH + GAP) + GAP, LEAST_WIDTH)
    high = rows * (height + GAP) + GAP + LINE * (len(foot) + 2)
    image = Image.new("RGB", (wide, high), PAPER)
    pen = ImageDraw.Draw(image)
    boxes = [(GAP + x * (WIDTH + GAP), GAP + y * (height + GAP)) for x, y in cells]
    _draw_ways(pen, plot, [(x + WIDTH // 2, y + height // 2) for x, y in boxes])
    for room, (x, y) in enumerate(boxes):
        _draw_room(pen, (x, y, height), plot.rooms[room], lists[room])
    _draw_doors(pen, plot, state, boxes, height)
    _draw_foot(pen, high - LINE * (len(foot) + 1) - PAD, state.t, foot)
    return np.array(image, np.uint8)


# -- what is said ---------------------------------------------------------------------------------


def _entries(plot: Plot, state: RoomState, agents: Sequence[str], room: int) -> Iterator[Entry]:
    """Yield the lines of a room: people, then things with what is in them."""
    for name in people_in(state, agents, room):
        yield Entry(name, PEOPLE[agents.index(name) % len(PEOPLE)], "person")
    yield from _things(plot, state, room, 0)


def _things(plot: Plot, state: RoomState, place: int, depth: int) -> Iterator[Entry]:
    """Yield the lines of what is in a place."""
    for k, where in enumerate(state.place):
        if where != place:
            continue
        hidden = depth > 0 and state.hidden[k]
        colour = ITEM if k < plot.items else FIXTURE
        mark = "ring" if hidden else "dot" if k < plot.items else "square"
        yield Entry(printable(plot.objects[k]), colour, mark, depth, _lid(plot, state, k))
        if depth < len(plot.objects):
            yield from _things(plot, state, len(plot.rooms) + k, depth + 1)


def _lid(plot: Plot, state: RoomState, k: int) -> tuple[str, Colour] | None:
    """Return the state of a container or door and its colour, or ``None`` for other things."""
    if not plot.opens[k]:
        return None
    if state.locked[k]:
        return "locked", LOCKED
    return ("open", OPEN) if state.is_open[k] else ("closed", CLOSED)


def _carried(plot: Plot, state: RoomState, agents: Sequence[str]) -> Iterator[Entry]:
    """Yield a line for each agent: its status and what it carries."""
    hands = len(plot.rooms) + len(plot.objects)
    for k, name in enumerate(agents):
        if state.status[k] == "none":
            continue
        held = [printable(plot.objects[n]) for n, p in enumerate(state.place) if p == hands + k]
        status = "" if state.status[k] == "playing" else f" ({state.status[k]})"
        line = f"{name}{status} carries {', '.join(held) or 'nothing'}"
        yield Entry(line, PEOPLE[k % len(PEOPLE)], "person")


# -- how it is drawn ------------------------------------------------------------------------------


def _draw_room(pen: Any, box: tuple[int, int, int], name: str, entries: Sequence[Entry]) -> None:
    """Draw a room with its name and what is in it."""
    x, y, height = box
    here = any(entry.mark == "person" for entry in entries)
    fill = HERE if here else ROOM
    pen.rounded_rectangle((x, y, x + WIDTH, y + height), 12, fill=fill, outline=EDGE, width=3)
    title = _fitting(printable(name).capitalize(), TITLE, WIDTH - 2 * PAD)
    pen.text((x + PAD, y + PAD - 3), title, fill=INK, font=font(TITLE))
    for number, entry in enumerate(entries, 1):
        _draw_entry(pen, x + PAD, y + PAD + LINE * number, entry, x + WIDTH - PAD)


def _draw_entry(pen: Any, x: int, y: int, entry: Entry, right: int) -> None:
    """Draw a line: its mark, its words, and its state."""
    x += 18 * min(entry.depth, 4)
    _draw_mark(pen, x, y + LINE // 2 - 2, entry.mark, entry.colour)
    if entry.state is not None:
        word, colour = entry.state
        right -= round(pen.textlength(word, font=font(SMALL)))
        pen.text((right, y + 1), word, fill=colour, font=font(SMALL))
    colour = INK if entry.mark != "ring" else PALE
    text = _fitting(entry.text, TEXT, right - x - 30)
    pen.text((x + 20, y), text, fill=colour, font=font(TEXT))


def _draw_mark(pen: Any, x: int, y: int, mark: str, colour: Colour) -> None:
    """Draw the mark of a line, in the middle of its height."""
    if mark == "person":
        pen.ellipse((x + 3, y - 8, x + 11, y), fill=colour)
        pen.pieslice((x, y, x + 14, y + 16), 180, 360, fill=colour)
    elif mark == "square":
        pen.rectangle((x + 1, y - 5, x + 12, y + 6), fill=colour)
    elif mark == "bar":
        pen.rectangle((x, y - 3, x + 14, y + 4), fill=colour)
    else:
        fill = colour if mark == "dot" else None
        pen.ellipse((x + 1, y - 5, x + 12, y + 6), fill=fill, outline=colour, width=2)


def _fitting(text: str, size: int, width: int) -> str:
    """Cut off what does not fit into a width."""
    letters = font(size)
    if letters.getlength(text) <= width:
        return text
    while text and letters.getlength(text + "...") > width:
        text = text[:-1]
    return text + "..."


def _draw_ways(pen: Any, plot: Plot, middles: Sequence[tuple[int, int]]) -> None:
    """Draw the ways between rooms, under them."""
    for room, ways in enumerate(plot.exits):
        for other, _ in ways.values():
            pen.line([middles[room], middles[other]], fill=WAY, width=22)


def _draw_doors(
    pen: Any, plot: Plot, state: RoomState, boxes: Sequence[tuple[int, int]], height: int
) -> None:
    """Draw the doors where ways leave a room, and the names of ways such as ``up``."""
    for room, ways in enumerate(plot.exits):
        for direction, (other, door) in ways.items():
            x, y = _leaving(boxes[room], boxes[other], height)
            lid = _lid(plot, state, door) if door >= 0 else None
            if lid is not None:
                pen.rounded_rectangle((x - 15, y - 15, x + 15, y + 15), 5, fill=lid[1])
                pen.text((x, y), "D", fill=ROOM, font=font(TEXT), anchor="mm")
            elif direction in ("up", "down", "in", "out"):
                near = _leaving(boxes[room], boxes[other], height, GAP / 4)  # not on the way back's
                pen.text(near, direction, fill=INK, font=font(SMALL), anchor="mm")


def _leaving(
    one: tuple[int, int], two: tuple[int, int], height: int, outside: float = GAP / 2
) -> tuple[int, int]:
    """Return a point on the straight way from a room to another, a little outside its box."""
    dx, dy = two[0] - one[0], two[1] - one[1]
    share = min(
        (WIDTH / 2 + outside) / abs(dx) if dx else 2.0,
        (height / 2 + outside) / abs(dy) if dy else 2.0,
    )
    return round(one[0] + WIDTH / 2 + dx * share), round(one[1] + height / 2 + dy * share)


def _draw_foot(pen: Any, y: int, step: int, carried: Sequence[Entry]) -> None:
    """Draw who carries what, the step, and what the marks mean."""
    for number, entry in enumerate(carried):
        _draw_entry(pen, GAP, y + LINE * number, entry, 10_000)
    y += LINE * len(carried)
    pen.text((GAP, y), f"step {step}", fill=INK, font=font(SMALL))
    x = GAP + 80
    for word, colour, mark in LEGEND:
        _draw_mark(pen, x, y + 9, mark, colour)
        pen.text((x + 20, y), word, fill=PALE, font=font(SMALL))
        x += 34 + round(pen.textlength(word, font=font(SMALL)))


# -- where rooms are ------------------------------------------------------------------------------


def _cells(plot: Plot) -> list[tuple[int, int]]:
    """Lay the rooms out on a grid, in the directions of their exits where possible."""
    places: dict[int, tuple[int, int]] = {}
    for first in range(len(plot.rooms)):
        if first in places:
            continue
        _settle(
            places, first, (0, 0) if not places else (0, max(y for _, y in places.values()) + 1)
        )
        queue = [first]
        while queue:
            room = queue.pop(0)
            for direction, (other, _) in plot.exits[room].items():
                if other not in places:
                    dx, dy = MOVES[direction]
                    x, y = places[room]
                    _settle(places, other, (x + dx, y + dy))
                    queue.append(other)
    left = min(x for x, _ in places.values())
    top = min(y for _, y in places.values())
    return [(places[k][0] - left, places[k][1] - top) for k in range(len(plot.rooms))]


def _settle(places: dict[int, tuple[int, int]], room: int, cell: tuple[int, int]) -> None:
    """Put a room on a cell, or on the nearest free one to its right."""
    taken = set(places.values())
    x, y = cell
    while (x, y) in taken:
        x += 1
    places[room] = (x, y)


# -- rooms as a list ----------------------------------------------------------------------------


def ansi(plot: Plot, state: RoomState, agents: Sequence[str]) -> str:
    """Draw the rooms as a list, with what is in them and who carries what."""
    lines = [f"step {state.t}"]
    for room, name in enumerate(plot.rooms):
        ways = ", ".join(_way_in_words(plot, state, *row) for row in plot.exits[room].items())
        lines.append(f"[{spaced(name)}] {ways or 'no way out'}")
        lines += [f"  @ {who}" for who in people_in(state, agents, room)]
        lines += [f"  {line}" for line in _listed_things(plot, state, room)]
    for k, name in enumerate(agents):
        if state.status[k] != "none":
            held = _listed_things(plot, state, len(plot.rooms) + len(plot.objects) + k)
            lines.append(f"{name} ({state.status[k]}) carries {', '.join(held) or 'nothing'}")
    return escape("\n".join(lines))


def _way_in_words(plot: Plot, state: RoomState, direction: str, way: tuple[int, int]) -> str:
    room, door = way
    through = f" through {_thing_in_words(plot, state, door)}" if door >= 0 else ""
    return f"{direction} to {spaced(plot.rooms[room])}{through}"


def people_in(state: RoomState, agents: Sequence[str], room: int) -> list[str]:
    """Return the names of the agents in a room."""
    rows = zip(agents, state.rooms, state.status, strict=True)
    return [name for name, where, status in rows if where == room and status == "playing"]


def _listed_things(plot: Plot, state: RoomState, place: int) -> list[str]:
    """Describe what is in a place, with what is in it in turn."""
    return [_thing_in_words(plot, state, k) for k, p in enumerate(state.place) if p == place]


def _thing_in_words(plot: Plot, state: RoomState, k: int) -> str:
    """Describe an object with its state and what is in it."""
    lid = _lid(plot, state, k)
    marks = [lid[0]] if lid is not None else []
    inside = [n for n, place in enumerate(state.place) if place == len(plot.rooms) + k]
    for word, hidden in (("hides", 1), ("holds", 0)):
        things = (n for n in inside if state.hidden[n] == hidden)
        marks += [f"{word} {_thing_in_words(plot, state, n)}" for n in things]
    name = spaced(plot.objects[k])
    return f"{name} ({', '.join(marks)})" if marks else name
