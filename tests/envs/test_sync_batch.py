"""Environments that are stepped one after the other, in the form of a batch."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from piase_gym.agents import make_agent
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.sync_batch import SyncBatch, sync_batch
from piase_gym.errors import (
    ActionError,
    ClosedError,
    ConfigError,
    ResetNeededError,
    SnapshotError,
)

TAG = "piase/GridWorld-Tag-10x10-4p-v2"


def config_of(world: str, **fields: Any) -> Any:
    """Return the config of a world."""
    return parallel_env(world, **fields).world.config


def everything(batch: SyncBatch) -> str:
    """Return all that a caller can see between two steps."""
    parts = batch.snapshot(), batch.masks().tolist(), batch.alive().tolist()
    return json.dumps([*parts, batch.seeds().tolist()])


def test_an_agent_that_has_ended_may_do_anything_and_sees_nothing() -> None:
    batch = sync_batch(config_of(TAG, max_steps=60), 3, autoreset="disabled")
    shown, infos = batch.reset(4)
    rng, ended = np.random.default_rng(0), 0
    while infos["alive"].any():
        acts = rng.integers(0, batch.action_space.n, infos["alive"].shape)  # type: ignore[attr-defined]
        alive, asked, before = infos["alive"], batch.alive(), infos["alive"].copy()
        shown, _, _, _, infos = batch.step(acts)
        assert (alive == before).all()
        assert (asked == before).all()
        gone = ~infos["alive"] & ~alive
        assert not shown[gone].any()
        assert infos["action_mask"][~infos["alive"]].all()
        for e, env in enumerate(batch.envs):
            for name in env.agents:
                a = batch.agents.index(name)
                assert (infos["action_mask"][e, a] == env.world.masks()[a]).all()
        ended += int(gone.any())
    assert ended


def test_a_strange_action_is_refused_before_anyone_acts() -> None:
    batch = sync_batch(config_of("TextRoom", agents=2), 2)
    batch.reset([8, 3])
    before = everything(batch)
    acts = np.zeros((2, 2), np.int64)
    acts[1, 1] = batch.world.num_actions
    with pytest.raises(ActionError, match="agent_1"):
        batch.step(acts)
    assert everything(batch) == before


@pytest.mark.parametrize(
    "wrong", [np.zeros((3, 1), int), np.zeros((1, 1), int), [[0], [0, 1]], None]
)
def test_there_is_one_action_for_each_agent(wrong: Any) -> None:
    batch = sync_batch(config_of("TextRoom"), 2)
    for ask in (lambda: batch.step(np.zeros((2, 1), int)), batch.masks, lambda: batch.draw(1)):
        with pytest.raises(ResetNeededError, match="this TextRoom was never reset"):
            ask()
    batch.reset(1)
    before = everything(batch)
    with pytest.raises(ActionError, match=r"actions are integers of shape \(2, 1\), not "):
        batch.step(wrong)
    assert everything(batch) == before
    assert batch.step([[0], [0]])[1].shape == (2, 1)  # type: ignore[arg-type]


def test_continuous_actions_have_no_masks() -> None:
    pytest.importorskip("pybullet")
    batch = sync_batch(config_of("PhysicsPlayground", agents=2), 2, actions="continuous")
    _, infos = batch.reset(0)
    assert infos["action_mask"].shape == batch.masks().shape == (2, 2, 0)
    shape = (2, 2, *(batch.action_space.shape or ()))
    shown = batch.step(np.zeros(shape, np.float32))[0]
    assert shown.shape == (2, 2, *(batch.observation_space.shape or ()))
    with pytest.raises(ActionError, match=r"arrays of shape \(2, 2, 3\), not \(2, 2\)"):
        batch.step(np.zeros((2, 2)))
    batch.close()


def test_what_was_answered_is_not_written_into_later() -> None:
    batch = sync_batch(config_of("TextRoom"), 2, partners={})
    handed: list[Any] = [
        batch.reset(0),
        batch.step([[0], [1]]),
        batch.masks(),
        batch.alive(),
        batch.seeds(),
    ]
    before = copy.deepcopy(handed)
    shown, infos = batch.reset(7)
    for now, first in ((shown, handed[0][0]), (infos["action_mask"], handed[2])):
        assert (now != first).any(axis=(1, 2)).all()
    np.testing.assert_equal(handed, before)
    batch.close()
    for env in batch.envs:
        with pytest.raises(ClosedError):
            env.reset()


def test_each_environment_has_partners_of_its_own() -> None:
    agent = make_agent("random")
    batch = sync_batch(config_of("TextRoom", agents=2), 2, partners={"agent_1": agent})
    seated = [env.runner.partners[1] for env in batch.envs]
    assert (batch.agents, batch.alive().shape) == (("agent_0",), (2, 1))
    assert len({id(one) for one in (agent, *seated)}) == 3


def test_snapshots_of_more_or_fewer_environments_are_refused() -> None:
    config = config_of("TextRoom")
    batch, more = sync_batch(config, 2), sync_batch(config, 3)
    for each in (batch, more):
        each.reset(1)
    before = everything(batch)
    for kept in (more.snapshot(), {}, None):
        with pytest.raises(SnapshotError, match="not one of 2 environments"):
            batch.restore(kept)
        assert everything(batch) == before
    fresh = sync_batch(config, 2)
    with pytest.raises(SnapshotError):
        fresh.restore([batch.snapshot()[0], {}])
    for ask in (fresh.masks, lambda: fresh.step([[0], [0]])):  # type: ignore[arg-type]
        with pytest.raises(ResetNeededError):
            ask()
    more.restore([*batch.snapshot(), batch.snapshot()[1]])
    assert (more.seeds() == [1, 2, 2]).all()


def test_there_is_at_least_one() -> None:
    with pytest.raises(ConfigError, match="num_envs"):
        sync_batch(config_of("TextRoom"), 0)


@pytest.mark.parametrize("mode", ["next_step", "never"])
def test_environments_are_reset_at_once_or_by_the_caller(mode: str) -> None:
    with pytest.raises(ConfigError, match=f"'same_step' or 'disabled', not '{mode}'; TextRoom"):
        sync_batch(config_of("TextRoom"), 2, autoreset=mode)
