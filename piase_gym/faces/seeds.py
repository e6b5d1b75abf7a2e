"""Seeds as callers give them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from piase_gym.errors import ConfigError
from piase_gym.rng import MAX_SEED


def check_seed(seed: Any) -> int:
    """Return a seed as an int.

    Raises:
        ConfigError: If it is not an integer in ``0..2**63-1``.
    """
    try:
        value = operator.index(seed)
    except TypeError:
        value = -1
    if isinstance(seed, bool) or not 0 <= value <= MAX_SEED:
        raise ConfigError(f"seed {seed!r} is not allowed; seeds are integers from 0 to {MAX_SEED}")
    return value


def spread_seeds(seed: Any, num_envs: int) -> Sequence[int | None]:
    """Return one seed, or none, for every environment of a batch.

    Args:
        seed: ``None``, an integer (environment i gets ``seed + i``), or one for each.
        num_envs: How many environments.

    Raises:
        ConfigError: If a seed is not allowed, or there are too few or too many.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, list | tuple | np.ndarray):
        if len(seed) != num_envs:
            raise ConfigError(f"{len(seed)} seeds for {num_envs} environments")
        return [None if item is None else check_seed(item) for item in seed]
    first = check_seed(seed)
    check_seed(first + num_envs - 1)
    return [first + slot for slot in range(num_envs)]
