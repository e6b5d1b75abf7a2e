"""How a gripper holds: light things in front and raised, heavy ones by a rod.

A light thing is drawn to its place in front of the agent within `SLOW_GRIP` steps, and keeps its
orientation. A heavy one is tied to the agent's centre by a rod as long as the distance at which it
was gripped; the agent can turn freely.
"""

from __future__ import annotations

import math

from piase_gym.worlds.physics_playground.bullet.client import SLOW_GRIP
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.geometry import compose, inverse, minus, plus, rotate
from piase_gym.worlds.physics_playground.levels.bodies import hull
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.state import Body, Hold, PlayState

GAP = 0.02
"""Metres between an agent and what it holds in front."""
TORN = 0.3
"""Metres that a grip can be pulled apart before it slips."""


def hold_distance(body: Body, config: PhysicsPlaygroundConfig) -> float:
    """Return how far ahead of an agent's centre a thing's centre is held: clear of the hull."""
    corner = math.sqrt(2.0) if body.shape == "box" else 1.0
    return hull(config.body) + corner * body.half[0] + GAP


def hold_of(
    reading: BodyReadings,
    seat: int,
    number: int,
    towed: bool,
    state: PlayState,
    config: PhysicsPlaygroundConfig,
) -> Hold:
    """Return how an agent would hold an object that it grips now.

    Args:
        reading: Where everything is.
        seat: Row of the agent in the reading.
        number: Row of the object, which is its number.
        towed: Whether it is too heavy to be raised.
        state: For the object's size.
        config: For the agent's size and the height of the lift.
    """
    (a, qa, *_), (b, qb, *_) = reading.raw[seat], reading.raw[number]
    back = inverse(qb)
    parent = (0.0, 0.0, 0.0)
    if not towed:
        ahead = hold_distance(state.objects[number], config)
        parent = (ahead, 0.0, b[2] - a[2] + config.raised)
    child = rotate(back, minus(plus(a, rotate(qa, parent)), b))
    turn = compose(back, qa)
    return Hold(number, towed, list(parent), list(child), list(turn), 0)


def slipped(hold: Hold, reading: BodyReadings, seat: int) -> bool:
    """Return whether a grip was pulled apart."""
    (a, qa, *_), (b, qb, *_) = reading.raw[seat], reading.raw[hold.object]
    left = 1.0 if hold.towed else 1.0 - min(hold.since, SLOW_GRIP) / SLOW_GRIP
    child = [left * value for value in hold.child]
    x, y, z = minus(plus(a, rotate(qa, hold.parent)), plus(b, rotate(qb, child)))
    return x * x + y * y + z * z > TORN * TORN
