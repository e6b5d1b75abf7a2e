"""``piase train --algo batch_ppo``: a run goes on exactly; plain torch reads its file."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.errors import ConfigError, StorageError, TrainingError

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training import ppo  # noqa: E402
from piase_gym.training.batch_run import BatchRun, load_policies, require_sound  # noqa: E402
from piase_gym.training.checkpoints import Folder  # noqa: E402
from piase_gym.training.evaluation import look_seeds  # noqa: E402
from piase_gym.training.train import Progress, TrainSettings, train  # noqa: E402


def settings(**changes: Any) -> TrainSettings:
    """Settings that use everything there is."""
    config = {"agents": 2, "width": 4, "height": 4, "max_steps": 12}
    small: dict[str, Any] = {"num_envs": 16, "num_steps": 8, "minibatch": 64, "width": 16}
    small |= {"steps": 16 * 8 * 2 * 5, "eval_every": 600, "eval_episodes": 20, "save_every": 256}
    small |= {"memory": 8, "roles": (0, 1), "central": True, "self_play": 0.5}
    small |= {"training_reward": "shaped", "task": "GridWorld", "config": config}
    return TrainSettings(**{**small, "algo": "batch_ppo", **changes})


class Broken(Exception):
    """Somebody pulls the plug."""


def test_a_broken_run_ends_with_the_parameters_of_an_unbroken_one(tmp_path: Path) -> None:
    whole = train(settings(), tmp_path / "whole")
    assert whole.reason == "finished"
    assert 1280 <= whole.steps < 1280 + 256

    def stop(progress: Any) -> None:
        if progress.steps >= 768:
            raise Broken

    with pytest.raises(Broken):
        train(settings(), tmp_path / "parts", report=stop)
    torch.manual_seed(12345)
    parts = train(settings(), tmp_path / "parts", resume=True)
    assert (parts.dev, parts.best_steps, parts.steps) == (whole.dev, whole.best_steps, whole.steps)
    one, other = (
        torch.load(tmp_path / name / "checkpoint.pt", weights_only=True)["trainer"]["learners"]
        for name in ("whole", "parts")
    )
    for mine, theirs in zip(one, other, strict=True):
        for name, value in mine["policy"].items():
            assert torch.equal(value, theirs["policy"][name]), name


def test_a_policy_that_diverges_is_reported() -> None:
    sound, broken = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    torch.nn.init.constant_(broken.bias, float("nan"))
    policies: Any = [sound, broken]
    with pytest.raises(TrainingError) as caught:
        require_sound(policies, 1200)
    told = "the policy has diverged: bias holds numbers that are not finite, after 1,200 steps"
    assert str(caught.value) == f"{told}. Try a smaller learning rate"
    require_sound(policies[:1], 1200)


def test_a_file_is_read_with_plain_torch_and_plays(tmp_path: Path) -> None:
    result = train(settings(seed=1), tmp_path / "run")
    assert result.best_steps > 0
    stored = torch.load(result.policy, weights_only=True)
    assert len(stored["policies"]) == 2
    policies = load_policies(result.policy)
    config = settings().config
    seeds = look_seeds(settings().make_world(), 20)
    dev = ppo.play(policies, "GridWorld", seeds, **config)
    assert dev.mean() == result.dev
    for role, policy in enumerate(policies):
        for name, value in policy.state_dict().items():
            assert torch.equal(value, stored["policies"][role][name])
    assert not np.array_equal(*(policy.actor.bias.detach() for policy in policies))
    assert result.policy.stat().st_size < 200_000


@pytest.mark.parametrize(
    "spoil", [lambda state: state.popitem(), lambda state: state.update(strange=torch.ones(1))]
)
def test_policies_of_another_network_are_refused(tmp_path: Path, spoil: Any) -> None:
    result = train(settings(steps=1), tmp_path / "run")
    stored = torch.load(result.policy, weights_only=True)
    spoil(stored["policies"][1])
    torch.save(stored, tmp_path / "other.pt")
    with pytest.raises(StorageError, match=r"other\.pt do not fit the networks .* for GridWorld"):
        load_policies(tmp_path / "other.pt")
    stored["policies"].pop()
    torch.save(stored, tmp_path / "other.pt")
    with pytest.raises(StorageError, match="do not fit"):
        load_policies(tmp_path / "other.pt")


def test_mistakes_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="memory is a setting of batch_ppo alone, not of ippo"):
        settings(algo="ippo", roles=(), central=False, self_play=0, training_reward="own")
    with pytest.raises(ConfigError, match="needs a batched kernel; TextRoom has none"):
        settings(task="TextRoom", config={})
    with pytest.raises(ConfigError, match="training_reward"):
        settings(training_reward="large")
    (tmp_path / "policy.pt").write_bytes(b"nothing")
    with pytest.raises(StorageError, match="holds no policies"):
        load_policies(tmp_path / "policy.pt")
    train(settings(steps=1), tmp_path / "run")
    (tmp_path / "run" / "checkpoint.pt").write_bytes(b"nothing")
    with pytest.raises(TrainingError, match="cannot be gone on from"):
        train(settings(steps=1), tmp_path / "run", resume=True)


# -- what a run looks at, keeps and writes ------------------------------------------------


ROOM: dict[str, Any] = {"width": 4, "height": 4, "max_steps": 12}


def plain(**changes: Any) -> TrainSettings:
    """Settings of one learner: updates are of 128 steps, and hardly change anything."""
    few: dict[str, Any] = {"num_envs": 8, "num_steps": 16, "steps": 1000, "eval_every": 300}
    few |= {"config": {**ROOM, "agents": 1}, "save_every": 200, "learning_rate": 1e-9}
    few |= {"roles": (), "central": False, "self_play": 0.0, "training_reward": "own", "memory": 0}
    return settings(**{**few, **changes})


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Progress], list[int]]:
    """A run: its folder, what it reported, and when its checkpoints were written."""
    folder, reports, saved = tmp_path_factory.mktemp("runs") / "run", list[Progress](), list[int]()

    def note(progress: Progress) -> None:
        reports.append(progress)
        if (folder / "checkpoint.pt").exists():
            kept = torch.load(folder / "checkpoint.pt", weights_only=True)["kept"]
            saved.append(kept["saved_at"])

    train(plain(), folder, report=note)
    return folder, reports, saved


def test_a_run_looks_and_saves_as_often_as_it_is_told(told: Any) -> None:
    folder, reports, saved = told
    assert [progress.steps for progress in reports] == list(range(0, 1025, 128))
    assert {progress.total for progress in reports} == {1024}  # whole updates
    assert [row["steps"] for row in Folder(folder).history()] == [0, 384, 768, 1024]
    assert saved == [256, 256, 512, 512, 768, 768, 1024]
    assert reports[0].train is None
    assert all(0.0 <= progress.train <= 1.0 for progress in reports[1:])


def test_the_result_is_of_the_newest_of_the_best_looks(told: Any) -> None:
    folder, reports, _ = told
    looks = [(row["dev"], row["return"], row["steps"]) for row in Folder(folder).history()]
    result = json.loads((folder / "result.json").read_text("utf-8"))
    dev, _, steps = max(looks[1:])  # the untrained policy is no choice
    assert (result["dev"], result["best_steps"]) == (dev, steps)
    assert reports[-1].best == dev
    interval = wilson(round(20 * result["dev"]), 20)
    assert result["wilson95"] == [interval.low, interval.high]
    assert (result["policy"], result["reason"], result["steps"]) == ("policy.pt", "finished", 1024)
    seeds = look_seeds(plain().make_world(), 20)
    assert result["dev_seeds"] == [seeds[0], seeds[-1] + 1]


def test_agents_of_one_episode_are_no_trials_of_their_own(tmp_path: Path) -> None:
    result = train(plain(config={**ROOM, "agents": 2}, steps=1), tmp_path)
    assert 0.0 < result.dev < 1.0
    assert result.wilson95 == pytest.approx(wilson(20 * result.dev, 20)[1:])


def test_the_policies_beside_a_partner_are_those_of_the_learners(tmp_path: Path) -> None:
    config = {**ROOM, "agents": 2}
    told = plain(config=config, partners={"agent_1": "random"}, steps=1)
    result = train(told, tmp_path)
    (policy,) = load_policies(result.policy)
    seeds = look_seeds(told.make_world(), 20)
    won, returns = ppo.play_returns(
        policy, "GridWorld", seeds, partners={"agent_1": "random"}, **config
    )
    last = Folder(tmp_path).history()[-1]
    assert (won.mean(), round(float(returns.mean()), 4)) == (last["dev"], last["return"])


def test_what_is_finished_is_not_looked_at_again(told: Any) -> None:
    folder, *_ = told
    before = Folder(folder).progress.read_bytes(), (folder / "policy.pt").read_bytes()
    assert train(plain(), folder, resume=True).steps == 1024
    assert (Folder(folder).progress.read_bytes(), (folder / "policy.pt").read_bytes()) == before


def test_a_success_that_suffices_ends_a_run_at_the_first_look_after_learning(
    tmp_path: Path,
) -> None:
    result = train(plain(stop_at=0.01), tmp_path / "run")
    assert (result.reason, result.steps) == ("solved", 384)
    assert Folder(tmp_path / "run").history()[0]["dev"] > 0.01  # what was never trained is no end
    assert train(plain(stop_at=0.01), tmp_path / "run", resume=True).steps == 384


def test_a_signal_ends_a_run_after_its_update_and_the_time_of_sessions_is_added(
    tmp_path: Path,
) -> None:
    def stop(progress: Progress) -> None:
        if progress.steps == 256:
            os.kill(os.getpid(), signal.SIGINT)

    broken = train(plain(), tmp_path, report=stop)
    assert (broken.reason, broken.steps) == ("interrupted", 384)
    kept = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    del kept["kept"]["best_return"]  # as in checkpoints of before
    torch.save({**kept, "cpu_seconds": 5000.0}, tmp_path / "checkpoint.pt")
    whole = train(plain(), tmp_path, resume=True)
    assert (whole.reason, whole.steps) == ("finished", 1024)
    assert 5000 <= whole.cpu_seconds < 5500


def test_a_run_that_was_interrupted_looks_and_keeps_what_an_uninterrupted_one_does(
    tmp_path: Path,
) -> None:
    learning = plain(learning_rate=0.02)
    whole = train(learning, tmp_path / "whole")
    ends: list[int] = []

    def stop(progress: Progress) -> None:
        if progress.steps % 256 == 0 and progress.steps not in ends:
            ends.append(progress.steps)
            os.kill(os.getpid(), signal.SIGINT)

    parts = train(learning, tmp_path / "parts", report=stop)
    while parts.reason == "interrupted":
        parts = train(learning, tmp_path / "parts", report=stop, resume=True)
    assert ends == [0, 256, 512, 768, 1024]
    assert replace(parts, policy=whole.policy, cpu_seconds=whole.cpu_seconds) == whole
    found = (left_by(tmp_path / name) for name in ("whole", "parts"))
    history, policies, last = zip(*found, strict=True)
    assert [look[0] for look in history[0]] == [0, 384, 768, 1024]
    assert history[0] == history[1]
    for one, other in (policies, last):
        assert one.keys() == other.keys()
        assert all(torch.equal(value, other[name]) for name, value in one.items())


def left_by(folder: Path) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """What a run saw when it looked, its best parameters and its last ones."""
    looks = [(row["steps"], row["dev"], row["return"]) for row in Folder(folder).history()]
    kept = torch.load(folder / "policy.pt", weights_only=True)["policies"][0]
    checkpoint = torch.load(folder / "checkpoint.pt", weights_only=True)
    return looks, kept, checkpoint["trainer"]["learners"][0]["policy"]


def test_every_learner_has_its_share_of_the_steps(tmp_path: Path) -> None:
    two: dict[str, Any] = {"config": {**ROOM, "agents": 2}, "steps": 600}
    both = BatchRun(plain(**two), Folder(tmp_path), lambda _: None)
    assert (both.total, both.trainer.settings.total_steps) == (768, 384)
    one = BatchRun(plain(**two, partners={"agent_1": "noop"}), Folder(tmp_path), lambda _: None)
    assert (one.total, one.trainer.settings.total_steps) == (640, 640)


def test_files_with_code_in_them_are_not_opened(tmp_path: Path) -> None:
    ended = train(plain(steps=1), tmp_path)
    for name in ("policy.pt", "checkpoint.pt"):
        torch.save({"code": tmp_path}, tmp_path / name)
    with pytest.raises(StorageError, match="holds no policies: UnpicklingError"):
        load_policies(ended.policy)
    with pytest.raises(TrainingError, match="cannot be gone on from: UnpicklingError"):
        train(plain(steps=1), tmp_path, resume=True)
