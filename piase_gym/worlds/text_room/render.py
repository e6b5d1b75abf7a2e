"""TextRoom's state as a list for terminals, and as numbers: functions of a plot and a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.text_encoding import escape
from piase_gym.worlds.text_room.config import TextRoomEnvelope
from piase_gym.worlds.text_room.sight import insides
from piase_gym.worlds.text_room.state import AT_ITS_DOOR, STATUSES, Plot, RoomState

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
        ways = ", ".join(_way_in_words(plot, state, *row) for row in plot.exits[room].items())
        lines.append(f"[{name.replace('_', ' ')}] {ways or 'no way out'}")
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
    return f"{direction} to {plot.rooms[room].replace('_', ' ')}{through}"


def people_in(state: RoomState, agents: Sequence[str], room: int) -> list[str]:
    """Name who is in a room."""
    rows = zip(agents, state.rooms, state.status, strict=True)
    return [name for name, where, status in rows if where == room and status == "playing"]


def _listed_things(plot: Plot, state: RoomState, place: int) -> list[str]:
    """Describe what is in a place, with what is in it in turn."""
    return [_thing_in_words(plot, state, k) for k, p in enumerate(state.place) if p == place]


def _thing_in_words(plot: Plot, state: RoomState, k: int) -> str:
    """Describe an object with its state and what is in it."""
    marks = []
    if plot.opens[k]:
        marks.append("locked" if state.locked[k] else "open" if state.is_open[k] else "closed")
    place = len(plot.rooms) + k
    inside = [_thing_in_words(plot, state, n) for n, p in enumerate(state.place) if p == place]
    shown = set(insides(plot, state, k))
    marks += [
        f"hides {_thing_in_words(plot, state, n)}"
        for n, p in enumerate(state.place)
        if p == place and n not in shown
    ]
    marks += [f"holds {_thing_in_words(plot, state, n)}" for n in sorted(shown)] if inside else []
    name = plot.objects[k].replace("_", " ")
    return f"{name} ({', '.join(marks)})" if marks else name
