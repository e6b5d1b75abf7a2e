"""PhysicsPlayground's forces, rules and rows in plain Python: the slow reference of the kernels.

Written agent by agent and object by object, from lists and tuples, straight from the rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.facts import LIMIT, Layout
from piase_gym.worlds.physics_playground.levels.bodies import (
    GRIP_ANGLE,
    HULL,
    MASSES,
    REACH,
    ROVER,
    SPHERE,
    THRUST,
    TOP_SPEED,
    TOP_SPIN,
    hull,
)
from piase_gym.worlds.physics_playground.levels.items import KINDS
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.state import PlayState

AT_REST = 0.25
DEGREES = 180.0 / math.pi


@dataclass(frozen=True)
class Touch:
    """What one agent touches."""

    wall: bool = False
    ramp: bool = False
    objects: tuple[int, ...] = ()
    agents: tuple[int, ...] = ()
    grounded: bool = True


class Pose(NamedTuple):
    """Where an agent is and how it moves."""

    position: tuple[float, float, float]
    ahead: tuple[float, float]
    velocity: tuple[float, float, float]
    spin: tuple[float, float, float]
    up: tuple[float, float, float]


def pose_of(raw: tuple[Any, ...]) -> Pose:
    """Return the pose of an agent from what Bullet tells."""
    position, (x, y, z, w), velocity, spin = raw
    c, s = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
    size = math.sqrt(c * c + s * s)
    ahead = (c / size, s / size) if size > 1e-9 else (1.0, 0.0)
    up = (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y))
    return Pose(position, ahead, velocity, spin, up)


# -- forces -------------------------------------------------------------------------------


def forces(
    body: str, pose: Pose, drive: float, turn: float, grounded: bool, seconds: float
) -> tuple[list[float], list[float]]:
    """Return the force and the torque on an agent during one step."""
    cx, cy = pose.ahead
    ahead = pose.velocity[0] * cx + pose.velocity[1] * cy
    left = pose.velocity[1] * cx - pose.velocity[0] * cy
    mass, thrust = MASSES[body], THRUST[body]
    gain = mass * min(0.5 / seconds, 8.0)
    if body == "rover":
        along, side, twist = _wheels(ahead, left, pose.spin[2], drive, turn, gain, thrust)
    else:
        rolling = thrust / TOP_SPEED[body]
        along = thrust * drive - min(rolling, gain) * ahead
        side = -min(rolling, gain) * left
        inertia = 0.4 * mass * SPHERE * SPHERE
        twist = inertia * min(0.5 / seconds, 8.0) * (TOP_SPIN * turn - pose.spin[2])
    if not grounded:
        along = side = twist = 0.0
    tilt = _upright(pose, seconds) if body == "sphere" else (0.0, 0.0)
    return [along * cx - side * cy, along * cy + side * cx, 0.0], [*tilt, twist]


def _wheels(
    ahead: float, left: float, spin: float, drive: float, turn: float, gain: float, thrust: float
) -> tuple[float, float, float]:
    """Return what two wheels push ahead and to the left, and by how much they twist."""
    arm, grip = ROVER[1], thrust / 2.0
    pushes = []
    for y in (arm, -arm):  # the left wheel, the right wheel
        wanted = TOP_SPEED["rover"] * drive - y * TOP_SPIN * turn
        lack = wanted - (ahead - y * spin)
        pushes.append(min(grip, max(-grip, 0.5 * gain * lack)))
    skid = min(thrust, max(-thrust, -1.6 * gain * left))
    return pushes[0] + pushes[1], skid, arm * (pushes[1] - pushes[0])


def _upright(pose: Pose, seconds: float) -> tuple[float, float]:
    """Return the torque (x, y) by which a sphere's gyroscope keeps it upright."""
    stiff, damp = min(0.15 / seconds**2, 40.0), min(0.5 / seconds, 8.0)
    ux, uy, _ = pose.up
    return stiff * uy - damp * pose.spin[0], -stiff * ux - damp * pose.spin[1]


# -- rules --------------------------------------------------------------------------------


def inside(state: PlayState, reading: BodyReadings, config: PhysicsPlaygroundConfig) -> list[bool]:
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


def placed(state: PlayState, reading: BodyReadings, config: PhysicsPlaygroundConfig) -> int:
    """Return how many objects are where the task wants them."""
    if config.task == "stack":
        return tower(state, reading, config)
    if config.task in ("reach", "keep_away"):
        return 0
    held = {hold.object for hold in state.holds if hold is not None and not hold.towed}
    zone = inside(state, reading, config)
    return sum(zone[i] and i not in held for i in wanted(state, config))


