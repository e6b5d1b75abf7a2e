"""Which commands are legal in a state, and why others are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from piase_gym.core.commands import Command
from piase_gym.worlds.text_room.actions import Bases, Table
from piase_gym.worlds.text_room.config import PHRASES
from piase_gym.worlds.text_room.levels.story_rules import DIRECTIONS
from piase_gym.worlds.text_room.observe.visibility import Sight
from piase_gym.worlds.text_room.state import Arrangement, Plot, RoomState
from piase_gym.worlds.texts.wording import spaced

Values = Mapping[str, Any]
"""The parameters of a command."""


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


def legal_indices(
    table: Table, plot: Plot, state: RoomState | Arrangement, agent: int, sight: Sight
) -> list[int]:
    """Return the indices of an agent's legal commands, in no order."""
    if state.status[agent] != "playing":
        return []
    bases, envelope = table.bases, table.words.envelope
    objects, items, is_open = envelope.objects, plot.items, state.is_open
    ways = plot.exits[state.rooms[agent]]
    found = [0, 1, 2, *(bases.go + k for k, way in enumerate(DIRECTIONS) if way in ways)]
    here = [k for k, _ in sight.here]
    reach = [*sight.held, *here]
    shift = envelope.items - items  # fixtures stand behind all places for items
    places = [k if k < items else k + shift for k in reach]
    both = list(zip(reach, places, strict=True))
    found += [bases.inspect + place for place in places]
    found += [bases.search + place for place in places]
    found += [bases.open + p for k, p in both if not is_open[k] and (plot.opens[k] or k >= items)]
    found += [bases.close + p for k, p in both if is_open[k] and plot.opens[k]]
    found += [bases.read + place for k, place in both if plot.readable[k]]
    found += [bases.use + place for k, place in both if plot.usable[k]]
    found += [bases.take + k for k in here if k < items]
    containers = [place for k, place in both if plot.containers[k]]
    for item in sight.held:
        on, into = bases.use_on + item * objects, bases.put + item * objects
        found.append(bases.drop + item)
        found += [on + place for place in places if place != item]
        found += [into + place for place in containers if place != item]
    if envelope.agents > 1:
        found += _legal_speech(bases, state, agent, sight, envelope.agents)
    return found


def _legal_speech(
    bases: Bases, state: RoomState | Arrangement, agent: int, sight: Sight, agents: int
) -> Iterator[int]:
    """Yield what can be said and given now."""
    phrases = len(PHRASES)
    yield from range(bases.say, bases.say + phrases)
    for other, status in enumerate(state.status):
        if other != agent and status == "playing":
            start = bases.tell + other * phrases
            yield from range(start, start + phrases)
    for item in sight.held:
        for other in sight.others:
            yield bases.give + item * agents + other


def why_illegal(scene: Scene, command: Command) -> str:
    """Explain why a command that names only what is in sight or in hand cannot be carried out."""
    values, plot = command.parameters, scene.plot
    held = [plot.objects[k] for k in scene.sight.held]
    item = values.get("item_name")
    match command.verb:
        case "go":
            ways = ", ".join(plot.exits[scene.state.rooms[scene.agent]]) or "none"
            return f"You cannot go {values['direction']} from here; ways out: {ways}."
        case "take" if item in held:
            return f"You carry the {spaced(str(item))} already."
        case "take":
            return f"The {spaced(str(item))} cannot be taken{_there(values)}."
        case "give":
            return f"You cannot give the {spaced(str(item))} to {values['agent_id']} now."
        case "tell":
            return f"{values['agent_id']} cannot hear you."
        case "drop" | "put" | "use" | "unlock" if item is not None and item not in held:
            return f"You do not carry the {spaced(item)}."
        case "put":
            return f"The {spaced(values['target_object'])} is no container."
    name = spaced(str(values.get("target_object", item or "that")))
    return f"You cannot {command.verb} the {name} now."


def _there(values: Mapping[str, Any]) -> str:
    return f" from the {spaced(values['container'])}" if "container" in values else ""
