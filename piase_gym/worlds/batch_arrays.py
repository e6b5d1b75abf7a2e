"""The arrays of a batch of environments, as kernels take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.kernels import readable


class Batch:
    """Many environments of one world: their records, the tables of their configs, the outputs.

    Attributes:
        states: One record an environment.
        tables: One table a config; each record says which one holds.
        obs: The vectors, shape (envs, agents, length).
        final_obs: The last observations of episodes, under reset in the same step.
        masks: int8, shape (envs, agents, actions).
        rewards: float64, shape (envs, agents); `terminated`, `truncated` (bool) and `events`
            (uint8) likewise.
        alive: Who is in play, bool, shape (envs, agents).
        outcomes: What became of commands in a step, indices of `OUTCOMES`, uint8, likewise.
    """

    def __init__(
        self,
        states: NDArray[Any],
        tables: NDArray[Any],
        shape: tuple[int, int, int, int],
        dtype: type[Any] = np.uint8,
    ) -> None:
        """Allocate outputs for `shape`: environments, agents, vector length, actions.

        Args:
            states: The records.
            tables: The tables.
            shape: See above.
            dtype: Of vectors.
        """
        envs, agents, length, actions = shape
        self.states, self.tables = states, tables
        self.static: Any = None  # what the kernels are compiled for, under `static_tables`
        self.static_tables: Any = None
        self.run: Any = None  # the machine code of the step for just these arrays
        self.obs = np.zeros((envs, agents, length), dtype)
        self.final_obs = np.zeros_like(self.obs)
        self.masks = np.zeros((envs, agents, actions), np.int8)
        self.rewards = np.zeros((envs, agents), np.float64)
        self.terminated = np.zeros((envs, agents), np.bool_)
        self.truncated = np.zeros((envs, agents), np.bool_)
        self.events = np.zeros((envs, agents), np.uint8)
        self.alive = np.zeros((envs, agents), np.bool_)
        self.outcomes = np.zeros((envs, agents), np.uint8)
        self._flat: tuple[NDArray[Any], ...] = ()

    def records(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return states and tables as kernels take them."""
        return readable(self.states), readable(self.tables)

    def flat(self) -> tuple[NDArray[Any], ...]:
        """Return the outputs as kernels take them: obs, masks, rewards, flags, events."""
        return self._rows()[:6]

    def flat_told(self) -> tuple[NDArray[Any], ...]:
        """Return what only steps write: last observations of episodes, who is in play, outcomes."""
        return self._rows()[6:]

    def _rows(self) -> tuple[NDArray[Any], ...]:
        """Return flat views of all outputs, which cost more to make than to keep."""
        if not self._flat:
            parts = (self.obs, self.masks, self.rewards, self.terminated, self.truncated)
            every = (*parts, self.events, self.final_obs, self.alive, self.outcomes)
            self._flat = tuple(part.reshape(-1) for part in every)
        return self._flat

    def __getstate__(self) -> dict[str, Any]:
        """Leave views and machine code behind when a batch is copied or pickled."""
        return {**self.__dict__, "_flat": (), "run": None}


def leading_size(record: np.dtype[Any], names: Sequence[str]) -> int:
    """Return how many bytes the leading fields of a record take.

    Between them nothing may lie that is not theirs: copies need not keep it, and digests hash it.
    """
    fields: Mapping[str, Any] = record.fields or {}
    size = 0
    for name in names:
        kind, offset = fields[name][:2]
        assert offset == size, f"{offset - size} bytes lie idle before {name!r}; order by size"
        size = offset + kind.itemsize
    return size
