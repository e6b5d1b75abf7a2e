"""What training looks at between updates: wins, and no level that is held out."""

from __future__ import annotations

from typing import Any

import pytest

import piase_gym
from piase_gym.agents import make_agent

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training import evaluation, ppo  # noqa: E402  # needs the extra


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


def test_what_a_trainer_tells_by_the_way_are_wins_too() -> None:
    settings = ppo.Settings(num_envs=64, num_steps=64, minibatch=512, width=8)
    trainer = ppo.Trainer("piase/GridWorld-Hazards-8x8-v1", settings, 0)
    trainer.act()
    ended = sum(trainer.rollout.dones.ravel().tolist())
    assert len(trainer.recent) >= ended > 40
    assert sum(trainer.recent) < 0.7 * ended  # most of them walked into a hazard