def tower(state: PlayState, reading: BodyReadings, config: PhysicsPlaygroundConfig) -> int:
    """Return how many boxes stand on each other in the highest tower that nobody holds."""
    held = {hold.object for hold in state.holds if hold is not None}
    free = [i for i in wanted(state, config) if i not in held]
    resting = [i for i in free if _slow(reading.raw[i][2])]

    def height(base: int) -> int:
        above = [i for i in resting if _on(state, reading, i, base)]
        return 1 + max((height(i) for i in above), default=0)

    bases = [i for i in resting if reading.raw[i][0][2] < 1.3 * state.objects[i].half[2]]
    return max((height(base) for base in bases), default=0)


def _on(state: PlayState, reading: BodyReadings, upper: int, lower: int) -> bool:
    """Tell whether a box rests on another."""
    a, b = reading.raw[upper][0], reading.raw[lower][0]
    ha, hb = state.objects[upper].half[2], state.objects[lower].half[2]
    rise = a[2] - b[2]
    return 0.75 * (ha + hb) < rise < 1.25 * (ha + hb) and distance(a, b) < 1.2 * hb


def _slow(velocity: Sequence[float]) -> bool:
    """Tell whether a speed is as good as none."""
    vx, vy, vz = velocity
    return vx * vx + vy * vy + vz * vz < AT_REST * AT_REST


def togo(state: PlayState, reading: BodyReadings, config: PhysicsPlaygroundConfig) -> list[float]:
    """Return, for each agent, how many metres its task is from its end."""
    places = [raw[0] for raw in reading.raw]
    agents = places[len(state.objects) :]
    if config.task == "reach":
        return [distance(a, t) for a, t in zip(agents, state.targets, strict=True)]
    things = wanted(state, config)
    if config.task == "keep_away":
        ball = places[things[0]]
        return [distance(a, ball) if i % 2 else 0.0 for i, a in enumerate(agents)]
    if config.task == "stack":
        return _stack_togo(state, places, config)
    edge = max(0.0, config.zone - 0.1)
    ways = {i: max(0.0, distance(places[i], state.zone) - edge) for i in things}
    left = [i for i in things if ways[i] > 0.0]
    way = 0.0
    for thing in things:  # not `sum`, which rounds otherwise from Python 3.12 on
        way += ways[thing]
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
            others = [i for i in boxes if i != hold.object]
            found.append(min(distance(places[hold.object], places[i]) for i in others))
    return found


def caught(state: PlayState, touches: Sequence[Touch], config: PhysicsPlaygroundConfig) -> bool:
    """Tell whether a chaser touches the ball."""
    if config.task != "keep_away":
        return False
    balls = set(wanted(state, config))
    return any(i % 2 == 1 and balls & set(touch.objects) for i, touch in enumerate(touches))


def graspable(
    state: PlayState, reading: BodyReadings, agent: int, config: PhysicsPlaygroundConfig
) -> int | None:
    """Return the object that an agent would grip now: the nearest in front."""
    if not config.can_grip or state.holds[agent] is not None:
        return None
    pose = pose_of(reading.raw[len(state.objects) + agent])
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


# -- rows ---------------------------------------------------------------------------------


def degrees(turn: float) -> int:
    """Return whole degrees from -179 to 180 of an angle from -pi to pi."""
    found = round(turn * DEGREES)
    return 180 if found == -180 else found


def polar(
    pose: Pose, place: Sequence[float], velocity: Sequence[float] | None
) -> tuple[int, int, int]:
    """Return distance, bearing and drift of something, as an agent sees it."""
    dx, dy = place[0] - pose.position[0], place[1] - pose.position[1]
    c, s = pose.ahead
    away = math.sqrt(dx * dx + dy * dy)
    bearing = degrees(math.atan2(dy * c - dx * s, dx * c + dy * s))
    if velocity is None:
        return round(100.0 * away), bearing, 0
    vx, vy = velocity[0] - pose.velocity[0], velocity[1] - pose.velocity[1]
    drift = round(100.0 * (dx * vx + dy * vy) / max(away, 1e-6))
    return round(100.0 * away), bearing, drift


