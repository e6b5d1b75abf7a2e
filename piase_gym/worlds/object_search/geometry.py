"""What can be seen from each pose: sets of columns, computed once and for all.

A set is a word with a bit for each of the 7 by 7 columns of a window, row by row from the farthest;
the viewer is in the middle of the nearest row and looks towards the first. Columns have cells on
three levels. What an agent sees follows from these sets and the heights of the columns. It sees a
target if

* the target is in the field of view, a pyramid that pitch and roll turn with the head (`IN_VIEW`);
* nothing on the straight line to it is higher than the line is there (`BLOCKING`); in each row
  between the two, the column nearest to the line counts, and of two equally near the inner one.

The target in a column is the cell on top of what fills it, where an object lies. Independently of
the head, agents know what fills a column if the line to it on their own level is clear: their range
finder covers a quarter turn, 45 degrees to each side (`AHEAD_OF`, `BETWEEN`).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.object_search.codes import LEVELS, PITCHES, ROLLS

SIDE: Final = 7
AREA: Final = SIDE * SIDE
MIDDLE: Final = SIDE // 2
OWN: Final = AREA - 1 - MIDDLE
"""The bit of the viewer's own column."""
ACROSS: Final = 1.05
"""Half the width of the field of view, at a distance of one."""
UPRIGHT: Final = 0.62
"""Half its height."""
HALF: Final = 0.22
"""Half the size of an object in pictures, in cells."""
PITCH: Final = 60.0
"""Degrees by which looking up or down turns the head."""
ROLL: Final = 45.0
"""Degrees by which tilting turns the head."""

AHEAD: Final = SIDE - 1 - np.arange(AREA) // SIDE
"""How far ahead a column of the window lies."""
ASIDE: Final = np.arange(AREA) % SIDE - MIDDLE
"""How far to the right a column of the window lies."""


def camera_axes(pitch: int, roll: int) -> NDArray[np.float64]:
    """Return the axes of a head (ahead, right, up) as rows, in terms of those of its body."""
    up, right = math.radians(PITCH * (pitch - 1)), math.radians(ROLL * (roll - 1))
    level = np.array([0.0, 1.0, 0.0])
    above = np.array([-math.sin(up), 0.0, math.cos(up)])
    return np.array(
        [
            [math.cos(up), 0.0, math.sin(up)],
            math.cos(right) * level - math.sin(right) * above,
            math.cos(right) * above + math.sin(right) * level,
        ]
    )


def _in_view(ahead: int, aside: int, rise: int, axes: NDArray[np.float64]) -> bool:
    """Return whether a cell lies in the field of view."""
    if not (ahead or aside or rise):
        return True
    depth, right, up = axes @ (ahead, aside, rise)
    spare = min(ACROSS * depth - abs(right), UPRIGHT * depth - abs(up))
    assert abs(spare) > 1e-3, "a cell lies on the edge of the field of view"
    return bool(spare > 0)


def _line(column: int) -> list[int]:
    """Return the columns between the viewer and another column, the nearest first."""
    ahead, aside = int(AHEAD[column]), int(ASIDE[column])
    steps = max(ahead, abs(aside))
    found = []
    for step in range(1, steps):
        right = (2 * abs(aside) * step + steps - 1) // (2 * steps)  # a half goes to the inner one
        row = (2 * ahead * step + steps - 1) // (2 * steps)
        found.append((SIDE - 1 - row) * SIDE + MIDDLE + (right if aside > 0 else -right))
    return found


def _word(columns: list[int]) -> int:
    """Return a set of columns as a word."""
    return sum(1 << column for column in columns)


def _views() -> NDArray[np.uint64]:
    """Return `IN_VIEW`."""
    found = np.zeros((len(PITCHES), len(ROLLS), LEVELS, LEVELS), np.uint64)
    for pitch, roll, eye, level in np.ndindex(found.shape):
        axes = camera_axes(pitch, roll)
        seen = [t for t in _WEDGE if _in_view(int(AHEAD[t]), int(ASIDE[t]), level - eye, axes)]
        found[pitch, roll, eye, level] = _word(seen)
    return found


def _blocking() -> NDArray[np.uint64]:
    """Return `BLOCKING`."""
    found = np.zeros((LEVELS, LEVELS, LEVELS, len(_WEDGE)), np.uint64)
    for eye, level, height, target in np.ndindex(found.shape):
        line = _line(_WEDGE[target])
        rise = 2 * (level - eye) / (len(line) + 1)
        above = [
            between
            for step, between in enumerate(line, 1)
            if 2 * (height + 1) > 2 * eye + 1 + rise * step + 1e-9
        ]
        found[eye, level, height, target] = _word(above)
    return found


_WEDGE: Final = [t for t in range(AREA) if abs(ASIDE[t]) <= AHEAD[t]]
WEDGE: Final = np.array(_WEDGE)
"""The columns of a quarter turn, the farthest first."""
AHEAD_OF: Final = np.array(
    [_word([t for t in _WEDGE if AHEAD[t] <= sight]) for sight in range(SIDE)], np.uint64
)
"""By how far an agent sees: the columns of `WEDGE` up to there, as a set."""
EACH: Final = np.array([1 << t for t in _WEDGE], np.uint64)
"""The columns of `WEDGE`, each as a set."""
BETWEEN: Final = np.array([_word(_line(t)) for t in _WEDGE], np.uint64)
"""The columns on the line to each column of `WEDGE`, as sets."""
IN_VIEW: Final = _views()
"""``[pitch, roll, eye level, target level]``: columns with their cell on the target level in the
field of view."""
BLOCKING: Final = _blocking()
"""``[eye level, target level, height - 1, target]``, targets as in `WEDGE`: columns that hide the
target if they are that high."""
