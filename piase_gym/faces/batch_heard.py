"""A batch's step in which each episode is seen to end before the next begins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.events import Events
from piase_gym.faces.slots import AUTORESET, Slots


def step_seen(slots: Slots, events: Events, mode: int, focal: int, acts: NDArray[np.int32]) -> int:
    """Do what the kernel does, and look at every episode that ended before the next begins.

    How episodes ended is kept in `Slots.results`, and everything is posted if anybody listens.

    Args:
        slots: The batch.
        events: Where to post ``batch_step`` and ``batch_reset``.
        mode: A value of `AUTORESET`.
        focal: The agent whose end is the episode's, or -1 for the last agent.
        acts: Indices of commands, shape (envs, agents of the world).

    Returns:
        What the kernel returns: 0, or which action or slot is at fault.
    """
    batch, agents = slots.batch, len(slots.world.agents)
    alive = batch.states["alive"][:, :agents].astype(np.bool_)
    over = batch.states["over"].astype(np.bool_)
    same_step = mode == AUTORESET["same_step"]
    kernel_mode = AUTORESET["disabled"] if same_step else mode
    found = slots.world.step_batch(batch, kernel_mode, focal, acts.reshape(-1))
    if found < 0:
        return found
    slots.note_results()
    if found:
        return found
    events.post("batch_step", acts=acts, alive=alive, over=over)
    if mode == AUTORESET["next_step"] and over.any():
        tell_begun(events, np.flatnonzero(over))
    ended = np.flatnonzero(batch.states["ended"])
    events.post("batch_ended", slots=ended.tolist())
    return _renew(slots, events, ended) if same_step and ended.size else found


def tell_begun(events: Events, slots: NDArray[np.int64]) -> None:
    """Post that episodes begin, and then, that everybody has heard of it."""
    events.post("batch_reset", slots=slots.tolist())
    events.post("batch_begun", slots=slots.tolist())


def _renew(slots: Slots, events: Events, ended: NDArray[np.int64]) -> int:
    """Start the next episodes of environments, as the kernel does in the same step."""
    batch = slots.batch
    batch.final_obs[ended] = batch.obs[ended]
    outputs: tuple[NDArray[Any], ...] = (
        batch.rewards,
        batch.terminated,
        batch.truncated,
        batch.events,
    )
    kept = [part[ended] for part in outputs]
    batch.states["episode"][ended] += np.uint64(1)
    faults = slots.world.reset_batch(batch, ended)
    for part, values in zip(outputs, kept, strict=True):
        part[ended] = values
    if not faults:
        tell_begun(events, ended)
    return faults
