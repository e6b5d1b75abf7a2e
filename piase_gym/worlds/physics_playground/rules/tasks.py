"""The tasks: how far each is from its end, what is in its place, and what can be gripped.

`measure` computes all of it for all agents at once, from a scene into that same scene.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numpy as np

from piase_gym.compiled import helper, kernel
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.bodies import THRUST
from piase_gym.worlds.physics_playground.rules.gripping import held_by_anybody, reach_out
from piase_gym.worlds.physics_playground.rules.record import AT_OBJECT, KEEP_AWAY, REACH_TASK, STACK
from piase_gym.worlds.physics_playground.state import PlayState

ROLES = ("keeper", "chaser")
CHASER = 1
AT_REST = 0.25
"""An object counts as set down if it moves slower than this, in metres a second."""
TOO_FAST = 60.0
"""No place and no speed can be beyond this; if one is, the simulation has exploded."""
RIM = 0.1
"""An object is on its way until it is this many metres within the zone."""


def role(agent: int) -> str:
    """Return an agent's role in keep_away: keepers and chasers alternate."""
    return ROLES[agent % 2]


def wanted(state: PlayState, config: PhysicsPlaygroundConfig) -> list[int]:
    """Return the objects that the task is about, of those that are there."""
    if config.task == "reach":
        return []
    about = config.row.about
    return [i for i in state.there if about in (None, state.objects[i].shape)]


def total(state: PlayState, config: PhysicsPlaygroundConfig) -> int:
    """Return how many objects have to be placed."""
    if not config.row.places:
        return 0
    return config.tower if config.task == "stack" else len(wanted(state, config))


def too_heavy(state: PlayState, number: int, config: PhysicsPlaygroundConfig) -> bool:
    """Return whether an object can only be dragged: it weighs more than half an agent's thrust."""
    return state.objects[number].mass * max(state.gravity, 1.0) > 0.5 * THRUST[config.body]


# -- what is where ------------------------------------------------------------------------


@helper
def sound(s):
    """Return whether all numbers are possible: finite, and no place or speed beyond `TOO_FAST`."""
    for b in range(s.objects + s.agents):
        for i in range(13):
            value = s.table[b, i]
            if not math.isfinite(value):
                return False
            if (i < 3 or 7 <= i < 10) and not -TOO_FAST < value < TOO_FAST:
                return False
    return True


@helper
def face(s, a):
    """Compute the heading and the vertical of an agent from its quaternion."""
    b = s.objects + a
    x, y, z, w = s.table[b, 3], s.table[b, 4], s.table[b, 5], s.table[b, 6]
    along, across = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
    size = math.sqrt(along * along + across * across)
    s.ahead[a, 0] = along / size if size > 1e-9 else 1.0
    s.ahead[a, 1] = across / size if size > 1e-9 else 0.0
    s.up[a, 0], s.up[a, 1] = 2.0 * (x * z + w * y), 2.0 * (y * z - w * x)


@helper
def apart(s, one, other):
    """Return how far two bodies are from each other on the floor."""
    dx, dy = s.table[one, 0] - s.table[other, 0], s.table[one, 1] - s.table[other, 1]
    return math.sqrt(dx * dx + dy * dy)


@helper
def to_goal(s, body, agent):
    """Return how far a body is from an agent's target, or from the middle of the zone."""
    dx, dy = s.table[body, 0] - s.goal[agent, 0], s.table[body, 1] - s.goal[agent, 1]
    return math.sqrt(dx * dx + dy * dy)


@helper
def see_zone(s):
    """Find out which objects have their centre in the zone."""
    for i in range(s.objects):
        dx, dy = s.table[i, 0] - s.goal[0, 0], s.table[i, 1] - s.goal[0, 1]
        s.inside[i] = s.zone >= 0.0 and dx * dx + dy * dy <= s.zone * s.zone


# -- how many are in their place ----------------------------------------------------------


@helper
def rests(s, upper, lower):
    """Return whether a box rests on another."""
    both = s.half[upper, 2] + s.half[lower, 2]
    rise = s.table[upper, 2] - s.table[lower, 2]
    level = 0.75 * both < rise < 1.25 * both
    return level and apart(s, upper, lower) < 1.2 * s.half[lower, 2]


