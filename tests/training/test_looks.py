"""What training looks at between updates: wins, and no level that is held out."""

from __future__ import annotations

from typing import Any

import pytest

import piase_gym
from piase_gym.agents import make_agent

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training import evaluation  # noqa: E402  # needs the extra


@pytest.mark.parametrize(
    "task",
    [
        "piase/GridWorld-Hazards-8x8-v1",
        "piase/GridWorld-Tag-10x10-4p-v2",
        "piase/WordCraft-v2",
        "piase/SocialDilemma-v1",
    ],
)
def test_who_is_out_of_play_has_not_won_for_that(task: str) -> None:
    world: Any = piase_gym.batch_env(task, num_envs=1).world
    agent, seeds = make_agent("random"), range(1_000_000, 1_000_012)
    found = evaluation.success(agent, world, {}, seeds)
    alone = [result for seed in seeds for result in evaluation._alone(agent, world, {}, seed)]
    assert found == (alone.count("won"), len(alone))
    assert found[0] < found[1]
