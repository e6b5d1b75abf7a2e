"""Whole updates, and the learning rate of each."""

from __future__ import annotations


def whole_updates(steps: int, update: int) -> int:
    """Return a number of steps, rounded up to whole updates of `update` steps."""
    return -(-steps // update) * update


def rate_at(first: float, before: int, total: int) -> float:
    """Return the learning rate of the update that learns from the rollout after `before` steps.

    It falls linearly. What counts are the steps before the rollout, not after it: so the first
    update has the whole rate, and the last one more than 0.

    Args:
        first: The rate of the first update.
        before: The steps before the rollout.
        total: The steps of the whole training.
    """
    return first * (1.0 - before / total)
