"""Sums that reach rewards, draws and published numbers are those of every version of Python."""

from __future__ import annotations

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.facts import shared
from piase_gym.core.rng import Stream

TENTHS = [0.1] * 10
ADDED = 0.9999999999999999
"""What ten tenths are, added one after the other; sums that compensate say 1.0."""


def test_floats_are_added_one_after_the_other() -> None:
    assert sum_in_order(TENTHS) == ADDED
    assert sum_in_order(iter([1e16, 1.0, -1e16])) == 0.0
    assert sum_in_order([]) == 0.0


def test_shared_rewards_are_the_same_under_every_python() -> None:
    assert shared(TENTHS, range(10)) == [ADDED / 10] * 10


def test_normal_draws_are_the_same_under_every_python() -> None:
    for key in range(200):
        drawn, again = Stream(key), Stream(key)
        total = 0.0
        for _ in range(12):
            total += again.uniform()
        assert drawn.normal() == total - 6.0
