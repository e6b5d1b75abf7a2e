"""Ways around walls and ramps, for scripted controllers: shortest paths over a grid of places."""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Sequence

from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.items import Point, Ramp, Wall, gap

Fixtures = tuple[Wall | Ramp, ...]
Cell = tuple[int, int]
PITCH = 0.2
"""Metres between two places of the grid."""
CLEAR = 0.28
"""How far a way keeps from what stands on the floor, and `SIGHT` a straight line at least."""
SIGHT = 0.24
EDGE = 0.2
STEPS = [(i, j, math.hypot(i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


def aim_of(config: PhysicsPlaygroundConfig, start: Point, place: Sequence[float]) -> Point:
    """Return where to go on straight: to a place, or to a point on the shortest way there.

    Args:
        config: For what stands on the floor.
        start: Where the agent is.
        place: Where it wants to be.

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
    """Tell whether the straight line keeps clear of everything.

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
    """Return the places where an agent has room."""
    most_i, most_j = (int((side / 2.0 - EDGE) / PITCH) for side in size)
    cells = [(i, j) for i in range(-most_i, most_i + 1) for j in range(-most_j, most_j + 1)]
    return frozenset(
        cell for cell in cells if all(gap(point_of(cell), part) >= CLEAR for part in fixtures)
    )


@functools.lru_cache(maxsize=64)
def distances(size: tuple[float, float], fixtures: Fixtures, goal: Cell) -> dict[Cell, float]:
    """Return how far it is from every place to a goal, in pitches (Dijkstra's algorithm)."""
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
