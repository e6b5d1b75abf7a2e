"""The kernels that step many environments, against the slow rules of a world, array by array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from piase_gym.core.rng import Stream, episode_seed
from piase_gym.envs.batch import batch_env
from piase_gym.worlds.grid_world.config import GridWorldConfig
from tests.worlds.grid_world.reference import ReferenceGridWorld

ENVS, AGENTS, STEPS = 3, 2, 40
CONFIG: dict[str, Any] = {
    "agents": AGENTS, "layout": "door_key", "width": 6, "height": 6, "max_steps": 9,
}  # fmt: skip


def rows(slow: ReferenceGridWorld) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors and masks of all agents."""
    agents = range(AGENTS)
    return np.stack([slow.vector(a) for a in agents]), np.stack([slow.mask(a) for a in agents])


def plays(slow: ReferenceGridWorld) -> bool:
    """Tell whether anybody is in play."""
    return any(agent.playing for agent in slow.agents)


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_episodes_follow_each_other_as_in_the_slow_rules(autoreset: str) -> None:
    """Each slot has episodes of its own; those that end are followed by the next ones."""
    batch = batch_env("GridWorld", num_envs=ENVS, autoreset=autoreset, **CONFIG)
    slow = [ReferenceGridWorld(GridWorldConfig(**CONFIG)) for _ in range(ENVS)]
    seeds, episodes, over = [70, 8, 9], [0] * ENVS, [False] * ENVS
    seen, infos = batch.reset(seed=seeds)
    for e, seed in enumerate(seeds):
        slow[e].reset(seed)
        assert np.array_equal(seen[e], rows(slow[e])[0])
        assert np.array_equal(infos["action_mask"][e], rows(slow[e])[1])
    dice, ends = Stream(4), 0
    for step in range(STEPS):
        acts = np.array([[dice.integer(6) for _ in range(AGENTS)] for _ in range(ENVS)])
        if step == 20:  # all that follows from states is made anew
            batch.restore(batch.snapshot())
        seen, rewards, terminated, truncated, infos = batch.step(acts)
        for e in range(ENVS):
            if over[e]:
                episodes[e] += 1
                slow[e].reset(episode_seed(seeds[e], episodes[e]))
                wanted: Any = [[0.0] * AGENTS, [False] * AGENTS, [False] * AGENTS]
                over[e] = False
            else:
                result = slow[e].step(acts[e].tolist())
                wanted = [result.rewards, result.terminated, result.truncated]
                over[e] = not plays(slow[e])
                ends += over[e]
            got = [part[e].tolist() for part in (rewards, terminated, truncated)]
            assert got == wanted, (step, e)
            if over[e] and autoreset == "same_step":
                assert np.array_equal(infos["final_obs"][e], rows(slow[e])[0])
                episodes[e] += 1
                slow[e].reset(episode_seed(seeds[e], episodes[e]))
                over[e] = False
            assert np.array_equal(seen[e], rows(slow[e])[0]), (step, e)
            assert np.array_equal(infos["action_mask"][e], rows(slow[e])[1]), (step, e)
    assert ends >= 2 * ENVS


def test_some_slots_start_anew_and_others_go_on() -> None:
    batch = batch_env("GridWorld", num_envs=ENVS, autoreset="disabled", **CONFIG)
    slow = [ReferenceGridWorld(GridWorldConfig(**CONFIG)) for _ in range(ENVS)]
    batch.reset(seed=5)
    for e in range(ENVS):
        slow[e].reset(5 + e)
    acts = np.array([[1, 2], [3, 0], [2, 1]])
    for _ in range(2):
        batch.step(acts)
        for e in range(ENVS):
            slow[e].step(acts[e].tolist())
    seen, infos = batch.reset(seed=[0, 33, 0], which=[1])
    slow[1].reset(33)
    for e in range(ENVS):
        assert np.array_equal(seen[e], rows(slow[e])[0])
        assert np.array_equal(infos["action_mask"][e], rows(slow[e])[1])
    for _ in range(9):
        seen, rewards, *_, infos = batch.step(acts)
        for e in range(ENVS):
            if plays(slow[e]):
                assert rewards[e].tolist() == slow[e].step(acts[e].tolist()).rewards
                assert np.array_equal(seen[e], rows(slow[e])[0])
            else:  # nothing happens after the end, and nobody sees anything
                assert rewards[e].tolist() == [0.0] * AGENTS
                assert not seen[e].any()
                assert infos["action_mask"][e].tolist() == [[0, 0, 0, 0, 1, 0]] * AGENTS
    assert not any(plays(one) for one in slow)
