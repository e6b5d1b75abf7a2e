"""Texts made of the bytes of vectors are those of the facts, however little is remembered."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.worlds.object_search.observe.pieces import TextPieces, vector_writer_of

CONFIGS: list[dict[str, Any]] = [
    {"agents": 4},
    {"agents": 3, "channel": False},
    {"agents": 2, "envelope": {"agents": 5, "width": 20, "found": 1}},
    {"agents": 2, "backend": "mock"},
    {"agents": 2, "show_found": True},
]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_vector_is_told_as_its_facts_are(config: dict[str, Any]) -> None:
    env = piase_gym.parallel_env("ObjectSearch", view="vector", **config)
    world, rng = env.world, np.random.default_rng(0)
    write = world.text_writer()
    for seed in range(3):
        env.reset(seed=seed)
        for step in range(40):
            if step == 10 and env.agents:
                env.give_hint(env.agents[0], "look up")
            for agent, kept in enumerate(world.capture()):
                assert write(kept, agent) == world.text(world.facts(agent))
            if not env.agents:
                break
            env.step({name: int(rng.integers(world.num_actions)) for name in env.agents})


def test_pieces_are_written_once_until_there_are_too_many() -> None:
    written: list[bytes] = []

    def write(data: bytes) -> str:
        written.append(data)
        return data.decode()

    pieces = TextPieces(write, most=2)
    assert [pieces[data] for data in (b"a", b"b", b"a")] == ["a", "b", "a"]
    assert written == [b"a", b"b"]
    assert pieces[b"c"] == "c"
    assert list(pieces) == [b"c"]
    assert pieces[b"a"] == "a"
    assert written == [b"a", b"b", b"c", b"a"]


def test_copies_of_a_writer_go_by_the_config() -> None:
    env = piase_gym.parallel_env("ObjectSearch", agents=2)
    write = env.world.text_writer()
    assert write is vector_writer_of(env.world.config)
    assert copy.deepcopy(write) is write
    assert pickle.loads(pickle.dumps(write)) is write
