"""The kernel written in C writes the bytes of GridWorld: otherwise it would be no baseline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks.speed import c_kernel
from piase_gym.benchmarks.speed.c_kernel import ACTIONS, AGENTS, CKernel
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.rules import events
from piase_gym.worlds.grid_world.world import GridWorld

pytestmark = pytest.mark.skipif(not c_kernel.available(), reason="there is no C compiler")

SEED = 7
OUTPUTS = ("obs", "masks", "rewards", "terminated", "truncated", "events")


class Compiled:
    """The same batch in GridWorld's own kernels."""

    def __init__(self, num_envs: int, seed: int) -> None:
        config = GridWorldConfig.model_validate(c_kernel.CONFIG)
        self.world = GridWorld(config)
        self.batch = self.world.new_batch(num_envs, [config])
        self.batch.states["given"] = seed + np.arange(num_envs)
        assert self.world.reset_batch(self.batch, np.arange(num_envs)) == 0
        b = self.batch
        self.outputs = [getattr(b, name).reshape(-1) for name in OUTPUTS]

    def step(self, actions: Any) -> int:
        return self.world.step_batch(self.batch, 1, -1, actions)


def assert_same(kernel: CKernel, compiled: Compiled) -> None:
    for name, expected in zip(OUTPUTS, compiled.outputs, strict=True):
        found = getattr(kernel, name)
        assert found.dtype == expected.dtype
        if not np.array_equal(found, expected):  # compare first: quick where all is well
            np.testing.assert_array_equal(found, expected, err_msg=name)


def wander(rng: np.random.Generator, before: Any) -> Any:
    """Return random actions that often go on as before, so that agents get about."""
    fresh = rng.integers(0, ACTIONS, before.shape, dtype=np.int32)
    return np.where(rng.random(before.shape) < 0.6, before, fresh).astype(np.int32)


def test_both_kernels_write_the_same_bytes() -> None:
    num_envs = 64
    kernel, compiled = CKernel(num_envs, SEED), Compiled(num_envs, SEED)
    assert_same(kernel, compiled)
    rng = np.random.default_rng(SEED)
    actions = np.zeros(num_envs * AGENTS, np.int32)
    counts = np.zeros(events.NUM_EVENTS, int)
    for _ in range(2000):
        actions = wander(rng, actions)
        assert compiled.step(actions) == 0
        kernel.step(actions)
        assert_same(kernel, compiled)
        counts += np.bincount(compiled.outputs[-1], minlength=events.NUM_EVENTS)
    assert (counts[: events.ILLEGAL + 1] > 0).all(), "something never happened"
    assert (compiled.batch.states["episode"] > 5).all()


def test_an_action_that_does_not_exist_changes_nothing() -> None:
    kernel, compiled = CKernel(3, SEED), Compiled(3, SEED)
    bad = np.zeros(3 * AGENTS, np.int32)
    bad[2 * AGENTS + 1] = ACTIONS
    with pytest.raises(ValueError, match="action 9"):
        kernel.step(bad)
    assert compiled.step(bad) < 0
    assert_same(kernel, compiled)
    with pytest.raises(ValueError, match="shape"):
        kernel.step(bad[:-1])
    fine = np.full(3 * AGENTS, 3, np.int32)
    kernel.step(fine)
    compiled.step(fine)
    assert_same(kernel, compiled)


def test_the_seed_is_that_of_the_first_environment() -> None:
    one, two = CKernel(1, SEED + 1), CKernel(2, SEED)
    np.testing.assert_array_equal(one.obs, two.obs[one.obs.size :])