@helper
def slow(s, i):
    """Return whether an object is as good as at rest."""
    vx, vy, vz = s.table[i, 7], s.table[i, 8], s.table[i, 9]
    return vx * vx + vy * vy + vz * vz < AT_REST * AT_REST


@helper
def raise_counts(s):
    """Count on each box one more than on any that rests on it; return whether a count grew."""
    grown = False
    for lower in range(s.objects):
        for upper in range(s.objects):
            both = s.count[lower] > 0 and s.count[upper] > 0
            if both and s.count[lower] <= s.count[upper] and rests(s, upper, lower):
                s.count[lower] = s.count[upper] + 1
                grown = True
    return grown


@helper
def tower(s):
    """Return how many boxes stand on each other in the highest tower that nobody holds."""
    for i in range(s.objects):
        s.count[i] = s.wanted[i] and slow(s, i) and not held_by_anybody(s, i, False)
    while raise_counts(s):
        pass
    highest = 0
    for i in range(s.objects):
        if s.table[i, 2] < 1.3 * s.half[i, 2] and s.count[i] > highest:
            highest = s.count[i]
    return highest


@helper
def in_place(s):
    """Return how many objects are where the task wants them."""
    if s.task == STACK:
        return tower(s)
    count = 0
    for i in range(s.objects):
        if s.wanted[i] and s.inside[i] and not held_by_anybody(s, i, True):
            count += 1
    return count


# -- how far it is to the end -------------------------------------------------------------


@helper
def to_nearest(s, body):
    """Return the distance to the nearest other object that the task is about, or 0."""
    found = np.inf
    for i in range(s.objects):
        if s.wanted[i] and i != body:
            found = min(found, apart(s, body, i))
    return found if found < np.inf else 0.0


@helper
def zone_togo(s):
    """Write the way of all objects into the zone, plus half of an agent's way to the nearest."""
    edge, whole = max(0.0, s.zone - RIM), 0.0
    for i in range(s.objects):
        s.way[i] = max(0.0, to_goal(s, i, 0) - edge) if s.wanted[i] else 0.0
        whole += s.way[i]
    for a in range(s.agents):
        near = np.inf
        for i in range(s.objects):
            if s.way[i] > 0.0:
                near = min(near, apart(s, s.objects + a, i))
        busy = s.held[a] >= 0 or near == np.inf
        s.togo[a] = whole + 0.5 * (0.0 if busy else near)


@helper
def togo(s):
    """Write for each agent how many metres its task is from its end.

    In reach, this is the way to the target; in stack, the way from the held box to the next one, or
    1 m plus the agent's way to the nearest box; in push, gather and carry, the way of all objects
    into the zone, plus half of the agent's way to the nearest of them; in keep_away, a chaser's way
    to the ball.
    """
    for a in range(s.agents):
        body = s.objects + a
        if s.task == REACH_TASK:
            s.togo[a] = to_goal(s, body, a)
        elif s.task == KEEP_AWAY:
            s.togo[a] = apart(s, body, s.ball) if s.ball >= 0 and a % 2 == CHASER else 0.0
        elif s.task == STACK and s.held[a] < 0:
            s.togo[a] = 1.0 + to_nearest(s, body)
        elif s.task == STACK:
            s.togo[a] = to_nearest(s, s.held[a])
    if s.zone >= 0.0:
        zone_togo(s)


@helper
def is_caught(s):
    """Return whether a chaser touches the ball."""
    for a in range(CHASER, s.agents, 2):
        for i in range(s.objects):
            if s.wanted[i] and s.touch[a, AT_OBJECT + i]:
                return True
    return False


# -- what Python calls --------------------------------------------------------------------


@kernel
def measure(scene):
    """Compute everything that rewards and ends depend on, and what can be gripped now.

    Returns:
        False if the numbers in the table have become nonsense; then nothing was computed.
    """
    s = scene[0]
    if not sound(s):
        return False
    for a in range(s.agents):
        face(s, a)
    see_zone(s)
    togo(s)
    s.standing = in_place(s)
    s.caught = s.task == KEEP_AWAY and is_caught(s)
    reach_out(s)
    return True
