"""From what Bullet tells to rows of whole numbers: what each agent perceives, all at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.physics_playground.bullet import Rays, Reading
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.items import KINDS
from piase_gym.worlds.physics_playground.layouts import ROVER
from piase_gym.worlds.physics_playground.state import PlayState
from piase_gym.worlds.physics_playground.views import LIMIT, MET, OWN, SEEN, Layout

Floats = NDArray[np.float64]
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


@dataclass(frozen=True)
class Polar:
    """Where bodies are, as agents see them; arrays of shape (agents, bodies).

    Attributes:
        distance: Metres on the floor.
        bearing: Degrees from the heading to the left.
        drift: Metres a second by which the distance grows.
    """

    distance: Floats
    bearing: Floats
    drift: Floats


def polar_of(reading: Reading, first: int, ahead: Floats) -> Polar:
    """Return where every body is, seen from the agents, which begin at row `first`."""
    place, speed = reading.position[:, :2], reading.velocity[:, :2]
    offset = place[None, :, :] - place[first:, None, :]
    motion = speed[None, :, :] - speed[first:, None, :]
    dx, dy = offset[..., 0], offset[..., 1]
    distance = np.sqrt(dx * dx + dy * dy)
    drift = (dx * motion[..., 0] + dy * motion[..., 1]) / np.maximum(distance, 1e-6)
    c, s = ahead[:, :1], ahead[:, 1:]
    bearing = np.degrees(np.arctan2(dy * c - dx * s, dx * c + dy * s))
    return Polar(distance, bearing, drift)


def headings(reading: Reading, first: int) -> Floats:
    """Return the unit vector of each agent's heading on the floor, shape (agents, 2)."""
    x, y, z, w = reading.quaternion[first:].T
    ahead = np.stack((1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)), axis=1)
    size = np.sqrt((ahead * ahead).sum(axis=1, keepdims=True))
    return np.where(size > 1e-9, ahead / np.maximum(size, 1e-9), (1.0, 0.0))


def whole(values: Floats) -> NDArray[np.int64]:
    """Return hundredths as whole numbers, within the limits of a row."""
    return np.clip(np.rint(100.0 * values), -LIMIT, LIMIT).astype(np.int64)


def degrees(values: Floats) -> NDArray[np.int64]:
    """Return whole degrees from -179 to 180."""
    found = np.rint(values).astype(np.int64)
    return np.where(found <= -180, found + 360, found)


