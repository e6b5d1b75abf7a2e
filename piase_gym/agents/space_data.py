"""Spaces as data for model files, and how the symbols of an observation are numbered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from piase_gym.core.world import World
from piase_gym.errors import ConfigError, PolicyError

MAX_SYMBOLS = 1 << 18
"""Most embeddings in a table; vectors of bytes need far fewer."""


def symbol_starts(high: ArrayLike) -> NDArray[np.int64]:
    """Return where each place's symbols begin if all are numbered in sequence, and their number.

    Args:
        high: The largest value at each place; the smallest is 0.

    Raises:
        ConfigError: If there are so many symbols that the numbers must be quantities.
    """
    starts = np.append(0, (np.asarray(high).astype(np.int64) + 1).cumsum())
    if starts[-1] > MAX_SYMBOLS:
        raise ConfigError(
            f"observations with {starts[-1]:,} different values are no symbols; allowed: "
            f"up to {MAX_SYMBOLS:,}, as in vectors of bytes"
        )
    return starts


def write_space(space: spaces.Space[Any]) -> dict[str, Any]:
    """Return a Box or Discrete space as JSON-able data."""
    if isinstance(space, spaces.Discrete):
        return {"n": int(space.n)}
    assert isinstance(space, spaces.Box)
    bounds = {"low": space.low.tolist(), "high": space.high.tolist()}
    return {"dtype": str(space.dtype), "shape": list(space.shape), **bounds}


def read_space(data: Mapping[str, Any]) -> spaces.Space[Any]:
    """Return the space that `write_space` wrote."""
    if "n" in data:
        return spaces.Discrete(int(data["n"]))
    dtype = np.dtype(data["dtype"]).type
    low, high = np.array(data["low"], dtype), np.array(data["high"], dtype)
    return spaces.Box(low, high, tuple(data["shape"]), dtype)


def action_spaces(world: World[Any, Any]) -> list[spaces.Space[Any]]:
    """Return the action spaces that a world has, text aside."""
    found: list[spaces.Space[Any]] = []
    if world.capabilities.discrete:
        found.append(spaces.Discrete(world.num_actions))
    if world.capabilities.continuous:
        found.append(world.action_box)
    return found


def misfit(
    name: str, observations: spaces.Space[Any], actions: spaces.Space[Any], offered: str
) -> PolicyError:
    """Return the error for a policy that was trained for other spaces.

    Args:
        name: The policy's name.
        observations: The observation space that it was trained for.
        actions: The action space that it was trained for.
        offered: What it was given to play instead.
    """
    wanted = f"observations {observations} and actions {actions}"
    return PolicyError(f"{name} was trained for {wanted}, not for {offered}")
