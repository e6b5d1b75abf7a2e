"""Snapshots of batches: the records of all environments as one JSON-able value."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.snapshot import DAMAGE
from piase_gym.core.world import MAX_HINT, SNAPSHOT_SCHEMA
from piase_gym.errors import SnapshotError
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
    if not isinstance(snapshot, Mapping):
        raise SnapshotError(f"a snapshot is a mapping, not {type(snapshot).__name__}")
    for key, value in wanted.items():
        if snapshot.get(key) != value:
            raise SnapshotError(
                f"this snapshot has {key}={snapshot.get(key)!r:.60}; here: {value!r:.60}"
            )
    try:
        text, flags = snapshot["states"], snapshot["ready"]
        sizes = len(text), len(flags)
        size = wanted["num_envs"] * dtype.itemsize
        if sizes != (4 * -(-size // 3), wanted["num_envs"]):
            raise SnapshotError("this snapshot is of another number of environments")
        states = np.frombuffer(base64.b64decode(text, validate=True), dtype).copy()
        if not all(type(flag) is bool for flag in flags):
            raise SnapshotError("ready of this snapshot is not a list of true and false")
    except DAMAGE as error:
        if isinstance(error, SnapshotError):
            raise
        raise SnapshotError(f"this snapshot is damaged: {error!r:.200}") from None
    return states, np.array(flags, np.bool_)


def unpack_hints(
    snapshot: Mapping[str, Any], slots: int, agents: int
) -> dict[int, tuple[int, list[str | None]]]:
    """Return the words of hints by slot, with the seed of their episode; none in old snapshots.

    Raises:
        SnapshotError: If they are damaged.
    """
    found: dict[int, tuple[int, list[str | None]]] = {}
    try:
        for slot, (seed, hints) in snapshot.get("hints", {}).items():
            strings = all(h is None or (isinstance(h, str) and len(h) <= MAX_HINT) for h in hints)
            if not 0 <= int(slot) < slots or type(seed) is not int or not strings:
                raise ValueError(f"the hints of slot {slot:.60} make no sense")
            if len(hints) != agents:
                raise ValueError(f"slot {slot} has {len(hints)} hints for {agents} agents")
            found[int(slot)] = seed, list(hints)
    except DAMAGE as error:
        raise SnapshotError(f"this snapshot is damaged: {error!r:.200}") from None
    return found


def check_records(world: ArrayWorld[Any, Any], states: NDArray[Any], tables: NDArray[Any]) -> None:
    """Raise `SnapshotError` if a record holds what no kernel may see."""
    count = len(tables)
    for slot, record in enumerate(states):
        if not (0 <= record["config"] < count and 0 <= record["next_config"] < count):
            raise SnapshotError(f"slot {slot} of this snapshot has an unknown config")
        problem = world.state_problem(record, tables[record["config"]])
        if problem:
            raise SnapshotError(f"slot {slot} of this snapshot: {problem}")
