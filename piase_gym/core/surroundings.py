"""What an agent perceives around it, in the terms of the PiaSE documents.

The document interfaces ask for things that each world's facts hold under names of their own: a
position, the objects in sight, an inventory. `World.surroundings` finds them. By default it goes by
the names of the facts' fields, so a world whose facts use the following names need do nothing:

| what | fields of the facts |
|---|---|
| position | `position`, else `room`, else `location` |
| rotation | `rotation`, else `heading` |
| inventory | `inventory`, else `carrying` |
| stats | `stats`; `energy`, `health` |
| objects | `objects`, `items`, `others`, and what stands in `cells` |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from piase_gym.core.arithmetic import is_number
from piase_gym.core.jsonable import jsonable

COMMON = ("agent", "messages", "earlier", "hint", "shared_memory", "remembered")
"""The fields that all facts have; they are perceived in other ways."""
GROUND = ("", "floor", "wall", "outside", "unseen", "you")
"""What stands in `cells` where there is no object."""


class Thing(NamedTuple):
    """One object or agent in sight.

    Attributes:
        name: What it is called, such as ``key`` or ``agent_1``.
        kind: ``object`` or ``agent``, or a word of the world's own.
        properties: What else can be seen of it, JSON-able.
    """

    name: str
    kind: str = "object"
    properties: Mapping[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What an agent perceives around it; ``None`` stands for what a world does not have.

    Attributes:
        position: Where the agent is: coordinates, or the name of a place.
        rotation: Which way it faces: a name or angles.
        objects: What it sees, in a stable order.
        inventory: The names of what it carries.
        stats: Numbers of its own body, such as ``{"energy": 0.9}``.
        perceptions: All that the agent perceives, by names of the world's own, JSON-able.
    """

    position: Any = None
    rotation: Any = None
    objects: tuple[Thing, ...] = ()
    inventory: tuple[str, ...] | None = None
    stats: Mapping[str, float] | None = None
    perceptions: Mapping[str, Any] = field(default_factory=dict)


def surroundings_by_name(facts: Any, agents: Sequence[str]) -> Surroundings:
    """Read surroundings from facts by the names of their fields (see the module docstring).

    Args:
        facts: A facts record of any world.
        agents: The names of the world's agents.
    """
    known = {f.name: getattr(facts, f.name) for f in fields(facts) if f.name not in COMMON}
    stats = dict(known.get("stats") or {})
    stats |= {n: float(known[n]) for n in ("energy", "health") if is_number(known.get(n))}
    return Surroundings(
        position=jsonable(_first(known, "position", "room", "location")),
        rotation=jsonable(_first(known, "rotation", "heading")),
        objects=tuple(_things(known, agents)),
        inventory=_carried(known),
        stats=stats or None,
        perceptions=jsonable(known),
    )


def _first(known: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first of these fields that is there."""
    return next((known[name] for name in names if known.get(name) is not None), None)


def _carried(known: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return what is carried, by `inventory` (names) or `carrying` (a name or ``None``)."""
    if "inventory" in known:
        return tuple(_name(item) for item in known["inventory"])
    if "carrying" in known:
        return () if known["carrying"] is None else (str(known["carrying"]),)
    return None


def _name(entry: Any) -> str:
    """Return the name of a listed thing: itself, its `name`, `id` or `kind`, or its first part."""
    if isinstance(entry, str):
        return entry
    described = jsonable(entry)
    if isinstance(described, dict):
        keys = [key for key in ("name", "id", "kind", "type") if key in described]
        return str(described[keys[0]]) if keys else str(next(iter(described.values()), ""))
    return str(described[0]) if isinstance(described, list) and described else str(entry)


def _things(known: Mapping[str, Any], agents: Sequence[str]) -> Iterator[Thing]:
    """Yield what is in sight."""
    for name in ("objects", "items", "others"):
        for entry in known.get(name) or ():
            kind = "agent" if _name(entry) in agents else "object"
            yield Thing(_name(entry), kind, _properties(entry))
    for row, cells in enumerate(known.get("cells") or ()):
        for column, cell in enumerate(cells):
            if cell not in GROUND:
                yield _in_cell(str(cell), {"row": row, "column": column}, agents)


def _in_cell(cell: str, place: dict[str, int], agents: Sequence[str]) -> Thing:
    """Return what stands in a cell; an agent's name may be followed by the agent's state."""
    name, _, rest = cell.partition(" ")
    if name not in agents:
        return Thing(cell, "object", place)
    return Thing(name, "agent", place | ({"state": rest} if rest else {}))


def _properties(entry: Any) -> dict[str, Any]:
    """Return what is listed next to a name; in a pair with a bare name, it is the position."""
    described = jsonable(entry)
    if isinstance(described, list) and len(described) == 2:
        return {"position": described[1]}
    return described if isinstance(described, dict) else {}
