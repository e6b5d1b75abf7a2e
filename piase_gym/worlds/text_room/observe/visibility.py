"""What an agent sees and can reach: functions of a state."""

from __future__ import annotations

from typing import NamedTuple

from piase_gym.worlds.text_room.state import AT_ITS_DOOR, Plot, RoomState, VisibleState


class VisibleThings(NamedTuple):
    """What an agent sees and holds.

    Attributes:
        here: Objects in sight that it does not hold, in order, with the object that each of them
            is in, or -1.
        held: Objects in its hands.
        others: Agents in the same room.
    """

    here: tuple[tuple[int, int], ...]
    held: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def reach(self) -> list[int]:
        """Return every object in sight or in hand, in order."""
        return sorted([*self.held, *(k for k, _ in self.here)])


def look_around(plot: Plot, state: RoomState | VisibleState, agent: int) -> VisibleThings:
    """Return what an agent sees and holds."""
    rooms, room = len(plot.rooms), state.rooms[agent]
    people = rooms + len(plot.objects)
    mine, doors = people + agent, plot.doors[room]
    here: list[tuple[int, int]] = []
    held: list[int] = []
    for k, place in enumerate(state.place):
        if place == room or (place == AT_ITS_DOOR and k in doors):
            here.append((k, -1))
        elif place == mine:
            held.append(k)
        elif rooms <= place < people and _uncovered(plot, state, k, room, mine):
            here.append((k, place - rooms))
    others = [
        k
        for k, status in enumerate(state.status)
        if k != agent and status == "playing" and state.rooms[k] == room
    ]
    return VisibleThings(tuple(here), tuple(held), tuple(others))


def can_reach(plot: Plot, state: RoomState, agent: int, k: int) -> bool:
    """Return whether an object is in sight or in hand, as listed by `VisibleThings.reach`."""
    rooms, room, place = len(plot.rooms), state.rooms[agent], state.place[k]
    people = rooms + len(plot.objects)
    if place == room or place == people + agent:
        return True
    if place == AT_ITS_DOOR:
        return k in plot.doors[room]
    return rooms <= place < people and _uncovered(plot, state, k, room, people + agent)


def _uncovered(plot: Plot, state: RoomState | VisibleState, k: int, room: int, mine: int) -> bool:
    """Return whether something that is in something can be seen from a room."""
    rooms = len(plot.rooms)
    place = state.place[k]
    for _ in range(len(plot.objects)):  # nothing is inside itself, but a snapshot may lie
        host = place - rooms
        if state.hidden[k] or (plot.containers[host] and not state.is_open[host]):
            return False
        k, place = host, state.place[host]
        if place in (room, mine):
            return True
        if place == AT_ITS_DOOR:
            return k in plot.doors[room]
        if not rooms <= place < rooms + len(plot.objects):
            return False
    return False


def insides(plot: Plot, state: RoomState, host: int) -> list[int]:
    """Return the things in an object that have come to light, in order."""
    place = len(plot.rooms) + host
    return [k for k, p in enumerate(state.place) if p == place and not state.hidden[k]]
