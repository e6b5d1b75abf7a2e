"""From what Bullet tells to rows of whole numbers: what each agent perceives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.physics_playground.bullet import Rays, Reading
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.control import Pose
from piase_gym.worlds.physics_playground.items import KINDS
from piase_gym.worlds.physics_playground.layouts import ROVER
from piase_gym.worlds.physics_playground.state import PlayState
from piase_gym.worlds.physics_playground.views import LIMIT, MET, SEEN, Layout

HULL = math.hypot(ROVER[0], ROVER[1]) + 0.005
"""Where lidar rays start, in metres from the centre: just outside any agent."""


@dataclass(frozen=True)
class Touch:
    """What one agent touches.

    Attributes:
        wall: Whether it touches a wall.
        ramp: Whether it touches a ramp.
        objects: Numbers of the objects.
        agents: Numbers of the agents.
        grounded: Whether something carries it.
    """

    wall: bool
    ramp: bool
    objects: tuple[int, ...]
    agents: tuple[int, ...]
    grounded: bool


def rays_of(config: PhysicsPlaygroundConfig) -> tuple[Rays, Rays]:
    """Return where the lidar rays of an agent begin and end, in its own frame."""
    turns = [2.0 * math.pi * i / config.rays for i in range(config.rays)]
    circle = [(math.cos(turn), math.sin(turn)) for turn in turns]
    starts = [[HULL * x, HULL * y, 0.0] for x, y in circle]
    return starts, [[config.range * x, config.range * y, 0.0] for x, y in circle]


def ranges(shares: Sequence[float], config: PhysicsPlaygroundConfig) -> list[int]:
    """Return lidar ranges in centimetres from the share of each ray that is free."""
    span = config.range - HULL
    return [round(100.0 * (HULL + share * span)) for share in shares]


Polar = tuple[int, int, int]
"""Distance in centimetres, bearing in degrees, and centimetres a second of drift."""
DEGREES = 180.0 / math.pi


def degrees(turn: float) -> int:
    """Return whole degrees from -179 to 180 of an angle from -pi to pi."""
    found = round(turn * DEGREES)
    return 180 if found == -180 else found


class Moment(Protocol):
    """What senses look at: the arena at one moment."""

    reading: Reading
    touches: list[Touch]
    poses: list[Pose]
    inside: list[bool]

    def lidar(self) -> list[list[int]]:
        """Return the ranges of every agent's rays, in centimetres."""


