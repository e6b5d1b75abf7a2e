"""The kernel written in C writes the bytes of GridWorld: otherwise it would be no yardstick."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks import c_kernel
from piase_gym.benchmarks.c_kernel import ACTIONS, AGENTS, CKernel
from piase_gym.worlds.grid_world import batch, events, state
from piase_gym.worlds.grid_world.config import GridWorldConfig

pytestmark = pytest.mark.skipif(not c_kernel.available(), reason="there is no C compiler")

SEED = 7
OUTPUTS = ("obs", "masks", "rewards", "terminated", "truncated", "events")


class Compiled:
    """The same batch in GridWorld's own kernels."""

    def __init__(self, num_envs: int, seed: int) -> None:
        config = GridWorldConfig.model_validate(c_kernel.CONFIG)
        envelope = config.fixed_sizes()
        rows = num_envs * AGENTS
        self.states: Any = state.new_states(envelope, num_envs)
        self.table: Any = state.config_table(config, envelope)
        self.states["given"] = seed + np.arange(num_envs)
        length = int(self.table["length"][0])
        self.obs = np.zeros(rows * length, np.uint8)
        self.final_obs = np.zeros_like(self.obs)
        self.masks = np.zeros(rows * ACTIONS, np.int8)
        self.rewards = np.zeros(rows)
        self.terminated, self.truncated = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
        self.events = np.zeros(rows, np.uint8)
        self.outputs = [getattr(self, name) for name in OUTPUTS]
        self.k = state.static_for(envelope, config)
        faults = batch.KERNELS.reset(
            self.states, self.table, self.k, np.arange(num_envs), *self.outputs
        )
        assert faults == 0

    def step(self, actions: Any) -> int:
        return int(
            batch.KERNELS.step(
                self.states, self.table, self.k, 1, -1, actions, *self.outputs, self.final_obs
            )
        )


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
        counts += np.bincount(compiled.events, minlength=events.NUM_EVENTS)
    assert (counts[: events.ILLEGAL + 1] > 0).all(), "something never happened"
    assert (compiled.states["episode"] > 5).all()


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
