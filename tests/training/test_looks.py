"""What training looks at between updates: wins, and no level that is held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym.agents import make_agent
from piase_gym.benchmarks.evaluation.levels import level_of, part_of

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training import evaluation, ppo  # needs the extra
from piase_gym.training import train as module_of_training


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


@pytest.mark.parametrize("algo", ["batch_ppo", "ippo"])
def test_no_look_is_at_a_level_that_is_held_out(
    algo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Any] = []
    for module, name, place in ((ppo, "play_returns", 2), (module_of_training, "success", 3)):
        whole = getattr(module, name)

        def noted(*given: Any, whole: Any = whole, place: int = place, **named: Any) -> Any:
            looked.append(given[place])
            return whole(*given, **named)

        monkeypatch.setattr(module, name, noted)
    task = "piase/GridWorld-DoorKey-6x6-v1"  # it has so few levels that most are soon met
    small: dict[str, Any] = {"steps": 512, "num_envs": 8, "num_steps": 32, "minibatch": 64}
    settings = module_of_training.TrainSettings(task=task, algo=algo, eval_episodes=12, **small)
    module_of_training.train(settings, tmp_path / "run")
    assert len(looked) >= 2
    world = settings.make_world()
    for seeds in looked:
        assert len(set(seeds)) == 12
        assert {part_of(level_of(world, seed)) for seed in seeds} == {"dev"}
        assert 1_000_000 <= min(seeds) < max(seeds) < 2_000_000
    fixed = piase_gym.batch_env("piase/GridWorld-Empty-5x5-v1", num_envs=1).world
    assert evaluation.look_seeds(fixed, 3) == range(1_000_000, 1_000_003)
