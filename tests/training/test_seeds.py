"""Trainings of several seeds side by side are those of one after the other."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.cli.train import read_seeds
from piase_gym.errors import ConfigError, JobError, StoppedError
from piase_gym.jobs import InProcess, Processes
from piase_gym.jobs.folders import OutFolder

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training.batch_run import BatchRun  # noqa: E402
from piase_gym.training.checkpoints import Folder  # noqa: E402
from piase_gym.training.models import make_model, make_vec  # noqa: E402
from piase_gym.training.seeds import SeedRun, train_one, train_seeds  # noqa: E402
from piase_gym.training.settings import TrainResult, TrainSettings  # noqa: E402
from piase_gym.training.train import train  # noqa: E402

FIELDS: dict[str, Any] = {
    "task": "piase/GridWorld-Empty-5x5-v1",
    "algo": "batch_ppo",
    "steps": 512,
    "num_envs": 8,
    "num_steps": 32,
    "minibatch": 128,
    "eval_every": 256,
    "eval_episodes": 5,
}


def runs(folder: Path, seeds: tuple[int, ...] = (0, 1)) -> dict[int, tuple[TrainSettings, Path]]:
    """Return settings and folders of seeds."""
    return {seed: (TrainSettings(**FIELDS, seed=seed), folder / f"run-{seed}") for seed in seeds}


def told(result: TrainResult) -> tuple[Any, ...]:
    """Return what is equal wherever it was trained: numbers, and the policy's bytes."""
    weights = tensors(torch.load(result.policy, weights_only=False))
    assert sum(map(len, weights)) > 1000
    return result.steps, result.reason, result.dev, result.best_steps, weights


def tensors(value: Any) -> list[list[float]]:
    """Return the numbers of all tensors in a value."""
    if isinstance(value, torch.Tensor):
        return [value.flatten().tolist()]
    if not isinstance(value, dict | list | tuple):
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [one for part in parts for one in tensors(part)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Any, ...]]:
    """What `train` makes of each seed."""
    folder = tmp_path_factory.mktemp("alone")
    return {seed: told(train(*run)) for seed, run in runs(folder).items()}


def test_processes_train_what_this_one_does(
    tmp_path: Path, alone: dict[int, tuple[Any, ...]]
) -> None:
    found: dict[int, Any] = {}
    train_seeds(
        runs(tmp_path), Processes(1), report=lambda seed, result: found.update({seed: result})
    )
    assert {seed: told(result) for seed, result in found.items()} == alone
    assert {path.name for path in tmp_path.iterdir()} == {"run-0", "run-1"}
    again: dict[int, Any] = {}
    with pytest.raises(ConfigError, match="holds a run already"):
        train_seeds(runs(tmp_path), InProcess(), report=lambda *_: None)
    train_seeds(
        runs(tmp_path),
        InProcess(),
        resume=True,
        report=lambda seed, result: again.update({seed: result}),
    )
    assert {seed: told(result) for seed, result in again.items()} == alone


def test_a_worker_that_does_not_see_the_folder_sends_its_files(
    tmp_path: Path, alone: dict[int, tuple[Any, ...]]
) -> None:
    (settings, folder) = runs(tmp_path)[1]
    out = OutFolder(tmp_path, ".not-here")
    result, files = train_one(SeedRun(settings, folder.name, out))
    assert not folder.exists()
    out.take(files)
    assert told(result) == alone[1]


