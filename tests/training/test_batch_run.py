"""``piase train --algo batch_ppo``: a run goes on exactly; plain torch reads its file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from piase_gym.errors import ConfigError, StorageError, TrainingError

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training import ppo  # noqa: E402
from piase_gym.training.batch_run import BatchRun, load_policies  # noqa: E402
from piase_gym.training.evaluation import look_seeds  # noqa: E402
from piase_gym.training.train import TrainSettings, train  # noqa: E402


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
    run: Any = SimpleNamespace(trainer=SimpleNamespace(policies=[sound, broken]), steps=1200)
    with pytest.raises(TrainingError) as caught:
        BatchRun._require_finite(run)
    told = "the policy has diverged: bias holds numbers that are not finite, after 1,200 steps"
    assert str(caught.value) == f"{told}. Try a smaller learning rate"
    run.trainer.policies = [sound]
    BatchRun._require_finite(run)


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
