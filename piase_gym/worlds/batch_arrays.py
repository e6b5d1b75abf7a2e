"""The arrays of a batch of environments, as kernels take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled import readable
from piase_gym.compiled.memory import record
from piase_gym.compiled.stepping import ADDRESSES, OUTPUTS, Kernels


class BatchRules(Protocol):
    """Rules besides those of the kernels, which follow every reset and step of a batch."""

    def begin(self, batch: Batch, which: NDArray[np.int64], keep: bool) -> None:
        """Start new episodes in some environments; `keep` their last rewards and flags."""

    def after(self, batch: Batch, acts: NDArray[Any], focal: int) -> int:
        """Do what follows from a step; return how many episodes are over."""


class Batch:
    """Many environments of one world: their records, the tables of their configs, the outputs.

    Attributes:
        states: One record per environment.
        tables: One table per config; each record says which one holds.
        obs: The vectors, shape (envs, agents, length).
        final_obs: The last observations of episodes, under reset in the same step.
        masks: int8, shape (envs, agents, actions).
        rewards: float64, shape (envs, agents); `terminated`, `truncated` (bool) and `events`
            (uint8) have the same shape.
        alive: Which agents are in play, bool, shape (envs, agents).
        any_over: Whether the episode of some environment may be over.
        outcomes: The outcomes of a step, indices into `OUTCOMES`, uint8, shape (envs, agents).
        codes: The outcome of every event, as an index into `OUTCOMES`; set by the first reset.
        kernel_states: The records as kernels take them; made when they are first needed.
        kernels: The rules that their configs need, likewise.
        scripts: What the scripts of the configs do, if there are any.
        places: Where the fields of a record that digests cover lie.
    """

    def __init__(
        self,
        states: NDArray[Any],
        tables: NDArray[Any],
        shape: tuple[int, int, int, int],
        dtype: type[Any],
        places: Sequence[slice],
    ) -> None:
        """Allocate outputs for `shape`: environments, agents, vector length, actions.

        Args:
            states: The records.
            tables: The tables.
            shape: The four sizes named above.
            dtype: The type of the vectors.
            places: See the attribute.
        """
        envs, agents, length, actions = shape
        self.states, self.tables, self.places = states, tables, places
        self.obs = np.zeros((envs, agents, length), dtype)
        self.final_obs = np.zeros_like(self.obs)
        self.masks = np.zeros((envs, agents, actions), np.int8)
        self.rewards = np.zeros((envs, agents), np.float64)
        self.terminated = np.zeros((envs, agents), np.bool_)
        self.truncated = np.zeros((envs, agents), np.bool_)
        self.events = np.zeros((envs, agents), np.uint8)
        self.alive = np.zeros((envs, agents), np.bool_)
        self.outcomes = np.zeros((envs, agents), np.uint8)
        self.codes: NDArray[np.uint8] | None = None
        self.any_over = False
        self.scripts: BatchRules | None = None
        self.kernel_states: NDArray[Any] | None = None
        self.kernels: Kernels | None = None
        self._room: NDArray[Any] | None = None
        """Where `tables` lie, with room for more."""
        self._outputs: NDArray[Any] | None = None

    def add_tables(self, more: NDArray[Any]) -> None:
        """Add the tables of more configs; there is room for as many again, so few are copied."""
        count = len(self.tables) + len(more)
        if self._room is None or count > len(self._room):
            self._room = stacked([self.tables, more, np.zeros(count, more.dtype)])
        self._room[count - len(more) : count] = more
        self.tables, self.kernels = self._room[:count], None

    @property
    def outputs(self) -> NDArray[Any]:
        """The addresses of the arrays that kernels write, shape (1,); see `stepping.OUTPUTS`."""
        if self._outputs is None:
            self._outputs = outputs_of(self, self.events.size)
            self._outputs["codes"] = 0 if self.codes is None else self.codes
        return readable(self._outputs)

    def forget_events(self, which: NDArray[np.int64]) -> None:
        """Let rebuilding some environments show something to agents in play alone.

        See `ArrayWorld.forget_events`.
        """
        alive = self.states["alive"][which, : self.events.shape[1]] != 0
        self.events[which] = np.where(alive, np.maximum(self.events[which], 1), 0)

    def __getstate__(self) -> dict[str, Any]:
        """Leave addresses behind when a batch is copied or pickled."""
        left = dict.fromkeys(("kernel_states", "kernels", "_room", "_outputs"))
        return {**self.__dict__, **left}


def outputs_of(arrays: Any, rows: int) -> NDArray[Any]:
    """Return the addresses of arrays that are attributes, for `rows` agents, shape (1,)."""
    outputs = np.zeros(1, OUTPUTS)
    outputs["rows"] = rows
    for name in ADDRESSES:
        outputs[name] = getattr(arrays, name).ctypes.data
    return outputs


def stacked(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return tables one after the other, with the very dtype object of the first.

    NumPy would make a new dtype that is equal; numba would then compare the two in every call,
    which takes longer than many a step.
    """
    whole = np.zeros(sum(map(len, tables)), tables[0].dtype)
    start = 0
    for table in tables:
        whole[start : start + len(table)] = table
        start += len(table)
    return whole


def packed(states: NDArray[Any]) -> NDArray[Any]:
    """Return records whose fields lie in the order of ``dtype.names``, as snapshots keep them."""
    fields: Mapping[str, Any] = states.dtype.fields or {}
    found = np.zeros(len(states), record([(name, fields[name][0]) for name in fields]))
    found[...] = states
    return found


def bytes_of(states: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of records, one row per record."""
    return states.view(np.uint8).reshape(len(states), -1)


def places_of(record: np.dtype[Any], names: Sequence[str]) -> list[slice]:
    """Return where fields of a record lie; neighbours are one place.

    Bytes in a gap between fields belong to none: copies need not keep them.
    """
    fields: Mapping[str, Any] = record.fields or {}
    places: list[slice] = []
    for name in names:
        kind, start = fields[name][:2]
        stop = start + kind.itemsize
        if places and places[-1].stop == start:
            start = places.pop().start
        places.append(slice(start, stop))
    return places
