"""What there is in a world, object by object, and what has changed between two moments.

`World.objects` names every object with its properties; `object_changes` compares two such answers.
So no change is reported that did not happen, and nothing is built unless it is asked for.

| property | meaning | reported as |
|---|---|---|
| `kind` | what it is; objects of kind ``agent`` can hold others | |
| `place` | where it is: coordinates, the name of a place, or of its holder | `object_moved`, `picked_up`, `dropped` |
| `open` | whether it is open | `door_opened`, `door_closed`; of other kinds `opened`, `closed` |
| `locked` | whether it is locked | `unlocked`, `locked` |
| any other | a number | `resource_updated` |
| any other | anything else | `state_changed` |

An object that was not there before is `spawned`, one that is no longer there is `consumed`. Objects
that cannot be told apart have temporary names and say so (`alike`): if one has gone and one of its
kind has come, they count as the same object, moved.
"""  # noqa: E501  # a table

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from piase_gym.core.arithmetic import is_number, sum_in_order
from piase_gym.core.surroundings import Surroundings

Objects = Mapping[str, Mapping[str, Any]]
"""Objects by name, each with its properties, which are JSON-able."""
AGENT = "agent"
ABOUT = ("kind", "alike")
"""The properties that say what an object is; they do not change."""
DOORS = ("door", "gate")
"""The kinds of objects that count as doors when they open or close."""


class Change(NamedTuple):
    """One thing that has changed.

    Attributes:
        before: The name of the object before, or ``None`` if it was not there.
        after: Its name now, or ``None`` if it is there no longer.
        kind: What the object is.
        told: ``change``, ``object``, ``property``, ``old``, ``new``, as in logs.
    """

    before: str | None
    after: str | None
    kind: str
    told: dict[str, Any]


def object_changes(before: Objects, after: Objects) -> list[Change]:
    """Return what has changed, in the order of the objects.

    Args:
        before: What `World.objects` returned at an earlier moment.
        after: The same now.
    """
    pairs = _moved(before, after)
    came = set(pairs.values())
    found: list[Change] = []
    for name, old in before.items():
        other = pairs.get(name, name)
        new = after.get(other)
        if new is None:
            found.append(_appearance("consumed", name, old))
        elif new != old or other != name:
            found += _differences(name, other, old, new, after)
    for name, new in after.items():
        if name not in before and name not in came:
            found.append(_appearance("spawned", name, new))
    return found


def seen_changes(
    changes: Sequence[Change], agent: str, before: Collection[str], after: Collection[str]
) -> list[dict[str, Any]]:
    """Return the changes that an agent saw: those of objects in its sight, before and now.

    Of other agents it sees where they are, and nothing else.

    Args:
        changes: All changes.
        agent: The agent's name.
        before: The names of the objects that were in its sight before.
        after: The names of those that are in its sight now.
    """
    return [
        change.told
        for change in changes
        if change.before in (None, *before)
        and change.after in (None, *after)
        and (change.kind != AGENT or change.told["property"] == "place" or change.after == agent)
    ]


def agent_of(surroundings: Surroundings, in_play: bool) -> dict[str, Any]:
    """Return an agent by what it perceives of itself."""
    carried = surroundings.inventory
    return {
        "kind": AGENT,
        "place": surroundings.position,
        "heading": surroundings.rotation,
        **({} if carried is None else {"inventory": list(carried)}),
        **(surroundings.stats or {}),
        "in_play": in_play,
    }


def in_sight(objects: Objects, agent: str, surroundings: Surroundings) -> set[str]:
    """Return the names of the objects that an agent perceives: itself, what it holds and sees.

    The objects that it sees are recognised by name or by place.
    """
    names = {agent, *(thing.name for thing in surroundings.objects)}
    places = [
        place
        for thing in surroundings.objects
        if (place := thing.properties.get("position")) is not None
    ]
    return {
        name
        for name, properties in objects.items()
        if name in names
        or properties.get("place") == agent
        or (properties.get("kind") != AGENT and properties.get("place") in places)
    }


def _differences(
    name: str, other: str, old: Mapping[str, Any], new: Mapping[str, Any], objects: Objects
) -> Iterator[Change]:
    """Yield what has changed of one object."""
    for key in (*old, *(key for key in new if key not in old)):
        was, now = old.get(key), new.get(key)
        if was != now and key not in ABOUT:
            kind = str(new["kind"])
            fields = {"change": _word(key, was, now, kind, objects), "object": _label(other, new)}
            yield Change(name, other, kind, {**fields, "property": key, "old": was, "new": now})


def _word(key: str, was: Any, now: Any, kind: str, objects: Objects) -> str:
    """Return what a change of a property is called."""
    if key == "place":
        if _is_agent(now, objects):
            return "object_moved" if _is_agent(was, objects) else "picked_up"
        return "dropped" if _is_agent(was, objects) else "object_moved"
    if key == "open":
        return ("door_" if kind in DOORS else "") + ("opened" if now else "closed")
    if key == "locked":
        return "locked" if now else "unlocked"
    numbers = all(value is None or is_number(value) for value in (was, now))
    return "resource_updated" if numbers else "state_changed"


def _is_agent(name: Any, objects: Objects) -> bool:
    """Return whether a place is the name of an agent."""
    return isinstance(name, str) and objects.get(name, {}).get("kind") == AGENT


def _label(name: str, properties: Mapping[str, Any]) -> str:
    """Return what an object is called in changes: those that are alike go by their kind."""
    return str(properties["kind"]) if properties.get("alike") else name


def _appearance(word: str, name: str, properties: Mapping[str, Any]) -> Change:
    """Return the change that an object is there now, or no longer."""
    there, place = word == "spawned", properties.get("place")
    old, new = (None, place) if there else (place, None)
    fields: dict[str, Any] = {
        "change": word,
        "object": _label(name, properties),
        "property": "place",
    }
    fields |= {"old": old, "new": new}
    kind = str(properties["kind"])
    return Change(None if there else name, name if there else None, kind, fields)


def _moved(before: Objects, after: Objects) -> dict[str, str]:
    """Return the new names, by old name, of `alike` objects that have moved."""
    gone = [name for name, old in before.items() if name not in after and old.get("alike")]
    come = [name for name, new in after.items() if name not in before and new.get("alike")]
    pairs: dict[str, str] = {}
    for name in gone:
        alike = [other for other in come if after[other]["kind"] == before[name]["kind"]]
        if alike:
            here = _spot(before[name]["place"], before)
            nearest = min(
                alike, key=lambda other: _distance(here, _spot(after[other]["place"], after))
            )
            come.remove(nearest)
            pairs[name] = nearest
    return pairs


def _spot(place: Any, objects: Objects) -> Any:
    """Return a place, or if it is an agent, the place of that agent."""
    return objects[place].get("place") if _is_agent(place, objects) else place


def _distance(one: Any, other: Any) -> float:
    """Return how far apart two places are."""
    if isinstance(one, list) and isinstance(other, list):
        return float(sum_in_order(abs(a - b) for a, b in zip(one, other, strict=False)))
    return float(one != other)
