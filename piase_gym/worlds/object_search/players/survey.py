"""Where to look next: searches over the poses of a house, on a map. Compiled.

A map has the height of every column (0 to 3, -1 where it is not known) and a weight, which says how
much seeing it is worth. Agents move, turn and look up and down over columns that are known.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import math

import numpy as np

from piase_gym.compiled import helper, kernel
from piase_gym.worlds.grids.windows import DX, DY
from piase_gym.worlds.object_search.codes import LEVEL, LEVELS, LOOK_LEFT, LOOK_UP, STAYING
from piase_gym.worlds.object_search.geometry import (
    ACROSS,
    AHEAD,
    AHEAD_OF,
    ASIDE,
    HALF,
    PITCH,
    UPRIGHT,
    WEDGE,
)
from piase_gym.worlds.object_search.rules.look import visible
from piase_gym.worlds.object_search.rules.step import (
    PITCHING,
    RISING,
    ROLLING,
    STEPS,
    TURN_OF,
    TURNING,
)

_1 = np.uint64(1)
PITCHED = 3
ACTIONS = LOOK_UP + 2
"""The number of actions for plans without tilting: all but tilting the head and staying."""


@helper
def shows(heights, x, y, z, heading, pitch, t, tx, ty):
    """Return whether a picture shows the middle of an object that lies in a column.

    That is more than seeing its cell: the object is smaller, and it is not seen past corners.
    """
    ahead, aside = AHEAD[t], ASIDE[t]
    rise = max(0, heights[ty, tx]) + HALF - z - 0.5
    lift = math.radians(PITCH * (pitch - LEVEL))
    depth = ahead * math.cos(lift) + rise * math.sin(lift)
    up = rise * math.cos(lift) - ahead * math.sin(lift)
    if depth <= 0.0 or abs(aside) > ACROSS * depth or abs(up) > UPRIGHT * depth:
        return False
    count = 4 * max(ahead, abs(aside))
    for i in range(1, count):
        px = math.floor(x + (tx - x) * i / count + 0.5)
        py = math.floor(y + (ty - y) * i / count + 0.5)
        other = px != tx or py != ty
        if other and heights[py, px] > z + 0.5 + rise * i / count:
            return False
    return True


@helper
def view(heights, x, y, z, heading, pitch, roll, sight, strict, seen):
    """Write the columns that are seen from a pose to `seen`, each as row * columns + column.

    If `strict`, only those for which `shows` is true.

    Returns:
        How many there are.
    """
    high, wide = heights.shape
    one, two, three = np.uint64(0), np.uint64(0), np.uint64(0)
    right = (heading + 1) & 3
    for t in WEDGE:
        px = x + AHEAD[t] * DX[heading] + ASIDE[t] * DX[right]
        py = y + AHEAD[t] * DY[heading] + ASIDE[t] * DY[right]
        inside = 0 <= px < wide and 0 <= py < high
        height, bit = heights[py, px] if inside else LEVELS, _1 << np.uint64(t)
        if height >= 1:
            one |= bit
            if height >= 2:
                two |= bit
                if height >= LEVELS:
                    three |= bit
    lit, count = visible(pitch, roll, z, one, two, three) & AHEAD_OF[sight], 0
    for t in WEDGE:
        if lit >> np.uint64(t) & _1:
            px = x + AHEAD[t] * DX[heading] + ASIDE[t] * DX[right]
            py = y + AHEAD[t] * DY[heading] + ASIDE[t] * DY[right]
            if strict and not shows(heights, x, y, z, heading, pitch, t, px, py):
                continue
            seen[count] = py * wide + px
            count += 1
    return count


@kernel
def seen_from(heights, pose, sight, strict, seen):
    """Do what `view` does, for a pose (x, y, level, heading, pitch)."""
    return view(heights, pose[0], pose[1], pose[2], pose[3], pose[4], LEVEL, sight, strict, seen)


@helper
def follow(heights, taken, x, y, z, heading, pitch, action):
    """Return the pose after an action, and whether it can be done."""
    if action < LOOK_LEFT:
        way = (heading + TURN_OF[action]) & 3
        x, y = x + STEPS[action] * DX[way], y + STEPS[action] * DY[way]
        z += RISING[action]
        high, wide = heights.shape
        free = 0 <= x < wide and 0 <= y < high and 0 <= z < LEVELS
        free = free and 0 <= heights[y, x] <= z and not taken[y, x, z]
        return x, y, z, heading, pitch, free
    heading, pitch = (heading + TURNING[action]) & 3, pitch + PITCHING[action]
    return x, y, z, heading, pitch, 0 <= pitch < PITCHED


@kernel
def next_look(heights, weights, taken, blind, pose, sight, strict, pitched, patience, target):
    """Return the first action on the way to the best place to look, and what that is worth.

    The best place has the greatest weight of the columns seen from it, divided by the steps to it
    plus `patience`.

    Args:
        heights: The map, int64, shape (rows, columns).
        weights: What columns are worth, float64, of the same shape.
        taken: Which cells others are in, shape (rows, columns, levels).
        blind: Which cells not to look from, of the shape of `taken`.
        pose: x, y, level, heading and pitch.
        sight: How far one sees, in columns.
        strict: See `view`.
        pitched: Whether to look up and down, too.
        patience: In steps; the greater it is, the less it matters how far the place is.
        target: The columns that will be seen there are written here (see `view`), then -1.
    """
    high, wide = heights.shape
    states = high * wide * LEVELS * 4 * PITCHED
    first = np.full(states, -1, np.int8)
    steps = np.zeros(states, np.int32)
    queue = np.zeros(states, np.int32)
    start = (((pose[1] * wide + pose[0]) * LEVELS + pose[2]) * 4 + pose[3]) * PITCHED + pose[4]
    queue[0], first[start] = start, STAYING
    head, tail, best, chosen, at = 0, 1, 0.0, STAYING, -1
    seen = np.zeros(len(WEDGE), np.int64)
    most = 0.0
    for row in range(high):
        for column in range(wide):
            most += weights[row, column]
    most = min(most, len(WEDGE) * weights.max())
    while head < tail:
        state = queue[head]
        head += 1
        if most / (steps[state] + patience) <= best:
            break
        rest, pitch = state // PITCHED, state % PITCHED
        rest, heading = rest // 4, rest % 4
        rest, z = rest // LEVELS, rest % LEVELS
        y, x = rest // wide, rest % wide
        if head > 1 and not blind[y, x, z]:
            worth = 0.0
            for i in range(view(heights, x, y, z, heading, pitch, LEVEL, sight, strict, seen)):
                worth += weights[seen[i] // wide, seen[i] % wide]
            worth /= steps[state] + patience
            if worth > best + 1e-12:
                best, chosen, at = worth, first[state], state
        for action in range(ACTIONS if pitched else LOOK_UP):
            x2, y2, z2, heading2, pitch2, can = follow(
                heights, taken, x, y, z, heading, pitch, action
            )
            if can:
                after = (((y2 * wide + x2) * LEVELS + z2) * 4 + heading2) * PITCHED + pitch2
                if first[after] < 0:
                    first[after] = action if head == 1 else first[state]
                    steps[after] = steps[state] + 1
                    queue[tail] = after
                    tail += 1
    count = 0
    if at >= 0:
        pitch, rest = at % PITCHED, at // PITCHED
        heading, rest = rest % 4, rest // 4
        z, rest = rest % LEVELS, rest // LEVELS
        count = view(
            heights, rest % wide, rest // wide, z, heading, pitch, LEVEL, sight, strict, seen
        )
    for i in range(len(WEDGE)):
        target[i] = seen[i] if i < count else -1
    return chosen, best


@kernel
def steps_to_see(heights, taken, pose, sight, strict, out):
    """Write the fewest steps to see each column without tilting the head, -1 if it cannot be seen.

    Args:
        heights: The map, see `next_look`.
        taken: Which cells others are in.
        pose: x, y, level, heading and pitch.
        sight: How far one sees, in columns.
        strict: See `view`.
        out: The steps are written here, shape (rows, columns).
    """
    high, wide = heights.shape
    states = high * wide * LEVELS * 4 * PITCHED
    steps = np.full(states, -1, np.int32)
    queue = np.zeros(states, np.int32)
    start = (((pose[1] * wide + pose[0]) * LEVELS + pose[2]) * 4 + pose[3]) * PITCHED + pose[4]
    queue[0], steps[start] = start, 0
    head, tail = 0, 1
    seen = np.zeros(len(WEDGE), np.int64)
    out[:] = -1
    while head < tail:
        state = queue[head]
        head += 1
        pitch, rest = state % PITCHED, state // PITCHED
        heading, rest = rest % 4, rest // 4
        z, rest = rest % LEVELS, rest // LEVELS
        y, x = rest // wide, rest % wide
        for i in range(view(heights, x, y, z, heading, pitch, LEVEL, sight, strict, seen)):
            if out[seen[i] // wide, seen[i] % wide] < 0:
                out[seen[i] // wide, seen[i] % wide] = steps[state]
        for action in range(ACTIONS):
            x2, y2, z2, heading2, pitch2, can = follow(
                heights, taken, x, y, z, heading, pitch, action
            )
            if can:
                after = (((y2 * wide + x2) * LEVELS + z2) * 4 + heading2) * PITCHED + pitch2
                if steps[after] < 0:
                    steps[after] = steps[state] + 1
                    queue[tail] = after
                    tail += 1


@kernel
def shortest(heights, things, taken, pose, sight, plan):
    """Write a shortest sequence of actions after which a lone agent has seen given columns.

    Args:
        heights: The map, see `next_look`.
        things: The columns to see, each as row * columns + column.
        taken: Which cells cannot be entered.
        pose: x, y, level, heading, pitch and roll.
        sight: How far it sees, in columns.
        plan: The actions are written here, then -1.

    Returns:
        How many actions there are, or -1 if it cannot be done.
    """
    high, wide = heights.shape
    everything, poses = 1 << len(things), high * wide * LEVELS * 4 * PITCHED * PITCHED
    came = np.full(poses * everything, -1, np.int32)
    did = np.zeros(poses * everything, np.int8)
    queue = np.zeros(poses * everything, np.int32)
    views = np.full(poses, -1, np.int32)
    seen = np.zeros(len(WEDGE), np.int64)
    place = ((pose[1] * wide + pose[0]) * LEVELS + pose[2]) * 4 + pose[3]
    first = ((place * PITCHED + pose[4]) * PITCHED + pose[5]) * everything
    queue[0], came[first] = first, first
    head, tail = 0, 1
    while head < tail:
        state = queue[head]
        head += 1
        if state % everything == everything - 1:
            count = 0
            while state != first:
                plan[count] = did[state]
                state = came[state]
                count += 1
            for i in range(count // 2):
                plan[i], plan[count - 1 - i] = plan[count - 1 - i], plan[i]
            plan[count:] = -1
            return count
        mask, rest = state % everything, state // everything
        roll, rest = rest % PITCHED, rest // PITCHED
        pitch, rest = rest % PITCHED, rest // PITCHED
        heading, rest = rest % 4, rest // 4
        z, rest = rest % LEVELS, rest // LEVELS
        y, x = rest // wide, rest % wide
        for action in range(STAYING):
            roll2 = roll + ROLLING[action]
            x2, y2, z2, heading2, pitch2, can = follow(
                heights, taken, x, y, z, heading, pitch, action
            )
            if not can or roll2 < 0 or roll2 >= PITCHED:
                continue
            at = ((((y2 * wide + x2) * LEVELS + z2) * 4 + heading2) * PITCHED + pitch2) * PITCHED
            at += roll2
            if views[at] < 0:
                views[at] = 0
                for i in range(
                    view(heights, x2, y2, z2, heading2, pitch2, roll2, sight, False, seen)
                ):
                    for k in range(len(things)):
                        if things[k] == seen[i]:
                            views[at] |= 1 << k
            after = at * everything + (mask | views[at])
            if came[after] < 0:
                came[after], did[after] = state, action
                queue[tail] = after
                tail += 1
    return -1
