"""Which commands are legal in a state, and why others are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from piase_gym.core.commands import Command
from piase_gym.worlds.text_room.actions import Bases, Table
from piase_gym.worlds.text_room.config import PHRASES
from piase_gym.worlds.text_room.levels.story_rules import DIRECTIONS
from piase_gym.worlds.text_room.observe.visibility import VisibleThings
from piase_gym.worlds.text_room.state import Plot, RoomState, VisibleState
from piase_gym.worlds.texts.wording import spaced


class Scene(NamedTuple):
    """The data that are needed to judge a command of an agent."""

    plot: Plot
    state: RoomState
    agents: tuple[str, ...]
    agent: int
    sight: VisibleThings


def is_legal(scene: Scene, command: Command) -> bool:
    """Return whether a well-formed command is legal; `Table` says which have an index."""
    plot, state, agents, agent, sight = scene
    if state.status[agent] != "playing":
        return False
    verb, values = command
    target = plot.object_of.get(values.get("target_object", ""), -1)
    item = plot.object_of.get(values.get("item_name", ""), -1)
    other = agents.index(values["agent_id"]) if values.get("agent_id") in agents else -1
    here, carried = dict(sight.here), item in sight.held
    seen = target in here or target in sight.held
    match verb:
        case "go":
            return values["direction"] in plot.exits[state.rooms[agent]]
        case "look":
            return seen or "target_object" not in values
        case "search":
            return seen
        case "open":
            return (
                seen and not state.is_open[target] and (plot.opens[target] or target >= plot.items)
            )
        case "close":
            return seen and bool(state.is_open[target]) and plot.opens[target]
        case "read":
            return seen and plot.readable[target]
        case "take":
            source = values.get("container")
            hosts = (here.get(item),) if source is None else (plot.object_of.get(source, -2),)
            return item < plot.items and item in here and here[item] in hosts
        case "drop":
            return carried
        case "put":
            return carried and seen and target != item and plot.containers[target]
        case "use" if "target_object" in values:
            return carried and seen and target != item
        case "use":
            return (carried or item in here) and plot.usable[item]
        case "unlock":
            return seen and plot.opens[target] and (carried or "item_name" not in values)
        case "give":
            return carried and other in sight.others
        case "tell":
            return other not in (-1, agent) and state.status[other] == "playing"
    return True  # wait, inventory, say


def legal_indices(
    table: Table, plot: Plot, state: RoomState | VisibleState, agent: int, sight: VisibleThings
) -> list[int]:
    """Return the indices of an agent's legal commands, in no particular order."""
    if state.status[agent] != "playing":
        return []
    bases, envelope = table.bases, table.words.envelope
    objects, items, is_open = envelope.objects, plot.items, state.is_open
    ways = plot.exits[state.rooms[agent]]
    found = [0, 1, 2, *(bases["go"] + k for k, way in enumerate(DIRECTIONS) if way in ways)]
    here = [k for k, _ in sight.here]
    reach = [*sight.held, *here]
    shift = envelope.items - items  # fixtures come after all places for items
    places = [k if k < items else k + shift for k in reach]
    both = list(zip(reach, places, strict=True))
    found += [bases["inspect"] + place for place in places]
    found += [bases["search"] + place for place in places]
    found += [
        bases["open"] + p for k, p in both if not is_open[k] and (plot.opens[k] or k >= items)
    ]
    found += [bases["close"] + p for k, p in both if is_open[k] and plot.opens[k]]
    found += [bases["read"] + place for k, place in both if plot.readable[k]]
    found += [bases["use"] + place for k, place in both if plot.usable[k]]
    found += [bases["take"] + k for k in here if k < items]
    containers = [place for k, place in both if plot.containers[k]]
    for item in sight.held:
        on, into = bases["use_on"] + item * objects, bases["put"] + item * objects
        found.append(bases["drop"] + item)
        found += [on + place for place in places if place != item]
        found += [into + place for place in containers if place != item]
    if envelope.agents > 1:
        found += _legal_speech(bases, state, agent, sight, envelope.agents)
    return found


def _legal_speech(
    bases: Bases, state: RoomState | VisibleState, agent: int, sight: VisibleThings, agents: int
) -> Iterator[int]:
    """Yield the indices of what can be said and given now."""
    phrases = len(PHRASES)
    yield from range(bases["say"], bases["say"] + phrases)
    for other, status in enumerate(state.status):
        if other != agent and status == "playing":
            start = bases["tell"] + other * phrases
            yield from range(start, start + phrases)
    for item in sight.held:
        for other in sight.others:
            yield bases["give"] + item * agents + other


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
        case "put" | "use" if item == values.get("target_object"):
            return f"You cannot {command.verb} the {spaced(str(item))} {_AT[command.verb]} itself."
        case "put":
            return f"The {spaced(values['target_object'])} is no container."
    return _why_not(scene, command.verb, str(values.get("target_object", item or "that")))


_AT = {"put": "in", "use": "on"}


def _why_not(scene: Scene, verb: str, name: str) -> str:
    """Explain why something in sight cannot be opened, closed, unlocked, read or used."""
    plot, k, shown = scene.plot, scene.plot.object_of.get(name, -1), spaced(name)
    match verb:
        case "open" | "close" if k >= 0 and (plot.opens[k] or scene.state.is_open[k]):
            if scene.state.is_open[k] == (verb == "open"):
                return f"The {shown} is {'open' if verb == 'open' else 'closed'} already."
            return f"The {shown} has no lid."
        case "unlock":
            return f"The {shown} has no lock."
        case "read":
            return f"There is nothing to read on the {shown}."
        case "use":
            return f"You cannot use the {shown} by itself."
    return f"You cannot {verb} the {shown}."


def _there(values: Mapping[str, Any]) -> str:
    return f" from the {spaced(values['container'])}" if "container" in values else ""
