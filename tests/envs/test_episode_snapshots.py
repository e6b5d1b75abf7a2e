"""Snapshots of episodes."""

from __future__ import annotations

import pytest

import piase_gym
from piase_gym.envs.episode_snapshot import read_episode
from piase_gym.errors import (
    SnapshotError,
)
from piase_gym.registry import world_spec
from tests import probes

probes.register()


def test_the_episode_of_a_snapshot_is_read() -> None:
    env = piase_gym.parallel_env("PointProbe", agents=2, partners={"agent_1": "random"})
    env.reset(seed=5)
    good, spec = env.snapshot(), world_spec("PointProbe")
    parts, partners, pending = read_episode(good, ("agent_1",), spec)
    assert parts == tuple(good["episode"].values())
    assert 5 in parts
    assert (list(partners), pending) == (["agent_1"], None)
    episode = good["episode"]
    (first, *_) = episode
    for change, told in (
        ({"episode": {}}, "this snapshot is damaged, it lacks"),
        ({"episode": {**episode, first: -1}}, f"episode.{first} of this snapshot is -1, not a num"),
        ({"episode": {**episode, first: True}}, f"episode.{first} of this snapshot is True"),
        ({"episode": {**episode, first: 2**63}}, f"episode.{first} of this snapshot is 9"),
        ({"partners": 3}, "this snapshot is damaged, it lacks"),
        ({"partners": {"eve": {}}}, "this snapshot has a partner 'eve'; here: .'agent_1'."),
        ({"next_config": 3}, "next_config of this snapshot is 3, not a config"),
        ({"next_config": {"agnts": 1}}, "next_config of this snapshot is damaged"),
    ):
        with pytest.raises(SnapshotError, match=told):
            read_episode({**good, **change}, ("agent_1",), spec)
    waiting = read_episode({**good, "next_config": {"agents": 1}}, ("agent_1",), spec)[2]
    assert waiting.agents == 1
