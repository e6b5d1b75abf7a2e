"""Random draws that depend on a seat's seed and the step alone, alike in one world and in many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from piase_gym.rng import GOLDEN, mix64


def draw_at(seed: int, step: int) -> int:
    """Return 32 random bits for a step."""
    return mix64(seed + (step + 1) * GOLDEN) >> 32


def draws_at(seeds: NDArray[np.uint64], steps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return what `draw_at` returns, for many seats at once."""
    counters = steps.astype(np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        return _mix64(seeds + counters * np.uint64(GOLDEN)) >> np.uint64(32)


def _mix64(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Do what `piase_gym.rng.mix64` does, for arrays."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
