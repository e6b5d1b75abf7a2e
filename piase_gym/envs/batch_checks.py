"""What is checked before a batch takes something: numbers, slots, memory, snapshots."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.last_step import LastStep, read_last_steps
from piase_gym.core.snapshot import DAMAGE
from piase_gym.core.world import MAX_HINT
from piase_gym.errors import ConfigError, SnapshotError
from piase_gym.worlds.array_world import ArrayWorld

Hints = dict[int, tuple[int, list[str | None]]]
"""The words of hints by slot, with the seed of the episode in which they were given."""
MOST_SINGLE = 65_536
"""The maximum number of environments that are stepped one after the other."""


def check_num_envs(num_envs: object) -> int:
    """Return a number of environments.

    Raises:
        ConfigError: If it is not a positive integer.
    """
    if isinstance(num_envs, int | np.integer) and not isinstance(num_envs, bool) and num_envs > 0:
        return int(num_envs)
    raise ConfigError(f"num_envs must be a positive integer, not {num_envs!r:.60}")


def check_singles(num_envs: object, world: str) -> int:
    """Return how many environments to step one after the other.

    Raises:
        ConfigError: If it is not a positive integer, or larger than `MOST_SINGLE`.
    """
    count = check_num_envs(num_envs)
    if count > MOST_SINGLE:
        raise ConfigError(
            f"num_envs={count} is too many: {world} is stepped one environment after the other "
            f"here; allowed: up to {MOST_SINGLE}"
        )
    return count


def find_slots(which: Any, count: int) -> NDArray[np.int64]:
    """Return the numbers of slots that are given as flags, one per slot, or as numbers.

    Raises:
        ConfigError: If they are neither, or a number is out of range or given twice.
    """
    if which is None:
        return np.arange(count)
    try:
        given = np.asarray(which)
    except ValueError:  # their lengths differ
        given = np.asarray(None)
    if given.dtype == np.bool_ and given.shape == (count,):
        return np.flatnonzero(given)
    if given.ndim <= 1 and (given.dtype.kind in "iu" or not given.size):
        numbers = np.atleast_1d(given).tolist()
        if all(0 <= n < count for n in numbers) and len(set(numbers)) == len(numbers):
            return np.array(numbers, np.int64)
    raise ConfigError(
        f"slots are given by {count} flags (True and False), or by different numbers from 0 to "
        f"{count - 1}, not by {which!r:.60}"
    )


def require_memory(world: ArrayWorld[Any, Any], num_envs: int, configs: list[Any]) -> None:
    """Refuse more environments than the memory of this machine can hold.

    Raises:
        ConfigError: If there are too many.
    """
    one = world.new_batch(1, configs)
    arrays = [part for part in vars(one).values() if isinstance(part, np.ndarray)]
    size = sum(part.nbytes for part in arrays if part is not one.tables)
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not known here
        memory = 2**40
    if num_envs * size > memory:
        raise ConfigError(
            f"num_envs={num_envs} is too many: each takes {size:,} bytes, and this machine has "
            f"{memory:,}, enough for {memory // size}"
        )


def read_snapshot(
    snapshot: object, wanted: Mapping[str, Any], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_], Hints]:
    """Return the records of a batch's snapshot, which of them were reset, and the hints.

    Args:
        snapshot: What `BatchEnv.snapshot` returned.
        wanted: The entries that it must agree with.
        dtype: The type of a record.

    Raises:
        SnapshotError: If it is of something else, or damaged.
    """
    if not isinstance(snapshot, Mapping):
        raise SnapshotError(f"a snapshot is a mapping, not {type(snapshot).__name__}")
    for key, value in wanted.items():
        if key not in snapshot:
            raise SnapshotError(f"this snapshot lacks {key}, so it is not of a batch")
        if snapshot[key] != value:
            raise SnapshotError(
                f"this snapshot has {key}={snapshot[key]!r:.60}; here: {value!r:.60}"
            )
    count = wanted["num_envs"]
    try:
        text, flags = snapshot["states"], snapshot["ready"]
        if (len(text), len(flags)) != (4 * -(-count * dtype.itemsize // 3), count):
            raise SnapshotError("this snapshot is of another number of environments")
        states = np.frombuffer(base64.b64decode(text, validate=True), dtype).copy()
        if not all(type(flag) is bool for flag in flags):
            raise SnapshotError("ready of this snapshot is not a list of true and false")
        hints = {
            int(slot): (seed, list(h)) for slot, (seed, h) in snapshot.get("hints", {}).items()
        }
    except SnapshotError:
        raise
    except DAMAGE as error:
        raise SnapshotError(f"this snapshot is damaged: {error!r:.200}") from None
    return states, np.array(flags, np.bool_), hints


def read_noted(
    snapshot: Mapping[str, Any], count: int, agents: int
) -> dict[int, list[LastStep | None]]:
    """Return the last steps in a batch's snapshot, by slot.

    Raises:
        SnapshotError: If they are damaged.
    """
    try:
        given = {int(slot): rows for slot, rows in snapshot.get("last_steps", {}).items()}
    except DAMAGE as error:
        raise SnapshotError(f"this snapshot is damaged: {error!r:.200}") from None
    if strange := [slot for slot in given if not 0 <= slot < count]:
        raise SnapshotError(f"this snapshot has last steps of a slot {strange[0]}")
    return {slot: read_last_steps(rows, agents) for slot, rows in given.items()}


def check_states(world: ArrayWorld[Any, Any], states: Any, hints: Hints, tables: Any) -> None:
    """Raise `SnapshotError` if a record holds what no kernel may see, or a hint makes no sense."""
    agents = len(world.agents)
    for slot, (seed, words) in hints.items():
        strings = all(w is None or (isinstance(w, str) and len(w) <= MAX_HINT) for w in words)
        if not 0 <= slot < len(states) or type(seed) is not int or not strings:
            raise _damaged(f"the hints of slot {slot} make no sense")
        if len(words) != agents:
            raise _damaged(f"slot {slot} has {len(words)} hints for {agents} agents")
    for slot, record in enumerate(states):
        if not (0 <= record["config"] < len(tables) and 0 <= record["next_config"] < len(tables)):
            raise SnapshotError(f"slot {slot} of this snapshot has an unknown config")
        problem = world.state_problem(record, tables[record["config"]])
        if problem:
            raise SnapshotError(f"slot {slot} of this snapshot: {problem}")


def _damaged(message: str) -> SnapshotError:
    """Say what is wrong with hints."""
    return SnapshotError(f"this snapshot is damaged: {ValueError(message)!r:.200}")
