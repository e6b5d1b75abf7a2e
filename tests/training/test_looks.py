"""What training looks at between updates: wins and returns, and no level that is held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.agents import make_agent
from piase_gym.benchmarks.evaluation.levels import level_of, part_of

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training import evaluation, ppo  # needs the extra
from piase_gym.training import train as module_of_training
from piase_gym.training.checkpoints import Folder


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
    """Also: all seats' returns count, in a batch as one by one."""
    world: Any = piase_gym.batch_env(task, num_envs=1).world
    agent, seeds = make_agent("random"), range(1_000_000, 1_000_012)
    found = evaluation.look(agent, world, {}, seeds)
    alone = [seat for seed in seeds for seat in evaluation._alone(agent, world, {}, seed)]
    won = [result for result, _ in alone].count("won")
    assert found[:2] == (won, len(alone))
    assert found.won < found.played
    assert found.returned == pytest.approx(sum(got for _, got in alone) / len(alone), abs=1e-4)
    assert found.returned != 0.0


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
    for module, name, place in ((ppo, "play_returns", 2), (module_of_training, "look", 3)):
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


class Broken(Exception):
    """Somebody pulls the plug."""


@pytest.mark.parametrize("algo", ["batch_ppo", "ippo"])
@pytest.mark.parametrize(
    ("looks", "kept"),
    [
        ([(0, 9.0), (0, 3.0), (0, 2.0)], 1),  # nothing is won: what is paid decides
        ([(0, 0.0), (0, -3.0), (0, -2.0)], 2),
        ([(0, 9.0), (2, 1.0), (1, 5.0)], 1),  # wins go first
        ([(0, 0.0), (1, 2.0), (1, 2.0)], 2),  # of equals the newest
        ([(3, 9.0), (0, 2.0), (0, 1.0)], 1),  # what never learned is no choice
    ],
)
def test_a_policy_is_kept_for_its_wins_then_for_its_return(
    algo: str,
    looks: list[tuple[int, float]],
    kept: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = iter(looks)

    def play_returns(*_given: Any, **_named: Any) -> Any:
        won, returned = next(left)
        return np.arange(4) < won, np.full(4, returned)

    def look(*_given: Any) -> evaluation.EvaluationResult:
        won, returned = next(left)
        return evaluation.EvaluationResult(won, 4, returned)

    monkeypatch.setattr(ppo, "play_returns", play_returns)
    monkeypatch.setattr(module_of_training, "look", look)
    small: dict[str, Any] = {"steps": 128, "num_envs": 8, "num_steps": 8, "minibatch": 64}
    settings = module_of_training.TrainSettings(
        task="piase/GridWorld-Empty-5x5-v1", algo=algo, eval_every=64, save_every=64, **small
    )
    folder, files = Folder(tmp_path / "run"), dict[int, bytes]()
    file = folder.path / ("policy.pt" if algo == "batch_ppo" else "policy.zip")

    def note(progress: Any) -> None:
        files[progress.steps] = file.read_bytes()

    def note_and_break(progress: Any) -> None:
        note(progress)
        if progress.steps == 64:
            raise Broken

    with pytest.raises(Broken):  # what was best is not forgotten
        module_of_training.train(settings, folder.path, report=note_and_break)
    result = module_of_training.train(settings, folder.path, resume=True, report=note)
    rows = [(row["steps"], row["dev"], row["return"]) for row in folder.history()]
    assert rows == [(64 * n, won / 4, returned) for n, (won, returned) in enumerate(looks)]
    assert (result.best_steps, result.dev) == (64 * kept, looks[kept][0] / 4)
    assert file.read_bytes() == files[64 * kept]


def test_returns_of_learners_among_themselves_do_not_rank_policies() -> None:
    poor, rich = evaluation.EvaluationResult(0, 4, -1.0), evaluation.EvaluationResult(0, 4, 3.0)
    assert evaluation.rank(poor, 1) < evaluation.rank(rich, 1)
    assert evaluation.rank(poor, 2) == evaluation.rank(rich, 2)
    assert evaluation.rank(evaluation.EvaluationResult(1, 4, -9.0), 2) > evaluation.rank(rich, 2)


@pytest.mark.parametrize("algo", ["batch_ppo", "ippo"])
def test_of_learners_who_get_less_as_they_learn_the_last_are_kept(
    algo: str, tmp_path: Path
) -> None:
    game = "piase/SocialDilemma-PrisonersDilemma-v1"
    small: dict[str, Any] = {"steps": 12_800, "num_envs": 8, "num_steps": 50, "minibatch": 100}
    both: dict[str, Any] = {"learning_rate": 0.01, "eval_every": 6400, "eval_episodes": 10}
    settings = module_of_training.TrainSettings(task=game, algo=algo, **small, **both)
    result = module_of_training.train(settings, tmp_path)
    returns = [row["return"] for row in Folder(tmp_path).history()]
    assert returns[-1] < max(returns[:-1])
    assert result.best_steps == result.steps == 12_800