class Senses:
    """Writes the rows of one episode; what does not change in it is looked up once."""

    def __init__(
        self, state: PlayState, config: PhysicsPlaygroundConfig, form: Layout, total: int
    ) -> None:
        """Look up numbers and kinds of the objects, and what is the same in every row."""
        self.state, self.config, self.form = state, config, form
        self.kinds = [KINDS.index(body.shape) + 1 for body in state.objects]
        self.count, self.agents = len(state.objects), len(state.agents)
        self.shown = min(config.nearest, form.sizes.nearest, self.count)
        self.goals = state.targets or [state.zone] * self.agents if self._aims() else []
        self.blank: list[list[int]] = self._blank(total).tolist()

    def _aims(self) -> bool:
        """Tell whether the task has targets or a zone."""
        return bool(self.state.targets or self.state.zone)

    def _blank(self, total: int) -> NDArray[np.int64]:
        """Return rows with everything that never changes in an episode."""
        form = self.form
        rows = np.zeros((form.sizes.agents, form.width), np.int64)
        rows[:, 9] = self._aims()
        rows[:, 13] = total
        for slot, row in enumerate(rows):
            row[form.others + MET * slot] = 2
            row[form.lidar : form.lidar + self.config.rays] = form.range
        return rows

    def rows(self, arena: Moment) -> NDArray[np.int64]:
        """Return the rows of all slots, shape (slots, width).

        Plain numbers, not arrays: there are few agents, and a dozen calls of NumPy cost more.
        """
        rows = [row.copy() for row in self.blank]
        raw, lidar = arena.reading.raw, arena.lidar()
        place = [2 * there for there in arena.inside]
        for hold in self.state.holds:
            if hold is not None:
                place[hold.object] |= 1
        start = self.form.lidar
        for agent in range(self.agents):
            row, pose = rows[agent], arena.poses[agent]
            self._own(row, pose)
            if self.goals:
                x, y = self.goals[agent]
                row[10], row[11], _ = self._polar(pose, (x, y, 0.0), None)
            if self.shown:
                self._objects(row, pose, raw, place)
            if self.agents > 1:
                self._others(row, agent, pose, raw)
            row[start : start + len(lidar[agent])] = lidar[agent]
            self._touch(row, arena.touches[agent])
            held = self.state.holds[agent]
            if held is not None:
                row[7], row[8] = held.object + 1, self.kinds[held.object]
        return np.array(rows, np.int64)

    def _own(self, row: list[int], pose: Pose) -> None:
        """Write own pose and motion, and what is placed."""
        (x, y, z), (c, s), (vx, vy, _) = pose.position, pose.ahead, pose.velocity
        row[0:3] = round(100.0 * x), round(100.0 * y), round(100.0 * z)
        row[3] = degrees(math.atan2(s, c))
        row[4], row[5] = round(100.0 * (vx * c + vy * s)), round(100.0 * (vy * c - vx * s))
        row[6] = min(LIMIT, max(-LIMIT, round(pose.spin[2] * DEGREES)))
        row[12] = self.state.placed

    def _polar(self, pose: Pose, place: Sequence[float], velocity: Sequence[float] | None) -> Polar:
        """Return where something is, as an agent sees it."""
        dx, dy = place[0] - pose.position[0], place[1] - pose.position[1]
        c, s = pose.ahead
        away = math.sqrt(dx * dx + dy * dy)
        bearing = degrees(math.atan2(dy * c - dx * s, dx * c + dy * s))
        if velocity is None:
            return round(100.0 * away), bearing, 0
        vx, vy = velocity[0] - pose.velocity[0], velocity[1] - pose.velocity[1]
        drift = round(100.0 * (dx * vx + dy * vy) / max(away, 1e-6))
        return round(100.0 * away), bearing, drift

    def _objects(
        self, row: list[int], pose: Pose, raw: Sequence[Any], place: Sequence[int]
    ) -> None:
        """Write the nearest objects."""
        x, y, _ = pose.position
        ways = []
        for number in range(self.count):
            px, py, _ = raw[number][0]
            ways.append(((px - x) * (px - x) + (py - y) * (py - y), number))
        start = self.form.objects
        for _, number in sorted(ways)[: self.shown]:
            where, _, velocity, _ = raw[number]
            away, bearing, drift = self._polar(pose, where, velocity)
            height = round(100.0 * where[2])
            kind = self.kinds[number]
            seen = (number + 1, kind, away, bearing, height, drift, place[number])
            row[start : start + SEEN] = seen
            start += SEEN

    def _others(self, row: list[int], agent: int, pose: Pose, raw: Sequence[Any]) -> None:
        """Write the other agents that are in play."""
        status = self.state.status
        for other in range(self.agents):
            if other != agent and status[other] == "playing":
                where, _, velocity, _ = raw[self.count + other]
                away, bearing, drift = self._polar(pose, where, velocity)
                start = self.form.others + MET * other
                row[start : start + MET] = 1, away, bearing, round(100.0 * where[2]), drift

    def _touch(self, row: list[int], touch: Touch) -> None:
        """Write what is touched."""
        start = self.form.touch
        if touch.wall:
            row[start] = 1
        if touch.ramp:
            row[start + 1] = 1
        for number in touch.objects:
            row[start + 2 + number] = self.kinds[number]
        for agent in touch.agents:
            row[start + 2 + self.form.sizes.objects + agent] = 1
