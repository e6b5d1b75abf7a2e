"""SuperSuit's wrappers change what they say and nothing else, of all at once and in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import piase_gym

supersuit = pytest.importorskip("supersuit")
LATE: dict[str, Any] = {"agents": 3, "width": 4, "height": 4, "hazards": 2, "join_at": (0, 2, 0)}
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "delay": lambda env: supersuit.delay_observations_v0(env, 2),
    "frame_stack": lambda env: supersuit.frame_stack_v1(env, 3),
    "max": lambda env: supersuit.max_observation_v0(env, 2),
    "nan_noop": lambda env: supersuit.nan_noop_v0(env, 4),
    "nan_random": supersuit.nan_random_v0,
    "pad_actions": supersuit.pad_action_space_v0,
    "sticky": lambda env: supersuit.sticky_actions_v0(env, 0.0),
}


def act(info: dict[str, Any], rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(info["action_mask"])))


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_wrappers_of_all_at_once(wrap: Callable[[Any], Any]) -> None:
    plain, env = (piase_gym.parallel_env("GridWorld", view="vector", **LATE) for _ in "ab")
    wrapped, rng = wrap(env), np.random.default_rng(0)
    for seed in range(2):
        _, infos = plain.reset(seed=seed)
        wrapped.reset(seed=seed)
        while plain.agents:
            assert wrapped.agents == plain.agents
            acts = {name: act(infos[name], rng) for name in plain.agents}
            _, *told, infos = plain.step(acts)
            _, *found, also = wrapped.step(acts)
            assert [dict(part) for part in found] == told
            np.testing.assert_equal(dict(also), infos)
        assert env.digest() == plain.digest()


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_wrappers_of_one_after_the_other(wrap: Callable[[Any], Any]) -> None:
    plain, env = (piase_gym.aec_env("GridWorld", view="vector", **LATE) for _ in "ab")
    wrapped, rng = wrap(env), np.random.default_rng(0)
    for seed in range(2):
        plain.reset(seed=seed)
        wrapped.reset(seed=seed)
        for name in plain.agent_iter():
            assert wrapped.agent_selection == name
            _, *told, info = plain.last()
            assert list(wrapped.last()[1:4]) == told
            acts = None if told[1] or told[2] else act(info, rng)
            plain.step(acts)
            wrapped.step(acts)
        assert not wrapped.agents
        assert env.digest() == plain.digest()


def test_frames_are_skipped_as_the_seed_says() -> None:
    lengths = []
    for seed in (4, 4, 5):
        env = piase_gym.parallel_env("GridWorld", ended_actions="ignore", max_steps=60, **LATE)
        skips = supersuit.frame_skip_v0(env, (1, 4), default_action=4)
        skips.reset(seed=seed)
        steps = []
        while skips.agents:
            skips.step(dict.fromkeys(skips.agents, 3))
            steps.append(env.runner.steps)
        lengths.append(steps)
    assert lengths[0] == lengths[1] != lengths[2]


def test_the_last_observations_stay_when_all_have_left() -> None:
    env = piase_gym.aec_env("GridWorld", view="vector", agents=2, max_steps=1)
    env.reset(seed=0)
    last = {}
    for name in env.agent_iter():
        over = env.terminations[name] or env.truncations[name]
        if over:
            last[name] = env.observe(name)
        env.step(None if over else 4)
    assert last.keys() == {"agent_0", "agent_1"}
    assert not env.agents
    for name, seen in last.items():
        assert env.observe(name).tolist() == seen.tolist()
