"""How scripted controllers find their way: straight on if that is free, else around."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from piase_gym.core.commands import Command
from piase_gym.worlds.physics_playground.actions import drive_command
from piase_gym.worlds.physics_playground.config import AGENT_RADIUS
from piase_gym.worlds.physics_playground.levels.bodies import Pose
from piase_gym.worlds.physics_playground.levels.items import Point, gap
from piase_gym.worlds.physics_playground.players.routes import aim_of
from piase_gym.worlds.physics_playground.world import PhysicsPlayground

DETOURS = tuple(math.radians(s * d) for d in range(0, 136, 15) for s in ((1, -1) if d else (1,)))
LOOK = 0.9
"""Metres that a controller looks ahead."""
BODY = 0.22
"""Radius that a driving agent keeps clear."""


class Disc(NamedTuple):
    """Something round that is in the way."""

    place: Point
    radius: float


def obstacles(world: PhysicsPlayground, agent: int, ignore: Sequence[int] = ()) -> list[Disc]:
    """Return objects and agents as discs, but for the agent itself, its load and `ignore`."""
    play, raw = world.play, world.reading.raw
    first = len(play.objects)
    held = {hold.object for hold in play.holds if hold is not None and not hold.towed}
    found = []
    for number, body in enumerate(play.objects):
        if number not in ignore and number not in held:
            x, y, _ = raw[number][0]
            wide = 0.45 if body.shape == "crate" else body.half[0] * 1.2
            found.append(Disc((x, y), wide))
    for other in range(len(play.agents)):
        if other != agent:
            x, y, _ = raw[first + other][0]
            found.append(Disc((x, y), AGENT_RADIUS - 0.03))
    return found


def heading_to(pose: Pose, place: Sequence[float]) -> tuple[float, float]:
    """Return the distance of a place, and its bearing in radians."""
    dx, dy = place[0] - pose.position[0], place[1] - pose.position[1]
    ahead, left = dx * pose.ahead[0] + dy * pose.ahead[1], dy * pose.ahead[0] - dx * pose.ahead[1]
    return math.hypot(dx, dy), math.atan2(left, ahead)


def steer(bearing: float, speed: float, hand: float = 0.0) -> Command:
    """Return the drive that turns towards a bearing, and goes ahead once it faces it."""
    turn = max(-1.0, min(1.0, bearing / 0.4))
    facing = max(0.0, 1.0 - abs(bearing) / 0.6)
    return drive_command(max(-1.0, min(1.0, speed)) * facing, turn, hand)


def go(
    world: PhysicsPlayground,
    agent: int,
    place: Sequence[float],
    ignore: Sequence[int] = (),
    speed: float = 1.0,
) -> Command:
    """Return the drive towards a place, around what is in the way."""
    pose = world.arena.pose(agent)
    aim = aim_of(world.config, pose.position[:2], place)
    discs = obstacles(world, agent, ignore)
    start = pose.position[0], pose.position[1]
    face = math.atan2(pose.ahead[1], pose.ahead[0])

    def has_room(turn: float, reach: float) -> bool:
        return has_floor(world, start, turn, reach)

    return around(start, face, heading_to(pose, aim), discs, has_room, speed)


def around(
    start: Point,
    face: float,
    aim: tuple[float, float],
    discs: Sequence[Disc],
    has_room: Callable[[float, float], bool] = lambda _turn, _reach: True,
    speed: float = 1.0,
) -> Command:
    """Return the drive towards a place, around discs.

    Args:
        start: Where the agent is.
        face: Where it faces, in radians.
        aim: The distance of where it wants to be, and the bearing in radians.
        discs: What is in the way.
        has_room: Tells whether a direction (radians) has room for so many metres otherwise.
        speed: The most that is driven.
    """
    away, bearing = aim
    touching = [d for d in discs if math.dist(start, d.place) < d.radius + BODY]
    others = [d for d in discs if d not in touching]
    reach = min(away, LOOK)
    for detour in DETOURS:
        turn = face + bearing + detour
        if (
            clears(start, turn, reach, others)
            and has_room(turn, reach)
            and all(_leaves(start, turn, disc) for disc in touching)
        ):
            pace = min(speed, 0.15 + 1.5 * away) if detour == 0.0 else speed
            return steer(_wrap(bearing + detour), pace)
    return drive_command(-0.6, 0.3, 0.0)


def clears(start: Point, turn: float, reach: float, discs: Sequence[Disc]) -> bool:
    """Tell whether no disc is in the way in a direction for so many metres."""
    dx, dy = math.cos(turn), math.sin(turn)
    for (px, py), radius in discs:
        along = max(0.0, min(reach, (px - start[0]) * dx + (py - start[1]) * dy))
        if math.dist((start[0] + along * dx, start[1] + along * dy), (px, py)) < radius + BODY:
            return False
    return True


def has_floor(world: PhysicsPlayground, start: Point, turn: float, reach: float) -> bool:
    """Tell whether the floor goes on in a direction for so many metres, without fixtures."""
    dx, dy = math.cos(turn), math.sin(turn)
    half_x, half_y = (side / 2.0 - 0.16 for side in world.config.size)
    x, y = start[0] + reach * dx, start[1] + reach * dy
    if abs(x) > max(half_x, abs(start[0])) or abs(y) > max(half_y, abs(start[1])):
        return False
    steps = [reach * (k + 1) / 6.0 for k in range(6)]
    points = [(start[0] + s * dx, start[1] + s * dy) for s in steps]
    for part in world.config.fixtures:
        near = gap(start, part)
        if any(gap(point, part) < min(BODY, near) - 1e-9 for point in points):
            return False
    return True


def _leaves(start: Point, turn: float, disc: Disc) -> bool:
    """Tell whether a direction leads away from a disc that is touched already."""
    dx, dy = disc.place[0] - start[0], disc.place[1] - start[1]
    return dx * math.cos(turn) + dy * math.sin(turn) < 0.3 * math.hypot(dx, dy)


def _wrap(turn: float) -> float:
    """Return an angle from -pi to pi."""
    return (turn + math.pi) % (2.0 * math.pi) - math.pi
