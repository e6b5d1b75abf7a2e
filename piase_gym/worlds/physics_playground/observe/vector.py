"""From rows of whole numbers to vectors."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import kernel

LENGTH, CODE, ANGLE = range(3)
"""What a column of a row holds: hundredths, a number to be taken as it is, or degrees."""
HUNDREDTH = float(np.float32(0.01))


@kernel
def encode(rows, kinds, circle, vectors):
    """Write the vectors of rows: lengths and codes, then the sines, then the cosines of bearings.

    Args:
        rows: int64, shape (agents, width).
        kinds: What each column holds, shape (width,).
        circle: float32, the sine and the cosine of whole degrees, shape (2, 360).
        vectors: float32, shape (agents, at least width + bearings).
    """
    width = kinds.shape[0]
    angles = 0
    for column in range(width):
        if kinds[column] == ANGLE:
            angles += 1
    for a in range(rows.shape[0]):
        place, turn = 0, width - angles
        for column in range(width):
            value = rows[a, column]
            if kinds[column] == ANGLE:
                vectors[a, turn] = circle[0, value % 360]
                vectors[a, turn + angles] = circle[1, value % 360]
                turn += 1
            else:
                vectors[a, place] = value * HUNDREDTH if kinds[column] == LENGTH else float(value)
                place += 1
