"""The tasks: how far each is from its end, when it is done, and what that is worth.

All functions are pure: they look at a state and a reading, and give numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from piase_gym.worlds.physics_playground.bullet import Reading
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.control import GRIP_ANGLE, REACH, Pose, hull
from piase_gym.worlds.physics_playground.layouts import THRUST
from piase_gym.worlds.physics_playground.sensing import Touch
from piase_gym.worlds.physics_playground.state import PlayState

ROLES = {0: "keeper", 1: "chaser"}
AT_REST = 0.25
"""An object is set down if it moves slower than so many metres a second."""


def role(agent: int) -> str:
    """Return an agent's role in keep_away: keepers and chasers take turns."""
    return ROLES[agent % 2]


def inside(state: PlayState, reading: Reading, config: PhysicsPlaygroundConfig) -> list[bool]:
    """Return which objects have their centre in the zone."""
    if not state.zone:
        return [False] * len(state.objects)
    x, y = state.zone
    return [
        (px - x) * (px - x) + (py - y) * (py - y) <= config.zone * config.zone
        for px, py, _ in (raw[0] for raw in reading.raw[: len(state.objects)])
    ]


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    """Return how far two places are from each other on the floor."""
    dx, dy = a[0] - b[0], a[1] - b[1]
    return math.sqrt(dx * dx + dy * dy)


def wanted(state: PlayState, config: PhysicsPlaygroundConfig) -> list[int]:
    """Return the objects that the task is about."""
    kinds = {"stack": "box", "keep_away": "ball", "carry": "crate"}
    kind = kinds.get(config.task)
    if config.task == "reach":
        return []
    return [i for i, body in enumerate(state.objects) if kind in (None, body.shape)]


def total(state: PlayState, config: PhysicsPlaygroundConfig) -> int:
    """Return how many objects are to be placed."""
    if config.task in ("reach", "keep_away"):
        return 0
    return config.tower if config.task == "stack" else len(wanted(state, config))


def placed(
    state: PlayState, reading: Reading, config: PhysicsPlaygroundConfig, zone: Sequence[bool]
) -> int:
    """Return how many objects are where the task wants them; `zone` is what `inside` tells."""
    if config.task == "stack":
        return tower(state, reading, config)
    if config.task in ("reach", "keep_away"):
        return 0
    held = {hold.object for hold in state.holds if hold is not None and not hold.towed}
    return sum(zone[i] and i not in held for i in wanted(state, config))


def tower(state: PlayState, reading: Reading, config: PhysicsPlaygroundConfig) -> int:
    """Return how many boxes stand on each other in the highest tower that nobody holds."""
    held = {hold.object for hold in state.holds if hold is not None}
    free = [i for i in wanted(state, config) if i not in held]
    resting = [i for i in free if _slow(reading.raw[i][2])]

    def height(base: int) -> int:
        above = [i for i in resting if _on(state, reading, i, base)]
        return 1 + max((height(i) for i in above), default=0)

    bases = [i for i in resting if reading.raw[i][0][2] < 1.3 * state.objects[i].half[2]]
    return max((height(base) for base in bases), default=0)


def _on(state: PlayState, reading: Reading, upper: int, lower: int) -> bool:
    """Tell whether a box rests on another."""
    a, b = reading.raw[upper][0], reading.raw[lower][0]
    ha, hb = state.objects[upper].half[2], state.objects[lower].half[2]
    rise = a[2] - b[2]
    return 0.75 * (ha + hb) < rise < 1.25 * (ha + hb) and distance(a, b) < 1.2 * hb


def _slow(velocity: Sequence[float]) -> bool:
    """Tell whether a speed is as good as none."""
    return sum(v * v for v in velocity) < AT_REST * AT_REST


