"""What scripts can read from the playground, and how they bring objects and take them away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script.observables import Observable, named, row_of
from piase_gym.worlds.physics_playground.config import AGENT_RADIUS, PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.items import Point, gap
from piase_gym.worlds.physics_playground.rules.record import AT_AGENT, AT_OBJECT, AT_WALL

NOTHING: Final = "nothing"


def _padded(world: Any, values: list[Any], filling: Any) -> list[Any]:
    """Return values of the agents that take part, followed by `filling` for the rest."""
    return values + [filling] * (len(world.agents) - len(values))


def spot(world: Any, of: Any) -> tuple[float, float]:
    """Return the x and y of an agent, an object or a place; NaN for what is not there."""
    if not isinstance(of, str):
        return float(of[0]), float(of[1])
    raw = world.reading.raw
    names = [body.name for body in world.play.objects]
    if of in world.agents:
        number = world.arena.first + world.agents.index(of)
    elif of in names and names.index(of) in world.play.there:
        number = names.index(of)
    else:
        return math.nan, math.nan
    x, y, _ = raw[number][0]
    return x, y


def _places(world: Any) -> list[tuple[float, float]]:
    count = len(world.play.agents)
    return [spot(world, name) for name in world.agents[:count]]


def _position(world: Any, _states: Any, _of: Any) -> NDArray[Any]:
    return np.array([_padded(world, _places(world), (math.nan, math.nan))])


def _distance(world: Any, _states: Any, of: Any) -> NDArray[Any]:
    """Return metres from each agent to an agent, an object or a place."""
    goal = spot(world, of)
    found = [math.dist(place, goal) for place in _places(world)]
    return np.array([_padded(world, found, math.nan)])


def _target(world: Any, _states: Any, _of: Any) -> NDArray[Any]:
    """Return each agent's own target, or the middle of the zone that all share."""
    count, play = len(world.play.agents), world.play
    found = [tuple(place) for place in play.targets or [play.zone or (math.nan, math.nan)] * count]
    return np.array([_padded(world, found, (math.nan, math.nan))])


def _speed(world: Any, _states: Any, _of: Any) -> NDArray[Any]:
    bodies = world.reading.raw[world.arena.first :]
    found = [math.hypot(*body[2][:2]) for body in bodies]
    return np.array([_padded(world, found, 0.0)])


def _held(world: Any, _states: Any, _of: Any) -> NDArray[Any]:
    objects = world.play.objects
    found = [NOTHING if h is None else objects[h.object].name for h in world.play.holds]
    return row_of(_padded(world, found, NOTHING)[: len(world.agents)])


def _touching(world: Any, _states: Any, _of: Any) -> NDArray[Any]:
    """Return the names of objects and agents that each agent touches, and ``wall``."""
    columns = {AT_OBJECT + i: body.name for i, body in enumerate(world.play.objects)}
    columns |= {AT_AGENT + i: name for i, name in enumerate(world.agents)}
    columns[AT_WALL] = "wall"
    found = [
        tuple(columns[k] for k in np.flatnonzero(row).tolist() if k in columns)
        for row in world.arena.touches
    ]
    return row_of(_padded(world, found, ()))


def _object_place(world: Any, _states: Any, of: str) -> NDArray[Any]:
    return np.array([[spot(world, of)]])


def _object_speed(world: Any, _states: Any, of: str) -> NDArray[Any]:
    names = [body.name for body in world.play.objects]
    known = of in names and names.index(of) in world.play.there
    velocity = world.reading.raw[names.index(of)][2] if known else (0.0, 0.0)
    return np.array([[math.hypot(*velocity[:2])]])


def _togo(world: Any, _states: Any, _of: Any) -> NDArray[Any]:
    return np.array([_padded(world, list(world.arena.togo), 0.0)])


def _anything(_config: Any) -> None:
    """Return ``None``: any name may be given."""


OBSERVABLES: Final = named(
    Observable(name="position", about="x and y in metres", read=_position, kind="place"),
    Observable(
        name="distance",
        about="metres to an agent, an object or a place",
        read=_distance,
        of="place",
        subjects=_anything,
    ),
    Observable(
        name="target",
        about="x and y of its own target, or of the zone",
        read=_target,
        kind="place",
    ),
    Observable(name="speed", about="metres a second", read=_speed),
    Observable(name="held", about="what it grips, or nothing", read=_held, kind="word"),
    Observable(
        name="touching", about="what it touches: names, or wall", read=_touching, kind="things"
    ),
    Observable(
        name="object_position",
        about="x and y of an object",
        read=_object_place,
        kind="place",
        of="word",
        subjects=_anything,
        shared=True,
    ),
    Observable(
        name="object_speed",
        about="metres a second of an object",
        read=_object_speed,
        of="word",
        subjects=_anything,
        shared=True,
    ),
    Observable(name="to_go", about="metres to the end of its task", read=_togo),
    Observable(
        name="placed",
        about="objects that are where the task wants them",
        read=lambda world, _states, _of: np.array([[world.play.placed]]),
        shared=True,
    ),
)
"""The observables that conditions can be about."""


def spawn(world: Any, _states: Any, _envs: Any, thing: str, place: Point) -> None:
    """Put an object that is away at a place, if there is room for it."""
    number = world.config.thing_names.index(thing)
    if number in world.play.away and _has_room(world, number, place):
        world.arena.bring(number, place)
    world.look_again()


def _has_room(world: Any, number: int, place: Point) -> bool:
    """Return whether an object would touch nothing at a place."""
    things, play, raw = world.config.things, world.play, world.reading.raw
    circles = [(raw[i][0], things[i].reach) for i in play.there]
    circles += [(raw[len(play.objects) + i][0], AGENT_RADIUS) for i in range(len(play.agents))]
    reach = things[number].reach
    return all(math.dist(place, spot[:2]) > reach + radius for spot, radius in circles)


def remove(world: Any, _states: Any, _envs: Any, thing: str | None, place: Point | None) -> None:
    """Take away objects: one of them, or those that stand at a place."""
    names, things = world.config.thing_names, world.config.things
    for number in world.play.there:
        x, y, _ = world.reading.raw[number][0]
        here = place is None or math.dist(place, (x, y)) <= things[number].reach
        if here and thing in (None, names[number]):
            world.arena.take_away(number)
    world.look_again()


def place_problem(
    config: PhysicsPlaygroundConfig, thing: str | None, place: str | Sequence[float]
) -> str | None:
    """Say why an object cannot stand at a place, or return ``None`` if it can."""
    if isinstance(place, str) or len(place) != 2:
        return f"a place is (x, y) in metres, not {place!r}"
    number = config.thing_names.index(thing) if thing in config.thing_names else None
    reach = 0.0 if number is None else config.things[number].reach
    x, y = place
    half_x, half_y = (side / 2.0 for side in config.size)
    if abs(x) + reach > half_x or abs(y) + reach > half_y:
        room = f", and {thing} needs {reach:.2f} around it" if reach else ""
        return (
            f"({x:g}, {y:g}) is not on the floor, which reaches from ({-half_x:g}, {-half_y:g}) "
            f"to ({half_x:g}, {half_y:g}){room}"
        )
    for kind, parts in (("wall", config.walls), ("ramp", config.ramps)):
        if reach and any(gap((x, y), part) <= reach for part in parts):
            return f"({x:g}, {y:g}) is at a {kind}, and {thing} needs {reach:.2f} around it"
    return None
