"""What is within an agent's reach, and what it may do with it: functions of a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from piase_gym.core.commands import Command
from piase_gym.worlds.text_room.state import AT_ITS_DOOR, Arrangement, Plot, RoomState

Values = Mapping[str, Any]
"""The parameters of a command."""


class Sight(NamedTuple):
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


def look_around(plot: Plot, state: RoomState | Arrangement, agent: int) -> Sight:
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
    return Sight(tuple(here), tuple(held), tuple(others))


def can_reach(plot: Plot, state: RoomState, agent: int, k: int) -> bool:
    """Tell whether an object is in sight or in hand, which `Sight.reach` lists."""
    rooms, room, place = len(plot.rooms), state.rooms[agent], state.place[k]
    people = rooms + len(plot.objects)
    if place == room or place == people + agent:
        return True
    if place == AT_ITS_DOOR:
        return k in plot.doors[room]
    return rooms <= place < people and _uncovered(plot, state, k, room, people + agent)


def _uncovered(plot: Plot, state: RoomState | Arrangement, k: int, room: int, mine: int) -> bool:
    """Tell whether something that is in something can be seen from a room."""
    rooms = len(plot.rooms)
    place = state.place[k]
    for _ in range(len(plot.objects)):  # nothing is inside of itself, but a snapshot may lie
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
    """Return what has come to light of the things in an object, in order."""
    place = len(plot.rooms) + host
    return [k for k, p in enumerate(state.place) if p == place and not state.hidden[k]]


class Scene(NamedTuple):
    """What an agent needs to know to judge a command."""

    plot: Plot
    state: RoomState
    agents: tuple[str, ...]
    agent: int
    sight: Sight


def is_legal(scene: Scene, command: Command) -> bool:
    """Tell whether a well-formed command is legal; see `Table` for what is listed."""
    if scene.state.status[scene.agent] != "playing":
        return False
    judge = _JUDGES.get(command.verb)
    if judge is None:
        return True  # wait, inventory, say
    plot, values = scene.plot, command.parameters
    target = plot.object_of.get(values.get("target_object", ""), -1)
    item = plot.object_of.get(values.get("item_name", ""), -1)
    return judge(scene, values, target, item)


def _seen(scene: Scene, k: int) -> bool:
    """Tell whether an object is in sight or in hand."""
    return k in scene.sight.held or any(k == other for other, _ in scene.sight.here)


def _may_look(scene: Scene, values: Values, target: int, _item: int) -> bool:
    return target >= 0 and _seen(scene, target) if "target_object" in values else True


def _may_go(scene: Scene, values: Values, _target: int, _item: int) -> bool:
    room = scene.state.rooms[scene.agent]
    return values["direction"] in scene.plot.exits[room]


def can_open(plot: Plot, state: RoomState, k: int) -> bool:
    """Tell whether an object in reach may be tried to open: fixtures and whatever is closed."""
    return not state.is_open[k] and (plot.opens[k] or k >= plot.items)


def can_close(plot: Plot, state: RoomState, k: int) -> bool:
    """Tell whether an object in reach may be closed."""
    return bool(state.is_open[k]) and plot.opens[k]


def can_read(plot: Plot, k: int) -> bool:
    """Tell whether there is something to read on an object."""
    return plot.readable[k]


def _may_open(scene: Scene, _values: Values, target: int, _item: int) -> bool:
    return _seen(scene, target) and can_open(scene.plot, scene.state, target)


def _may_close(scene: Scene, _values: Values, target: int, _item: int) -> bool:
    return _seen(scene, target) and can_close(scene.plot, scene.state, target)


def _may_search(scene: Scene, _values: Values, target: int, _item: int) -> bool:
    return _seen(scene, target)


def _may_read(scene: Scene, _values: Values, target: int, _item: int) -> bool:
    return _seen(scene, target) and can_read(scene.plot, target)


def _may_take(scene: Scene, values: Values, _target: int, item: int) -> bool:
    source = values.get("container")
    host = -1 if source is None else scene.plot.object_of.get(source, -2)
    fits = [k == item and host in (-1, inside) for k, inside in scene.sight.here]
    return item < scene.plot.items and any(fits)


def _may_drop(scene: Scene, _values: Values, _target: int, item: int) -> bool:
    return item in scene.sight.held


def _may_put(scene: Scene, _values: Values, target: int, item: int) -> bool:
    fits = item in scene.sight.held and target != item and _seen(scene, target)
    return fits and scene.plot.containers[target]


def _may_use(scene: Scene, values: Values, target: int, item: int) -> bool:
    if "target_object" not in values:
        return _seen(scene, item) and scene.plot.usable[item]
    return item in scene.sight.held and target != item and _seen(scene, target)


def _may_unlock(scene: Scene, values: Values, target: int, item: int) -> bool:
    fits = _seen(scene, target) and scene.plot.opens[target]
    return fits and ("item_name" not in values or item in scene.sight.held)


def _may_give(scene: Scene, values: Values, _target: int, item: int) -> bool:
    return item in scene.sight.held and _number(scene, values) in scene.sight.others


def _may_tell(scene: Scene, values: Values, _target: int, _item: int) -> bool:
    other = _number(scene, values)
    return other not in (-1, scene.agent) and scene.state.status[other] == "playing"


def _number(scene: Scene, values: Values) -> int:
    """Return the number of the agent that a command names, or -1."""
    name = values["agent_id"]
    return scene.agents.index(name) if name in scene.agents else -1


_JUDGES: dict[str, Callable[[Scene, Values, int, int], bool]] = {
    "look": _may_look,
    "go": _may_go,
    "open": _may_open,
    "close": _may_close,
    "search": _may_search,
    "read": _may_read,
    "take": _may_take,
    "drop": _may_drop,
    "put": _may_put,
    "use": _may_use,
    "unlock": _may_unlock,
    "give": _may_give,
    "tell": _may_tell,
}
