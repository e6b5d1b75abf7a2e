"""Snapshots of batches: the records of all environments as one JSON-able value."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.errors import SnapshotError
from piase_gym.world import SNAPSHOT_SCHEMA
from piase_gym.worlds.array_world import ArrayWorld


def label(
    world: ArrayWorld[Any, Any], states: NDArray[Any], configs: Sequence[Any]
) -> dict[str, Any]:
    """Return what a snapshot must agree in."""
    return {
        "schema": SNAPSHOT_SCHEMA,
        "world": world.name,
        "version": world.version,
        "num_envs": len(states),
        "record": states.dtype.itemsize,
        "configs": [c.model_dump(mode="json", exclude={"envelope"}) for c in configs],
    }


def pack(states: NDArray[Any], ready: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the records, and which of them were reset."""
    raw = base64.b64encode(states.tobytes()).decode()
    return {"ready": ready.tolist(), "states": raw}


def unpack(
    snapshot: Mapping[str, Any], wanted: Mapping[str, Any], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return what `pack` was given.

    Raises:
        SnapshotError: If it is of something else, or damaged.
    """
    for key, value in wanted.items():
        if snapshot.get(key) != value:
            raise SnapshotError(
                f"this snapshot has {key}={snapshot.get(key)!r:.60}; here: {value!r:.60}"
            )
    try:
        raw = base64.b64decode(snapshot["states"], validate=True)
        states = np.frombuffer(raw, dtype).copy()
        ready = np.array(snapshot["ready"], np.bool_)
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"this snapshot is damaged: {error}") from None
    if not states.shape == ready.shape == (wanted["num_envs"],):
        raise SnapshotError("this snapshot is of another number of environments")
    return states, ready


def unpack_hints(snapshot: Mapping[str, Any]) -> dict[int, tuple[int, list[str | None]]]:
    """Return the words of hints by slot, with the seed of their episode; none in old snapshots.

    Raises:
        SnapshotError: If they are damaged.
    """
    try:
        return {
            int(slot): (int(seed), [None if h is None else str(h) for h in hints])
            for slot, (seed, hints) in snapshot.get("hints", {}).items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise SnapshotError(f"this snapshot is damaged: {error}") from None


def check_records(world: ArrayWorld[Any, Any], states: NDArray[Any], tables: NDArray[Any]) -> None:
    """Raise `SnapshotError` if a record holds what no kernel may see."""
    count = len(tables)
    for slot, record in enumerate(states):
        if not (0 <= record["config"] < count and 0 <= record["next_config"] < count):
            raise SnapshotError(f"slot {slot} of this snapshot has an unknown config")
        problem = world.state_problem(record, tables[record["config"]])
        if problem:
            raise SnapshotError(f"slot {slot} of this snapshot: {problem}")
