"""Draws legal commands for many seats at once."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled.decorators import kernel
from piase_gym.compiled.draws import GOLDEN, mix64

_1, _32 = np.uint64(1), np.uint64(32)


@kernel
def draw_legal(masks, seeds, steps, chosen):
    """Draw a legal command for each row of masks, as `RandomAgent.act` does for one.

    Args:
        masks: What is legal, shape (rows, commands).
        seeds: The seeds of the seats.
        steps: The steps of their episodes.
        chosen: The chosen indices are written here.
    """
    for row in range(len(masks)):
        legal = 0
        for k in range(masks.shape[1]):
            legal += masks[row, k] != 0
        draw = mix64(seeds[row] + (np.uint64(steps[row]) + _1) * GOLDEN) >> _32
        left = np.int64((draw * np.uint64(legal)) >> _32)
        for k in range(masks.shape[1]):
            if masks[row, k] != 0:
                if left == 0:
                    chosen[row] = k
                    break
                left -= 1