def test_a_training_that_fails_does_not_keep_the_others_from_ending(
    tmp_path: Path, alone: dict[int, tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    import piase_gym.training.train as module

    whole = module.train

    def fails(settings: TrainSettings, *args: Any, **kwargs: Any) -> TrainResult:
        if settings.seed == 0:
            raise ZeroDivisionError("lost my way")
        return whole(settings, *args, **kwargs)

    monkeypatch.setattr(module, "train", fails)
    found: dict[int, Any] = {}
    train_seeds(
        runs(tmp_path), InProcess(), report=lambda seed, result: found.update({seed: result})
    )
    assert isinstance(found[0], JobError)
    assert "seed 0: ZeroDivisionError: lost my way" in str(found[0])
    assert told(found[1]) == alone[1]


def test_trainings_that_ctrl_c_ends_have_not_failed_and_go_on_with_resume(
    tmp_path: Path, alone: dict[int, tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[int, Any] = {}
    looked = BatchRun._look

    def press(run: BatchRun) -> None:
        looked(run)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as pressed:
        pressed.setattr(BatchRun, "_look", press)
        with pytest.raises(StoppedError, match="to go on, with --resume"):
            train_seeds(runs(tmp_path), InProcess(), report=found.__setitem__)
    assert not found
    train_seeds(runs(tmp_path), InProcess(), resume=True, report=found.__setitem__)
    assert {seed: told(result) for seed, result in found.items()} == alone


def test_seeds_that_are_not_there_yet_begin_where_others_go_on(
    tmp_path: Path, alone: dict[int, tuple[Any, ...]]
) -> None:
    train(*runs(tmp_path)[0])
    found: dict[int, Any] = {}
    train_seeds(
        runs(tmp_path), InProcess(), resume=True, report=lambda seed, one: found.update({seed: one})
    )
    assert {seed: told(result) for seed, result in found.items()} == alone
    assert [found[seed].policy for seed in (0, 1)] == [
        tmp_path / f"run-{seed}" / "policy.pt" for seed in (0, 1)
    ]


def test_a_folder_of_another_run_is_found_before_anything_is_trained(tmp_path: Path) -> None:
    other = TrainSettings(**{**FIELDS, "steps": 1}, seed=1)
    train(other, runs(tmp_path)[1][1])
    with pytest.raises(ConfigError, match="steps is 1 there and 512 here"):
        train_seeds(runs(tmp_path), InProcess(), resume=True, report=lambda *_: None)
    assert list((tmp_path / "run-0").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "seeds"), [("0-3", [0, 1, 2, 3]), ("7", [7]), ("1, 5-6", [1, 5, 6])]
)
def test_seeds_are_read(text: str, seeds: list[int]) -> None:
    assert read_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "3-1", "1,1", "-1", "1-", "0-2,2"])
def test_what_is_no_seeds_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--seeds"):
        read_seeds(text)


@pytest.mark.parametrize(
    "words", [["--seeds", "0-1", "--seed", "3"], ["--workers", "2"], ["--ray", "auto"]]
)
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, words: list[str]) -> None:
    from piase_gym.cli.app import app

    given = ["train", FIELDS["task"], "--out", str(tmp_path / "out"), *words]
    result = CliRunner().invoke(app, given)
    assert isinstance(result.exception, ConfigError)
    assert "--seeds" in str(result.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("algo", ["batch_ppo", "ppo"])
def test_seeds_draw_levels_of_their_own_from_the_training_range(algo: str, tmp_path: Path) -> None:
    """All that runs with neighbouring seeds, and one with a large seed, meet in six episodes."""
    met = []
    for seed in (0, 1, 999_999):
        fields = {**FIELDS, "algo": algo, "config": {"max_steps": 3}}
        settings = TrainSettings(**fields, seed=seed)
        if algo == "batch_ppo":
            batch = BatchRun(settings, Folder(tmp_path / str(seed)), lambda _: None).trainer.env
        else:
            vec = make_vec(settings, settings.make_world(), {})
            model = make_model(settings, vec)
            assert model.seed == seed
            vec.reset()
            batch = vec.unwrapped.batch
        firsts = batch.seeds().tolist()
        assert set(firsts) < set(SEEDS["train"])
        assert firsts == sorted(set(firsts))
        found = set(firsts)
        for _ in range(18):
            batch.step(np.zeros((8, 1), np.int64))
            found |= set(batch.seeds().tolist())
        assert len(found) >= 8 * 6
        met.append(found)
    assert met[0].isdisjoint(met[1])
    assert met[2].isdisjoint(met[0] | met[1])
