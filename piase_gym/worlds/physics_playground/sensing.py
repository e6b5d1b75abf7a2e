"""From what Bullet tells to rows of whole numbers: what each agent perceives, all at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.physics_playground.bullet import Rays, Reading
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.control import Pose
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


def polar_of(reading: Reading, first: int, ahead: Floats, goal: Floats) -> NDArray[np.int64]:
    """Return where everything is, as the agents see it that begin at row `first`.

    Args:
        reading: Where all bodies are.
        first: Row of the first agent.
        ahead: Unit vector of each agent's heading, shape (agents, 2).
        goal: A goal for each agent, one for all, or an empty array.

    Returns:
        Whole numbers of shape (3, agents, bodies + 1): distance in centimetres, bearing in
        degrees, and by how many centimetres a second the distance grows. The last column is the
        goal's.
    """
    agents = len(ahead)
    here, motion = reading.table[first:, 0:2], reading.table[first:, 7:9]
    offset = np.empty((2, agents, len(reading.table) + 1))
    speed = np.empty_like(offset)
    offset[:, :, :-1] = reading.table[:, 0:2].T[:, None, :]
    offset[:, :, -1] = goal.T if goal.size else here.T
    speed[:, :, :-1] = reading.table[:, 7:9].T[:, None, :]
    speed[:, :, -1] = 0.0
    offset -= here.T[:, :, None]
    speed -= motion.T[:, :, None]
    dx, dy = offset
    distance = np.sqrt(dx * dx + dy * dy)
    c, s = ahead[:, :1], ahead[:, 1:]
    found = np.empty((3, *dx.shape))
    found[0] = 100.0 * distance
    found[1] = np.degrees(np.arctan2(dy * c - dx * s, dx * c + dy * s))
    found[2] = 100.0 * (dx * speed[0] + dy * speed[1]) / np.maximum(distance, 1e-6)
    told = np.rint(found).astype(np.int64)
    told[1][told[1] == -180] = 180
    return told


def whole(values: Floats) -> Floats:
    """Return hundredths, rounded."""
    rounded: Floats = np.rint(100.0 * values)
    return rounded


def degrees(values: Floats) -> Floats:
    """Return whole degrees from -179 to 180."""
    found = np.rint(values)
    return np.where(found == -180.0, 180.0, found)


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
        self.kinds = np.array([KINDS.index(o.shape) + 1 for o in state.objects], np.int64)
        self.count, self.agents = len(state.objects), len(state.agents)
        self.shown = min(config.nearest, form.sizes.nearest, self.count)
        self.seats = np.arange(self.agents)[:, None]
        self.goal = np.array(state.targets or ([state.zone] if state.zone else []))
        self.blank = self._blank(total)

    def _blank(self, total: int) -> NDArray[np.int64]:
        """Return rows with everything that never changes in an episode."""
        form = self.form
        rows = np.zeros((form.sizes.agents, form.width), np.int64)
        rows[:, 9] = bool(self.goal.size)
        rows[:, 13] = total
        for slot, row in enumerate(rows):
            row[form.others + MET * slot] = 2
            row[form.lidar : form.lidar + self.config.rays] = form.range
        return rows

    def rows(self, arena: Moment) -> NDArray[np.int64]:
        """Return the rows of all slots, shape (slots, width)."""
        form, state, reading = self.form, self.state, arena.reading
        rows = self.blank.copy()
        live = rows[: self.agents]
        live[:, 12] = state.placed
        ahead = np.array([pose.ahead for pose in arena.poses])
        polar = polar_of(reading, self.count, ahead, self.goal)
        height = whole(reading.position[:, 2]).astype(np.int64)
        self._own(live, reading, ahead)
        bodies = self.count + self.agents
        if self.goal.size:
            live[:, 10:12] = polar[:2, :, bodies].T
        if self.shown:
            self._objects(live, polar, height, arena.inside)
        if self.agents > 1:
            self._others(live, polar, height)
        lidar = arena.lidar()
        for agent, touch in enumerate(arena.touches):
            row = live[agent]
            row[form.lidar : form.lidar + len(lidar[agent])] = lidar[agent]
            self._touch(row, touch)
            hold = state.holds[agent]
            if hold is not None:
                row[7], row[8] = hold.object + 1, self.kinds[hold.object]
        return rows

    def _own(self, live: NDArray[np.int64], reading: Reading, ahead: Floats) -> None:
        """Write own pose and motion."""
        own = reading.table[self.count :]
        c, s = ahead[:, 0], ahead[:, 1]
        vx, vy = own[:, 7], own[:, 8]
        live[:, 0:3] = whole(own[:, 0:3])
        live[:, 3] = degrees(np.degrees(np.arctan2(s, c)))
        live[:, 4] = whole(vx * c + vy * s)
        live[:, 5] = whole(vy * c - vx * s)
        turning = np.rint(np.degrees(own[:, 12]))
        live[:, 6] = np.minimum(LIMIT, np.maximum(-LIMIT, turning))

    def _objects(
        self,
        live: NDArray[np.int64],
        polar: NDArray[np.int64],
        height: NDArray[np.int64],
        inside: Sequence[bool],
    ) -> None:
        """Write the nearest objects; of those that are equally near, the first."""
        order = np.argsort(polar[0, :, : self.count], axis=1, kind="stable")[:, : self.shown]
        place = np.array(inside, np.int64) * 2
        for hold in self.state.holds:
            if hold is not None:
                place[hold.object] |= 1
        seen = np.empty((self.agents, self.shown, SEEN), np.int64)
        seen[:, :, 0] = order + 1
        seen[:, :, 1] = self.kinds[order]
        seen[:, :, 2:4] = polar[:2, self.seats, order].transpose(1, 2, 0)
        seen[:, :, 4] = height[order]
        seen[:, :, 5] = polar[2, self.seats, order]
        seen[:, :, 6] = place[order]
        live[:, OWN : OWN + SEEN * self.shown] = seen.reshape(self.agents, -1)

    def _others(
        self, live: NDArray[np.int64], polar: NDArray[np.int64], height: NDArray[np.int64]
    ) -> None:
        """Write the other agents that are in play; the viewer's own slot holds a 2."""
        form, status = self.form, self.state.status
        met = np.empty((self.agents, self.agents, MET), np.int64)
        met[:, :, 0] = 1
        met[:, :, 1:3] = polar[:2, :, self.count : self.count + self.agents].transpose(1, 2, 0)
        met[:, :, 3] = height[self.count :]
        met[:, :, 4] = polar[2, :, self.count : self.count + self.agents]
        for other in range(self.agents):
            if status[other] != "playing":
                met[:, other] = 0
            met[other, other] = (2, 0, 0, 0, 0)
        live[:, form.others : form.others + MET * self.agents] = met.reshape(self.agents, -1)

    def _touch(self, row: NDArray[np.int64], touch: Touch) -> None:
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
