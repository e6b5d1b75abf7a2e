"""TextRoom's pictures, and its state as numbers: functions of a plot and a state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from piase_gym.textcode import escape
from piase_gym.worlds.text_room.config import TextRoomEnvelope
from piase_gym.worlds.text_room.sight import insides
from piase_gym.worlds.text_room.state import AT_ITS_DOOR, STATUSES, Plot, RoomState

CELL_WIDTH, CELL_HEIGHT, GAP = 190, 150, 26
_PAPER, _ROOM, _EDGE, _INK = (246, 241, 230), (255, 253, 247), (120, 105, 85), (50, 45, 40)
_WAY, _OPEN, _SHUT, _PERSON = (170, 155, 130), (80, 150, 90), (190, 70, 60), (40, 90, 160)
_MOVES = {
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


# -- numbers ------------------------------------------------------------------------------------


def global_view(plot: Plot, state: RoomState, envelope: TextRoomEnvelope) -> NDArray[np.float64]:
    """Return every non-string fact of a state; see `TextRoom.state`."""
    parts: list[list[float]] = [[state.t]]
    for values in (state.place, state.hidden, state.found, state.is_open, state.locked):
        parts.append(_padded(values, envelope.objects))
    for agent in range(envelope.agents):
        own = [
            state.rooms[agent],
            STATUSES.index(state.status[agent]),
            state.order.index(agent),
            len(state.reached[agent]),
        ]
        stats = [state.stats[agent].get(name, 0.0) for name in plot.stats]
        flags = [float(flag in state.flags[agent]) for flag in plot.flags]
        parts += [list(own), _padded(stats, envelope.stats), _padded(flags, envelope.flags)]
    parts.append(_padded(state.fired, envelope.events))
    parts.append(_padded([state.metrics[name] for name in plot.metrics], envelope.metrics))
    return np.array([value for part in parts for value in part], np.float64)


def _padded(values: Sequence[float], size: int) -> list[float]:
    """Return values with zeros behind them."""
    return [*values, *[0.0] * (size - len(values))]


def check_sizes(plot: Plot, state: RoomState, slots: int) -> None:
    """Raise `ValueError` if a state is not one of this story and so many agents."""
    of_agents = (state.rooms, state.status, state.flags, state.stats, state.feedback)
    of_agents_too = (state.told, state.reached, state.order)
    of_objects = (state.place, state.hidden, state.found, state.is_open, state.locked)
    if any(len(part) != slots for part in (*of_agents, *of_agents_too)):
        raise ValueError(f"it is not of {slots} agents")
    if any(len(part) != len(plot.objects) for part in of_objects):
        raise ValueError(f"it is not of {len(plot.objects)} objects")
    if sorted(state.order) != [*range(slots)] or len(state.fired) != len(plot.story.events):
        raise ValueError("its order or its events are not those of this story")
    top = len(plot.rooms) + len(plot.objects) + slots
    if not all(AT_ITS_DOOR <= place < top for place in state.place):
        raise ValueError("it has unknown places")
    if not all(0 <= room < len(plot.rooms) for room in state.rooms):
        raise ValueError("it has unknown rooms")
    bits = (*of_objects[1:],)
    if any(value not in (0, 1) for part in bits for value in part) or state.t < 0:
        raise ValueError("it has values out of range")
    if set(state.metrics) != set(plot.metrics):
        raise ValueError("its metrics are not those of this story")
    if any(name not in plot.stats for stats in state.stats for name in stats):
        raise ValueError("its stats are not those of this story")


# -- letters ------------------------------------------------------------------------------------


def ansi(plot: Plot, state: RoomState, agents: Sequence[str]) -> str:
    """Draw the rooms as a list, with what is in them and who carries what."""
    lines = [f"step {state.t}"]
    for room, name in enumerate(plot.rooms):
        ways = ", ".join(_way(plot, state, *row) for row in plot.exits[room].items())
        lines.append(f"[{name.replace('_', ' ')}] {ways or 'no way out'}")
        lines += [f"  @ {who}" for who in _people(state, agents, room)]
        lines += [f"  {line}" for line in _things(plot, state, room)]
    for k, name in enumerate(agents):
        if state.status[k] != "none":
            held = _things(plot, state, len(plot.rooms) + len(plot.objects) + k)
            lines.append(f"{name} ({state.status[k]}) carries {', '.join(held) or 'nothing'}")
    return escape("\n".join(lines))


def _way(plot: Plot, state: RoomState, direction: str, way: tuple[int, int]) -> str:
    room, door = way
    through = f" through {_thing(plot, state, door)}" if door >= 0 else ""
    return f"{direction} to {plot.rooms[room].replace('_', ' ')}{through}"


def _people(state: RoomState, agents: Sequence[str], room: int) -> list[str]:
    """Name who is in a room."""
    rows = zip(agents, state.rooms, state.status, strict=True)
    return [name for name, where, status in rows if where == room and status == "playing"]


def _things(plot: Plot, state: RoomState, place: int) -> list[str]:
    """Describe what is in a place, with what is in it in turn."""
    return [_thing(plot, state, k) for k, p in enumerate(state.place) if p == place]


def _thing(plot: Plot, state: RoomState, k: int) -> str:
    """Describe an object with its state and what is in it."""
    marks = []
    if plot.opens[k]:
        marks.append("locked" if state.locked[k] else "open" if state.is_open[k] else "closed")
    place = len(plot.rooms) + k
    inside = [_thing(plot, state, n) for n, p in enumerate(state.place) if p == place]
    shown = set(insides(plot, state, k))
    marks += [
        f"hides {_thing(plot, state, n)}"
        for n, p in enumerate(state.place)
        if p == place and n not in shown
    ]
    marks += [f"holds {_thing(plot, state, n)}" for n in sorted(shown)] if inside else []
    name = plot.objects[k].replace("_", " ")
    return f"{name} ({', '.join(marks)})" if marks else name


# -- pixels -------------------------------------------------------------------------------------


def rgb(plot: Plot, state: RoomState, agents: Sequence[str]) -> NDArray[np.uint8]:
    """Draw the rooms as a map."""
    from PIL import Image, ImageDraw

    cells = _cells(plot)
    columns = max(x for x, _ in cells) + 1
    rows = max(y for _, y in cells) + 1
    size = (columns * (CELL_WIDTH + GAP) + GAP, rows * (CELL_HEIGHT + GAP) + GAP + 22)
    image = Image.new("RGB", size, _PAPER)
    pen = ImageDraw.Draw(image)
    for room in range(len(plot.rooms)):
        for other, door in plot.exits[room].values():
            colour = _WAY if door < 0 else _OPEN if state.is_open[door] else _SHUT
            pen.line([_centre(cells[room]), _centre(cells[other])], fill=colour, width=10)
    for room in range(len(plot.rooms)):
        left, top = _corner(cells[room])
        box = (left, top, left + CELL_WIDTH, top + CELL_HEIGHT)
        pen.rounded_rectangle(box, 10, fill=_ROOM, outline=_EDGE, width=2)
        y = top + 8
        for text, colour in _labels(plot, state, agents, room):
            pen.text((left + 10, y), text, fill=colour)
            y += 15
    pen.text((GAP, size[1] - 22), _caption(plot, state, agents), fill=_INK)
    return np.array(image, np.uint8)


def _labels(
    plot: Plot, state: RoomState, agents: Sequence[str], room: int
) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield the lines in a room's cell, as many as fit."""
    yield escape(plot.rooms[room].replace("_", " ").upper())[:28], _EDGE
    lines = [(f"@ {name}", _PERSON) for name in _people(state, agents, room)]
    lines += [(thing, _INK) for thing in _things(plot, state, room)]
    lines += [(_thing(plot, state, door), _SHUT) for door in plot.doors[room]]
    for text, colour in lines[:8]:
        shown = escape(text)
        yield (shown if len(shown) <= 28 else shown[:25] + "..."), colour


def _caption(plot: Plot, state: RoomState, agents: Sequence[str]) -> str:
    """Say in one line what time it is and who carries what."""
    hands = len(plot.rooms) + len(plot.objects)
    parts = [f"step {state.t}"]
    for k, name in enumerate(agents):
        held = [
            plot.objects[n].replace("_", " ") for n, p in enumerate(state.place) if p == hands + k
        ]
        if state.status[k] != "none":
            parts.append(f"{name}: {', '.join(held) or 'nothing'}")
    return escape("   ".join(parts))


def _corner(cell: tuple[int, int]) -> tuple[int, int]:
    return GAP + cell[0] * (CELL_WIDTH + GAP), GAP + cell[1] * (CELL_HEIGHT + GAP)


def _centre(cell: tuple[int, int]) -> tuple[int, int]:
    left, top = _corner(cell)
    return left + CELL_WIDTH // 2, top + CELL_HEIGHT // 2


def _cells(plot: Plot) -> list[tuple[int, int]]:
    """Lay the rooms out on a grid, as their exits say where that can be."""
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
                    dx, dy = _MOVES[direction]
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