def row_of_agent(
    agent: int,
    state: PlayState,
    reading: BodyReadings,
    config: PhysicsPlaygroundConfig,
    form: Layout,
    touch: Touch,
    shares: Sequence[float],
) -> list[int]:
    """Return one agent's facts as whole numbers."""
    kinds = [KINDS.index(body.shape) + 1 for body in state.objects]
    count = len(kinds)
    pose = pose_of(reading.raw[count + agent])
    row = [0] * form.width
    for slot in range(form.sizes.agents):
        row[form.others + 5 * slot] = 2 if slot == agent else 0
    (x, y, z), (c, s), (vx, vy, _) = pose.position, pose.ahead, pose.velocity
    row[0:4] = round(100.0 * x), round(100.0 * y), round(100.0 * z), degrees(math.atan2(s, c))
    row[4], row[5] = round(100.0 * (vx * c + vy * s)), round(100.0 * (vy * c - vx * s))
    row[6] = min(LIMIT, max(-LIMIT, round(pose.spin[2] * DEGREES)))
    hold = state.holds[agent]
    if hold is not None:
        row[7:9] = hold.object + 1, kinds[hold.object]
    goal = state.targets[agent] if state.targets else state.zone
    if goal:
        away, bearing, _ = polar(pose, (*goal, 0.0), None)
        row[9:12] = 1, away, bearing
    wants = {"reach": 0, "keep_away": 0, "stack": config.tower}
    row[12:14] = state.placed, wants.get(config.task, len(wanted(state, config)))
    _write_objects(row, pose, state, reading, config, form, kinds)
    _write_others(row, agent, pose, state, reading, form)
    span = config.range - HULL
    lidar = [round(100.0 * (HULL + share * span)) for share in shares]
    row[form.lidar : form.lidar + len(lidar)] = lidar
    row[form.touch : form.touch + 2] = int(touch.wall), int(touch.ramp)
    for number in touch.objects:
        row[form.touch + 2 + number] = kinds[number]
    for other in touch.agents:
        row[form.touch + 2 + form.sizes.objects + other] = 1
    return row


def _write_objects(
    row: list[int],
    pose: Pose,
    state: PlayState,
    reading: BodyReadings,
    config: PhysicsPlaygroundConfig,
    form: Layout,
    kinds: Sequence[int],
) -> None:
    """Write the nearest objects."""
    x, y, _ = pose.position
    ways = []
    for number in range(len(kinds)):
        px, py, _ = reading.raw[number][0]
        ways.append(((px - x) * (px - x) + (py - y) * (py - y), number))
    shown = min(config.nearest, form.sizes.nearest, len(kinds))
    zone = inside(state, reading, config)
    held = {hold.object for hold in state.holds if hold is not None}
    start = form.objects
    for _, number in sorted(ways)[:shown]:
        where, _, velocity, _ = reading.raw[number]
        away, bearing, drift = polar(pose, where, velocity)
        place = 2 * zone[number] + (number in held)
        seen = (number + 1, kinds[number], away, bearing, round(100.0 * where[2]), drift, place)
        row[start : start + 7] = seen
        start += 7


def _write_others(
    row: list[int], agent: int, pose: Pose, state: PlayState, reading: BodyReadings, form: Layout
) -> None:
    """Write the other agents that are in play."""
    for other in range(len(state.agents)):
        if other != agent and state.status[other] == "playing":
            where, _, velocity, _ = reading.raw[len(state.objects) + other]
            away, bearing, drift = polar(pose, where, velocity)
            start = form.others + 5 * other
            row[start : start + 5] = 1, away, bearing, round(100.0 * where[2]), drift


def mask_of(state: PlayState, reading: BodyReadings, agent: int, config: Any) -> list[int]:
    """Return which primitives an agent may use now."""
    if agent >= len(state.agents) or state.status[agent] != "playing":
        return [0] * 8
    grip = graspable(state, reading, agent, config) is not None
    return [1] * 6 + [int(grip), int(state.holds[agent] is not None)]


def vector_of(row: Sequence[int], form: Layout) -> NDArray[np.float32]:
    """Return the vector of a row: hundredths and codes, then sines, then cosines of bearings."""
    bearings = {3, 11}
    hundredths = {0, 1, 2, 4, 5, 6, 10}
    for slot in range(form.sizes.nearest):
        start = form.objects + 7 * slot
        bearings.add(start + 3)
        hundredths |= {start + 2, start + 4, start + 5}
    for slot in range(form.sizes.agents):
        start = form.others + 5 * slot
        bearings.add(start + 2)
        hundredths |= {start + 1, start + 3, start + 4}
    hundredths |= set(range(form.lidar, form.touch))
    small = float(np.float32(0.01))
    plain = [v * small if i in hundredths else v for i, v in enumerate(row) if i not in bearings]
    turns = [math.radians(v % 360) for i, v in enumerate(row) if i in bearings]
    numbers = [*plain, *map(math.sin, turns), *map(math.cos, turns)]
    found = np.zeros(form.length, np.float32)
    found[: len(numbers)] = numbers
    return found
