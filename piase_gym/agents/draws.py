"""Random draws that depend on a seat's seed and the step alone, alike in one world and in many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.errors import SnapshotError
from piase_gym.rng import GOLDEN, mix64, mix64_array


def read_seed(state: Mapping[str, Any], name: str = "seed", most: int = 2**64 - 1) -> int:
    """Return a number of an agent's state that was saved.

    Raises:
        SnapshotError: If it is missing, or no integer from 0 to `most`.
    """
    value = state.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise SnapshotError(f"{name!r} is {value!r:.60}, not an integer from 0 to {most}")
    return value


def draw_at(seed: int, step: int) -> int:
    """Return 32 random bits for a step."""
    return mix64(seed + (step + 1) * GOLDEN) >> 32


def draws_at(seeds: NDArray[np.uint64], steps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return what `draw_at` returns, for many seats at once."""
    counters = steps.astype(np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        return mix64_array(seeds + counters * np.uint64(GOLDEN)) >> np.uint64(32)
