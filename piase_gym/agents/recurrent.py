"""What agents with a recurrent policy share: the states of the episodes that they play."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.base import BatchPercept
from piase_gym.agents.simple import SeededAgent
from piase_gym.errors import SnapshotError


class RecurrentAgent(SeededAgent):
    """Base class of agents whose policy may have a recurrent state, which is called memory.

    Each episode begins with an empty memory: zeros. In a batch episodes are told apart by their
    seeds, and those with equal seeds by their rows; an episode whose beginning was not seen starts
    with an empty memory too.
    """

    def __init__(self) -> None:
        """Begin with empty memories."""
        super().__init__()
        self._memory: NDArray[np.float64] | None = None
        self._episodes = np.zeros(0, np.uint64)
        self._memories = np.zeros((0, 0))

    @abstractmethod
    def memory_lengths(self) -> Collection[int]:
        """Return which lengths the memory can have; 0 stands for none."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the agent, but share the policy, which never changes."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def reset(self, seed: int) -> None:
        """Keep the seed of the episode, and forget the last one."""
        super().reset(seed)
        self._memory = None

    def get_state(self) -> dict[str, Any]:
        """Return the seed of the episode and, for a policy with memory, its memories."""
        kept: dict[str, Any] = {}
        if self._memory is not None:
            kept["memory"] = self._memory[0].tolist()
        if self._memories.size:
            pairs = zip(self._episodes.tolist(), self._memories.tolist(), strict=True)
            kept["memories"] = [*map(list, pairs)]
        return {**super().get_state(), **kept}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        given, pairs = state.get("memory"), state.get("memories", [])
        episodes, rows = [episode for episode, _ in pairs], [row for _, row in pairs]
        lengths = self.memory_lengths()
        for row in rows if given is None else [*rows, given]:
            numbers = isinstance(row, list) and all(type(item) is float for item in row)
            if not (numbers and len(row) in lengths):
                raise SnapshotError(f"'memory' is not a list of {max(lengths)} numbers")
        seeds, memories = np.array(episodes, np.uint64), np.array(rows, np.float64)
        super().set_state(state)
        self._memory = None if given is None else np.array([given])
        self._episodes, self._memories = seeds, memories

    def _remembered(self, length: int) -> NDArray[np.float64]:
        """Return the memory of the episode, shape (1, length)."""
        return np.zeros((1, length)) if self._memory is None else self._memory

    def _remember(self, memory: NDArray[np.float64]) -> None:
        """Keep the memory of the episode, shape (1, length), until the next step."""
        self._memory = memory if memory.size else None

    def _remembered_batch(self, batch: BatchPercept, length: int) -> NDArray[np.float64]:
        """Return the memory of each episode of a batch, shape (n, length)."""
        memory = np.zeros((len(batch.seeds), length))
        if not length or not len(self._episodes):
            return memory
        order = self._episodes.argsort()
        place = np.searchsorted(self._episodes, batch.seeds, sorter=order)
        place = order[place.clip(max=len(order) - 1)]
        if len(order) == len(place):  # several episodes may have one seed; each stays in its row
            place = np.where(self._episodes == batch.seeds, np.arange(len(place)), place)
        known = (self._episodes[place] == batch.seeds) & (batch.steps > 0)
        memory[known] = self._memories[place[known]]
        return memory

    def _remember_batch(self, batch: BatchPercept, memories: NDArray[np.float64]) -> None:
        """Keep the memory of each episode of a batch, shape (n, length), until the next step."""
        self._episodes = batch.seeds.copy()
        present = batch.vectors.any(axis=1, keepdims=True)
        self._memories = np.where(present, memories, 0.0)  # who has yet to enter remembers nothing
