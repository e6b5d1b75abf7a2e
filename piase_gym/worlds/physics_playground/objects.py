"""What there is in the arena, object by object; see `piase_gym.core.objects`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from piase_gym.core.objects import AGENT
from piase_gym.worlds.physics_playground.geometry import yaw
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.state import PlayState

DIGITS: Final = 2
"""Places are rounded to centimetres: things at rest on the floor tremble by less."""


def objects(play: PlayState, reading: BodyReadings, agents: Sequence[str]) -> dict[str, Any]:
    """Return agents and movable objects, with the place [x, y, z] of each.

    An object that an agent grips is in its hand: the object's place is the agent's name.
    """
    poses = [raw[:2] for raw in reading.raw]
    holders = {hold.object: agents[k] for k, hold in enumerate(play.holds) if hold is not None}
    first = len(play.objects)
    found: dict[str, Any] = {}
    for k, name in enumerate(agents[: len(play.agents)]):
        position, turn = poses[first + k]
        found[name] = {
            "kind": AGENT,
            "place": _place(position),
            "heading": round(math.degrees(yaw(turn))) % 360,
            "in_play": play.status[k] == "playing",
        }
    for k in play.there:
        body = play.objects[k]
        place: Any = holders.get(k) or _place(poses[k][0])
        found[body.name] = {"kind": body.shape, "place": place}
    return found


def _place(position: Sequence[float]) -> list[float]:
    """Return a place in metres, rounded and without negative zeros."""
    return [round(value, DIGITS) + 0.0 for value in position]
