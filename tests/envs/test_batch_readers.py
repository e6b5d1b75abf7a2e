"""Partners that read in a batch: what they are shown is what single environments show them."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import pytest

from piase_gym.agents import Agent
from piase_gym.envs.batch import batch_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.errors import SnapshotError


class Reader(Agent):
    """Chooses by what it reads, which others than itself see only by what it does."""

    def act(self) -> int:
        seen = self.percept
        code = zlib.crc32(seen.world.observation_text(seen.index).encode())
        allowed = np.flatnonzero(seen.mask)
        return int(allowed[code % len(allowed)])


READ: dict[str, tuple[str, dict[str, Any]]] = {
    "grid": ("GridWorld", {"agents": 3, "layout": "door_key", "max_steps": 8}),
    "map": ("GridWorld", {"agents": 3, "recall": "map", "width": 4, "height": 4, "max_steps": 8}),
    "search": ("ObjectSearch", {"agents": 2, "width": 5, "height": 5, "room": 5, "max_steps": 9}),
    "script": ("side_effects", {"max_steps": 7}),
}


@pytest.mark.filterwarnings("ignore:Reader has no act_batch")
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
@pytest.mark.parametrize("name", READ)
def test_partners_read_in_a_batch_what_they_read_alone(name: str, mode: str) -> None:
    world, fields = READ[name]
    reader = parallel_env(world, **fields).possible_agents[1]

    def partners() -> dict[str, Agent]:
        return {reader: Reader()}

    batch = batch_env(world, num_envs=2, autoreset=mode, partners=partners(), **fields)
    settings = {"view": "vector", "ended_actions": "ignore", **fields}
    singles = [parallel_env(world, partners=partners(), **settings) for _ in range(2)]
    batch.reset(seed=3)
    for slot, env in enumerate(singles):
        env.reset(seed=3 + slot)
    rng, told = np.random.default_rng(0), 0
    for step in range(24):
        acts = rng.integers(0, batch.action_space.n, (2, len(batch.agents)))
        batch.step(acts)
        for slot, env in enumerate(singles):
            if any(env.world.alive):
                chosen = dict(zip(batch.agents, acts[slot].tolist(), strict=True))
                if env.agents:
                    env.step(chosen)
                else:
                    env.runner.end_step(env.runner.step([None] * len(env.world.agents)))
                    env._update_agents()
            elif mode == "next_step":
                env.reset()
            if mode == "same_step" and not any(env.world.alive):
                env.reset()
            assert batch.digest(slot) == env.digest()
            mine = batch.single(slot)
            shown = [w.observation_text(1) for w in (mine, env.world) if env.world.alive[1]]
            assert len(set(shown)) <= 1
            told += any("Last step:" in text for text in shown)
        if step in (4, 9):  # a step is taken back, and read again after it
            batch.restore(json.loads(json.dumps(batch.snapshot())))
        if step == 11 and "layout" in fields:
            batch.modify({"max_steps": 10})
            for env in singles:
                env.modify({"max_steps": 10})
    assert told > 20


def test_last_steps_in_a_damaged_snapshot() -> None:
    with pytest.warns(UserWarning, match="Reader has no act_batch"):
        batch = batch_env("GridWorld", num_envs=2, agents=2, partners={"agent_1": Reader()})
    batch.reset(seed=0)
    batch.step(np.zeros((2, 1), np.int64))
    whole, digests = batch.snapshot(), batch.digests()
    assert whole["last_steps"]["1"][0][0] == "move north"
    for told, words in (
        ({"2": []}, "last steps of a slot 2"),
        ({"0": [None]}, "for each agent"),
        ([], "damaged"),
    ):
        batch.step(np.zeros((2, 1), np.int64))
        after = batch.digests()
        with pytest.raises(SnapshotError, match=words):
            batch.restore({**whole, "last_steps": told})
        assert batch.digests() == after
    batch.restore(whole)
    assert batch.digests() == digests


def test_steps_are_kept_from_the_next_on_also_in_larger_spaces() -> None:
    batch = batch_env("GridWorld", num_envs=1)
    batch.reset(seed=0)
    batch.step([[0]])
    assert batch.single(0).last_steps() == [None]
    batch.note_steps()
    assert batch.single(0).last_steps() == [None]
    batch.step([[1]])
    assert "move south" in str(batch.single(0).last_steps())
    batch = batch_env("GridWorld", num_envs=1)
    batch.note_steps()
    batch.grow_envelope({"width": 12})
    batch.reset(seed=0)
    batch.step([[1]])
    assert "move south" in str(batch.single(0).last_steps())


def test_configs_are_the_same_in_larger_spaces() -> None:
    batch = batch_env("SocialDilemma", num_envs=1, coin=True, configs=[{"coin": False}])
    batch.grow_envelope({"memory": 6})
    assert [(config.coin, config.envelope.memory) for config in batch.configs] == [
        (True, 6),
        (False, 6),
    ]