class Senses:
    """Writes the rows of one episode; what does not change in it is looked up once."""

    def __init__(self, state: PlayState, config: PhysicsPlaygroundConfig, form: Layout) -> None:
        """Look up numbers and kinds of the objects."""
        self.state, self.config, self.form = state, config, form
        self.kinds = np.array([KINDS.index(o.shape) + 1 for o in state.objects], np.int64)
        self.count, self.agents = len(state.objects), len(state.agents)
        self.shown = min(config.nearest, form.sizes.nearest, self.count)
        self.seats = np.arange(self.agents)
        self.columns = form.others + MET * self.seats

    def rows(
        self,
        reading: Reading,
        touches: Sequence[Touch],
        lidar: Sequence[list[int]],
        inside: Sequence[bool],
        total: int,
    ) -> NDArray[np.int64]:
        """Return the rows of all slots, shape (slots, width).

        Args:
            reading: What Bullet tells.
            touches: What each agent touches.
            lidar: Centimetres of each agent's rays.
            inside: Whether each object is in the zone.
            total: How many objects are to be placed.
        """
        form, state = self.form, self.state
        rows = np.zeros((form.sizes.agents, form.width), np.int64)
        live = rows[: self.agents]
        ahead = headings(reading, self.count)
        polar = polar_of(reading, self.count, ahead)
        distance, drift = whole(polar.distance), whole(polar.drift)
        bearing, height = degrees(polar.bearing), whole(reading.position[:, 2])
        self._own(live, reading, ahead, total)
        self._goals(live, reading, ahead)
        if self.shown:
            self._objects(live, polar.distance, (distance, bearing, drift), height, inside)
        self._others(live, (distance, bearing, drift), height)
        for agent, (touch, ray) in enumerate(zip(touches, lidar, strict=True)):
            row = live[agent]
            row[form.lidar : form.lidar + len(ray)] = ray
            self._touch(row, touch)
            hold = state.holds[agent]
            if hold is not None:
                row[7], row[8] = hold.object + 1, self.kinds[hold.object]
        for slot in range(self.agents, len(rows)):
            rows[slot, form.others + MET * slot] = 2
            rows[slot, form.lidar : form.lidar + self.config.rays] = form.range
        return rows

    def _own(self, live: NDArray[np.int64], reading: Reading, ahead: Floats, total: int) -> None:
        """Write own pose and motion, and what is placed."""
        first = self.count
        speed = reading.velocity[first:]
        live[:, 0:3] = whole(reading.position[first:])
        live[:, 3] = degrees(np.degrees(np.arctan2(ahead[:, 1], ahead[:, 0])))
        motion = np.stack(
            (
                speed[:, 0] * ahead[:, 0] + speed[:, 1] * ahead[:, 1],
                speed[:, 1] * ahead[:, 0] - speed[:, 0] * ahead[:, 1],
                np.degrees(reading.spin[first:, 2]) / 100.0,
            ),
            axis=1,
        )
        live[:, 4:7] = whole(motion)
        live[:, 12], live[:, 13] = self.state.placed, total

    def _goals(self, live: NDArray[np.int64], reading: Reading, ahead: Floats) -> None:
        """Write where the target or the zone is."""
        state = self.state
        if not state.targets and not state.zone:
            return
        goal = np.array(state.targets or [state.zone])
        offset = goal - reading.position[self.count :, :2]
        dx, dy, c, s = offset[:, 0], offset[:, 1], ahead[:, 0], ahead[:, 1]
        live[:, 9] = 1
        live[:, 10] = whole(np.sqrt(dx * dx + dy * dy))
        live[:, 11] = degrees(np.degrees(np.arctan2(dy * c - dx * s, dx * c + dy * s)))

    def _objects(
        self,
        live: NDArray[np.int64],
        exact: Floats,
        polar: tuple[NDArray[np.int64], ...],
        height: NDArray[np.int64],
        inside: Sequence[bool],
    ) -> None:
        """Write the nearest objects."""
        order = np.argsort(exact[:, : self.count], axis=1, kind="stable")[:, : self.shown]
        held = {hold.object for hold in self.state.holds if hold is not None}
        place = np.array([(i in held) + 2 * zone for i, zone in enumerate(inside)], np.int64)
        seats = self.seats[:, None]
        seen = live[:, OWN : OWN + SEEN * self.shown].reshape(self.agents, self.shown, SEEN)
        parts: tuple[NDArray[Any], ...]
        parts = (order + 1, self.kinds[order], polar[0][seats, order], polar[1][seats, order])
        parts = (*parts, height[order], polar[2][seats, order], place[order])
        for column, part in enumerate(parts):
            seen[:, :, column] = part
        live[:, OWN : OWN + SEEN * self.shown] = seen.reshape(self.agents, -1)

    def _others(
        self,
        live: NDArray[np.int64],
        polar: tuple[NDArray[np.int64], ...],
        height: NDArray[np.int64],
    ) -> None:
        """Write the other agents that are in play; the viewer's own slot holds a 2."""
        status = self.state.status
        for other in range(self.agents):
            if status[other] == "playing" and self.agents > 1:
                start, body = self.columns[other], self.count + other
                live[:, start] = 1
                live[:, start + 1] = polar[0][:, body]
                live[:, start + 2] = polar[1][:, body]
                live[:, start + 3] = height[body]
                live[:, start + 4] = polar[2][:, body]
        for seat, start in enumerate(self.columns.tolist()):
            live[seat, start : start + MET] = (2, 0, 0, 0, 0)

    def _touch(self, row: NDArray[np.int64], touch: Touch) -> None:
        """Write what is touched."""
        start = self.form.touch
        row[start], row[start + 1] = touch.wall, touch.ramp
        for number in touch.objects:
            row[start + 2 + number] = self.kinds[number]
        for agent in touch.agents:
            row[start + 2 + self.form.sizes.objects + agent] = 1
