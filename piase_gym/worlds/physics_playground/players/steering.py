"""Ways around walls and ramps, for scripted controllers: shortest paths on a grid of places."""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from piase_gym.core.commands import Command
from piase_gym.worlds.physics_playground.actions import drive_command
from piase_gym.worlds.physics_playground.config import AGENT_RADIUS, PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.items import Point, Ramp, Wall, gap
from piase_gym.worlds.physics_playground.rules.strides import heading_to
from piase_gym.worlds.physics_playground.world import PhysicsPlayground

Fixtures = tuple[Wall | Ramp, ...]
Cell = tuple[int, int]
PITCH = 0.2
"""Metres between two places of the grid."""
CLEAR = 0.28
"""How far a way keeps from what stands on the floor; a straight line keeps `SIGHT` at least."""
SIGHT = 0.24
EDGE = 0.2
STEPS = [(i, j, math.hypot(i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


def aim_of(config: PhysicsPlaygroundConfig, start: Point, place: Sequence[float]) -> Point:
    """Return the point to go straight to: a place, or a point on the shortest way there.

    Args:
        config: The config, for what stands on the floor.
        start: Where the agent is.
        place: Where the agent wants to be.

    Returns:
        The place itself if nothing stands in between, or if there is no way; else the last point
        of the way that can be seen from the start.
    """
    goal, fixtures = (place[0], place[1]), config.fixtures
    if not fixtures or in_sight(fixtures, start, goal):
        return goal
    ways = distances(config.size, fixtures, cell_of(goal))
    here, seen = cell_of(start), goal
    if here not in ways:
        near = [(i, j) for i, j in ways if abs(i - here[0]) < 3 and abs(j - here[1]) < 3]
        if not near:
            return goal
        here = min(near, key=lambda cell: (math.dist(cell, here), cell))
        seen = point_of(here)
    while ways[here] > 0.0:
        i, j = here
        nexts = [(i + di, j + dj) for di, dj, _ in STEPS if (i + di, j + dj) in ways]
        here = min(nexts, key=lambda cell: (ways[cell] + math.dist(cell, (i, j)), cell))
        if not in_sight(fixtures, start, point_of(here)):
            break
        seen = point_of(here)
    return seen


def in_sight(fixtures: Fixtures, start: Point, end: Point) -> bool:
    """Return whether the straight line keeps clear of everything.

    Where the start or the end is nearer to something, the line may be as near.
    """
    count = max(1, math.ceil(math.dist(start, end) / 0.08))
    shares = [k / count for k in range(1, count)]
    dx, dy = end[0] - start[0], end[1] - start[1]
    points = [(start[0] + share * dx, start[1] + share * dy) for share in shares]
    for part in fixtures:
        room = min(SIGHT, gap(start, part), gap(end, part)) - 1e-9
        if any(gap(point, part) < room for point in points):
            return False
    return True


def cell_of(point: Point) -> Cell:
    """Return the place of the grid that is nearest to a point."""
    return round(point[0] / PITCH), round(point[1] / PITCH)


def point_of(cell: Cell) -> Point:
    """Return where a place of the grid is."""
    return cell[0] * PITCH, cell[1] * PITCH


@functools.lru_cache(maxsize=8)
def open_cells(size: tuple[float, float], fixtures: Fixtures) -> frozenset[Cell]:
    """Return the places of the grid where an agent has room."""
    most_i, most_j = (int((side / 2.0 - EDGE) / PITCH) for side in size)
    cells = [(i, j) for i in range(-most_i, most_i + 1) for j in range(-most_j, most_j + 1)]
    return frozenset(
        cell for cell in cells if all(gap(point_of(cell), part) >= CLEAR for part in fixtures)
    )


@functools.lru_cache(maxsize=64)
def distances(size: tuple[float, float], fixtures: Fixtures, goal: Cell) -> dict[Cell, float]:
    """Return how far it is from every place to a goal, in `PITCH` units (Dijkstra's algorithm)."""
    cells = open_cells(size, fixtures)
    found: dict[Cell, float] = {}
    queue = [(0.0, goal)]
    while queue:
        way, cell = heapq.heappop(queue)
        if cell in found:
            continue
        found[cell] = way
        for di, dj, length in STEPS:
            there = cell[0] + di, cell[1] + dj
            if there in cells and there not in found:
                heapq.heappush(queue, (way + length, there))
    return found


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
    """Return objects and agents as discs, without the agent, what is held up, and `ignore`."""
    play, raw = world.play, world.reading.raw
    first = len(play.objects)
    held = {hold.object for hold in play.holds if hold is not None and not hold.towed}
    found = []
    for number in play.there:
        if number not in ignore and number not in held:
            body, (x, y, _) = play.objects[number], raw[number][0]
            wide = 0.45 if body.shape == "crate" else body.half[0] * 1.2
            found.append(Disc((x, y), wide))
    for other in range(len(play.agents)):
        if other != agent:
            x, y, _ = raw[first + other][0]
            found.append(Disc((x, y), AGENT_RADIUS - 0.03))
    return found


def steer(bearing: float, speed: float) -> Command:
    """Return the drive that turns towards a bearing, and goes ahead once it faces it."""
    turn = max(-1.0, min(1.0, bearing / 0.4))
    facing = max(0.0, 1.0 - abs(bearing) / 0.6)
    return drive_command(max(-1.0, min(1.0, speed)) * facing, turn, 0.0)


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
    has_room = functools.partial(has_floor, world, start)
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
        aim: The distance and the bearing (in radians) of where it wants to be.
        discs: What is in the way.
        has_room: Returns whether a direction (radians) otherwise has room for a number of metres.
        speed: The largest drive that is used.
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
    """Return whether no disc is in the way in a direction for `reach` metres."""
    dx, dy = math.cos(turn), math.sin(turn)
    for (px, py), radius in discs:
        along = max(0.0, min(reach, (px - start[0]) * dx + (py - start[1]) * dy))
        if math.dist((start[0] + along * dx, start[1] + along * dy), (px, py)) < radius + BODY:
            return False
    return True


def has_floor(world: PhysicsPlayground, start: Point, turn: float, reach: float) -> bool:
    """Return whether the floor goes on in a direction for `reach` metres, without fixtures."""
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
    """Return whether a direction leads away from a disc that is already touched."""
    dx, dy = disc.place[0] - start[0], disc.place[1] - start[1]
    return dx * math.cos(turn) + dy * math.sin(turn) < 0.3 * math.hypot(dx, dy)


def _wrap(turn: float) -> float:
    """Return an angle from -pi to pi."""
    return (turn + math.pi) % (2.0 * math.pi) - math.pi
