"""What each agent perceives: from what Bullet reports to rows of whole numbers and masks."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled import helper, kernel
from piase_gym.worlds.physics_playground.actions import GRIPS, PRIMITIVES, RELEASES
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.facts import LIMIT, MET, SEEN, Layout
from piase_gym.worlds.physics_playground.levels.bodies import HULL
from piase_gym.worlds.physics_playground.rules.record import AT_AGENT, AT_OBJECT, AT_WALL, ON_RAMP

Rays = list[list[float]]
DEGREES = 180.0 / math.pi


def rays_of(config: PhysicsPlaygroundConfig) -> tuple[Rays, Rays]:
    """Return where the lidar rays of an agent begin and end, in its own frame."""
    turns = [2.0 * math.pi * i / config.rays for i in range(config.rays)]
    circle = [(math.cos(turn), math.sin(turn)) for turn in turns]
    starts = [[HULL * x, HULL * y, 0.0] for x, y in circle]
    return starts, [[config.range * x, config.range * y, 0.0] for x, y in circle]


@helper
def hundredths(value):
    """Return metres as whole centimetres."""
    return round(100.0 * value)


@helper
def degrees(turn):
    """Return an angle from -pi to pi as whole degrees from -179 to 180."""
    found = round(turn * DEGREES)
    return 180 if found == -180 else found


@helper
def spot(s, a, x, y, row, p):
    """Write distance and bearing of a place as an agent sees it; return the way and its length."""
    b = s.objects + a
    dx, dy = x - s.table[b, 0], y - s.table[b, 1]
    cx, cy = s.ahead[a, 0], s.ahead[a, 1]
    away = math.sqrt(dx * dx + dy * dy)
    row[p] = hundredths(away)
    row[p + 1] = degrees(math.atan2(dy * cx - dx * cy, dx * cx + dy * cy))
    return dx, dy, away


@helper
def sight(s, a, body, row, p):
    """Write distance, bearing and height of a body, and how fast it moves away."""
    b = s.objects + a
    dx, dy, away = spot(s, a, s.table[body, 0], s.table[body, 1], row, p)
    vx, vy = s.table[body, 7] - s.table[b, 7], s.table[body, 8] - s.table[b, 8]
    row[p + 2] = hundredths(s.table[body, 2])
    row[p + 3] = round(100.0 * (dx * vx + dy * vy) / max(away, 1e-6))


@helper
def own(s, a, row):
    """Write own place and motion, what is held, where to go, and what is placed."""
    b = s.objects + a
    cx, cy, vx, vy = s.ahead[a, 0], s.ahead[a, 1], s.table[b, 7], s.table[b, 8]
    for i in range(3):
        row[i] = hundredths(s.table[b, i])
    row[3] = degrees(math.atan2(cy, cx))
    row[4], row[5] = hundredths(vx * cx + vy * cy), hundredths(vy * cx - vx * cy)
    row[6] = round(min(float(LIMIT), max(-float(LIMIT), s.table[b, 12] * DEGREES)))
    if s.held[a] >= 0:
        row[7], row[8] = s.held[a] + 1, s.kind[s.held[a]]
    if s.aims:
        spot(s, a, s.goal[a, 0], s.goal[a, 1], row, 10)
    row[12] = s.placed


@helper
def see_objects(s, a, row):
    """Write the nearest objects."""
    b = s.objects + a
    for i in range(s.objects):
        dx, dy = s.table[i, 0] - s.table[b, 0], s.table[i, 1] - s.table[b, 1]
        s.way[i] = dx * dx + dy * dy if s.kind[i] else np.inf
    for slot in range(s.shown):
        found = 0
        for i in range(1, s.objects):
            if s.way[i] < s.way[found]:
                found = i
        if s.way[found] == np.inf:  # there are no more
            break
        s.way[found] = np.inf
        p = s.objects_at + SEEN * slot
        row[p], row[p + 1] = found + 1, s.kind[found]
        sight(s, a, found, row, p + 2)
        row[p + 6] = 2 * s.inside[found]
        for other in range(s.agents):
            if s.held[other] == found:
                row[p + 6] = 2 * s.inside[found] + 1


@helper
def in_sight(s, a, other):
    """Return whether an agent is near enough to see another."""
    b, c = s.objects + a, s.objects + other
    dx, dy = s.table[c, 0] - s.table[b, 0], s.table[c, 1] - s.table[b, 1]
    return dx * dx + dy * dy <= s.sight * s.sight


@helper
def see_agents(s, a, row):
    """Write the other agents that are in play."""
    for other in range(s.agents):
        if other != a and s.playing[other] and in_sight(s, a, other):
            p = s.others_at + MET * other
            row[p] = 1
            sight(s, a, s.objects + other, row, p + 1)


@helper
def feel(s, a, row):
    """Write lidar ranges, and what is touched."""
    for i in range(s.rays):
        row[s.lidar_at + i] = hundredths(HULL + s.share[a, i] * s.ray_span)
    row[s.touch_at] = s.touch[a, AT_WALL]
    row[s.touch_at + 1] = s.touch[a, ON_RAMP]
    for i in range(s.objects):
        row[s.touch_at + 2 + i] = s.kind[i] if s.touch[a, AT_OBJECT + i] else 0
    for other in range(s.agents):
        row[s.agents_at + other] = s.touch[a, AT_AGENT + other]


@helper
def permit(s, a, mask):
    """Write which primitives an agent in play may use now."""
    for i in range(mask.shape[0]):
        mask[i] = 1
    mask[GRIPS], mask[RELEASES] = s.grasp[a] >= 0, s.held[a] >= 0


@kernel
def tell(scene, rows, masks):
    """Write the rows and masks of all agents.

    Args:
        scene: The scene, measured.
        rows: int64, shape (slots, width), with what never changes in an episode filled in.
        masks: int8, shape (slots, primitives), zeros.
    """
    s = scene[0]
    for a in range(s.agents):
        row = rows[a]
        own(s, a, row)
        see_objects(s, a, row)
        see_agents(s, a, row)
        feel(s, a, row)
        if s.playing[a]:
            permit(s, a, masks[a])


class SensorSet:
    """Writes the rows of one episode; what does not change in it is written once.

    Args:
        scene: The episode's scene; its fields about rows are filled in here.
        config: The episode's config.
        form: The layout of the rows.
    """

    def __init__(self, scene: NDArray[Any], config: PhysicsPlaygroundConfig, form: Layout) -> None:
        self.scene = scene
        one = scene[0]
        one["shown"] = min(config.nearest, form.sizes.nearest, one["objects"])
        one["rays"], one["ray_span"] = config.rays, config.range - HULL
        one["sight"] = 1e9 if config.sight is None else config.sight
        one["objects_at"], one["others_at"] = form.objects, form.others
        one["lidar_at"], one["touch_at"] = form.lidar, form.touch
        one["agents_at"] = form.touch + 2 + form.sizes.objects
        self._blank = np.zeros((form.sizes.agents, form.width), np.int64)
        self._blank[:, 9] = one["aims"]
        for slot, row in enumerate(self._blank):
            row[form.others + MET * slot] = 2
            row[form.lidar : form.lidar + config.rays] = form.range
        self._no_masks = np.zeros((form.sizes.agents, len(PRIMITIVES)), np.int8)

    def look(self, total: int) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return the rows of all slots, shape (slots, width), and their masks.

        Args:
            total: How many objects have to be placed.
        """
        rows, masks = self._blank.copy(), self._no_masks.copy()
        rows[:, 13] = total
        tell(self.scene, rows, masks)
        return rows, masks