def togo(state: PlayState, reading: Reading, config: PhysicsPlaygroundConfig) -> list[float]:
    """Return, for each agent, how many metres its task is from its end.

    In reach the way to the target; in stack from the box that is to be placed to the next one; in
    push, gather and carry the way of all objects to the zone's edge, plus that of the agent to the
    nearest of them; in keep_away from the ball, for a chaser.
    """
    places = [raw[0] for raw in reading.raw]
    first = len(state.objects)
    agents = places[first:]
    if config.task == "reach":
        return [distance(a, t) for a, t in zip(agents, state.targets, strict=True)]
    things = wanted(state, config)
    if config.task == "keep_away":
        ball = places[things[0]]
        return [distance(a, ball) if role(i) == "chaser" else 0.0 for i, a in enumerate(agents)]
    if config.task == "stack":
        return _stack_togo(state, places, config)
    edge = max(0.0, config.zone - 0.1)
    ways = {i: max(0.0, distance(places[i], state.zone) - edge) for i in things}
    left = [i for i in things if ways[i] > 0.0]
    way = sum(ways.values())
    found = []
    for number, agent in enumerate(agents):
        busy = state.holds[number] is not None or not left
        near = 0.0 if busy else min(distance(agent, places[i]) for i in left)
        found.append(way + 0.5 * near)
    return found


def _stack_togo(
    state: PlayState, places: list[Sequence[float]], config: PhysicsPlaygroundConfig
) -> list[float]:
    """Return how far agents are from having put a box on the next."""
    boxes = wanted(state, config)
    found = []
    for number, agent in enumerate(places[len(state.objects) :]):
        hold = state.holds[number]
        if hold is None:
            found.append(1.0 + min(distance(agent, places[i]) for i in boxes))
        else:
            others = [i for i in boxes if i != hold.object] or boxes
            found.append(min(distance(places[hold.object], places[i]) for i in others))
    return found


def caught(state: PlayState, touches: Sequence[Touch], config: PhysicsPlaygroundConfig) -> bool:
    """Tell whether a chaser touches the ball."""
    balls = set(wanted(state, config))
    return any(
        role(i) == "chaser" and balls & set(touch.objects) for i, touch in enumerate(touches)
    )


def graspable(
    state: PlayState, reading: Reading, pose: Pose, config: PhysicsPlaygroundConfig
) -> int | None:
    """Return the object that an agent with free hands would grip now: the nearest in front."""
    held = {hold.object for hold in state.holds if hold is not None and not hold.towed}
    best: tuple[float, int] | None = None
    x, y, _ = pose.position
    near = hull(config.body) + REACH
    for number, body in enumerate(state.objects):
        place, wide = reading.raw[number][0], near + max(body.half)
        if abs(place[0] - x) > wide or abs(place[1] - y) > wide or number in held:
            continue
        gap = _gap_ahead(pose, reading.raw[number], body.half, body.shape)
        if gap is None or gap > near:
            continue
        if best is None or gap < best[0]:
            best = gap, number
    return best[1] if best else None


def _gap_ahead(
    pose: Pose, raw: tuple[tuple[float, ...], ...], half: Sequence[float], shape: str
) -> float | None:
    """Return how far ahead of an agent's centre an object begins, or None if it is not ahead."""
    (x, y, z), (qx, qy, qz, qw) = raw[0], raw[1]
    if abs(z - pose.position[2]) > half[2] + 0.15:
        return None
    dx, dy = x - pose.position[0], y - pose.position[1]
    if shape == "crate":  # the nearest point of its outline, seen from above
        turn = math.atan2(2.0 * (qx * qy + qw * qz), 1.0 - 2.0 * (qy * qy + qz * qz))
        c, s = math.cos(turn), math.sin(turn)
        along, across = -dx * c - dy * s, dx * s - dy * c
        along = min(half[0], max(-half[0], along))
        across = min(half[1], max(-half[1], across))
        dx, dy = dx + along * c - across * s, dy + along * s + across * c
    cx, cy = pose.ahead
    ahead, left = dx * cx + dy * cy, dy * cx - dx * cy
    away = math.sqrt(dx * dx + dy * dy)
    if ahead <= 0.0 or math.atan2(abs(left), ahead) > GRIP_ANGLE:
        return None
    return away - (0.0 if shape == "crate" else half[0])


def too_heavy(state: PlayState, number: int, config: PhysicsPlaygroundConfig) -> bool:
    """Tell whether an object can only be dragged: it weighs more than half an agent's thrust."""
    return state.objects[number].mass * max(state.gravity, 1.0) > 0.5 * THRUST[config.body]
