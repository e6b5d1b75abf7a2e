"""Worlds that no kernel steps are trained in as those with one are, only slower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks import evaluate
from piase_gym.benchmarks.evaluation.levels import level_of, part_of
from piase_gym.benchmarks.evaluation.suites import Row, Suite
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.sync_batch import SyncBatch
from piase_gym.errors import ConfigError

torch = pytest.importorskip("torch")

from piase_gym.training import environments, playing, ppo  # noqa: E402
from piase_gym.training.batch_run import load_policies  # noqa: E402
from piase_gym.training.environments import make_envs  # noqa: E402
from piase_gym.training.train import TrainSettings, train  # noqa: E402

RECALL = Suite(name="recall", rows=(Row(task="piase/TextRoom-Recall-4-v3"),))
TAG: dict[str, Any] = {"task": "piase/GridWorld-Tag-10x10-4p-v2", "max_steps": 15}


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let array worlds be stepped one after the other."""
    monkeypatch.setattr(environments, "steps_in_batches", lambda world: False)


@pytest.mark.parametrize("autoreset", ["same_step", "disabled"])
@pytest.mark.parametrize("partners", [None, {"agent_3": "random"}])
def test_they_are_stepped_as_a_batch_is(
    autoreset: str, partners: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_envs(**TAG, num_envs=5, autoreset=autoreset, partners=partners)
    one_by_one(monkeypatch)
    envs = make_envs(**TAG, num_envs=5, autoreset=autoreset, partners=partners)
    assert type(batch) is BatchEnv
    assert isinstance(envs, SyncBatch)
    assert (envs.agents, envs.num_envs) == (batch.agents, batch.num_envs)
    assert envs.observation_space == batch.observation_space
    assert envs.action_space == batch.action_space
    rng, seeds = np.random.default_rng(0), 7 if autoreset == "same_step" else [3, 9, 4, 4, 1]
    (seen, told), (shown, infos) = batch.reset(seeds), envs.reset(seeds)
    over = 0
    for _ in range(40):
        alive = told["alive"]
        assert (infos["alive"] == alive).all()
        assert (shown[alive] == seen[alive]).all()
        assert (infos["action_mask"][alive] == told["action_mask"][alive]).all()
        assert infos["action_mask"].any(-1).all(), "those who have ended can draw, too"
        if not alive.any():
            break
        acts = rng.integers(0, batch.action_space.n, alive.shape)
        seen, *brought, told = batch.step(acts)
        shown, *earned, infos = envs.step(acts)
        assert all((x == y).all() for x, y in zip(earned, brought, strict=True))
        assert (infos["result"] == told["result"]).all()
        if autoreset == "same_step":
            ended = told["_final_obs"]
            assert (infos["_final_obs"] == ended).all()
            assert (infos["final_obs"][~ended] == shown[~ended]).all()
            last = ended[:, None] & (brought[1] | brought[2])
            assert (infos["final_obs"][last] == told["final_obs"][last]).all()
            over += int(ended.sum())
        else:
            over += int((alive & ~infos["alive"]).sum())
    assert over > 5
    seats = [envs.world.agents.index(name) for name in envs.agents]
    for e in range(5):
        ours, theirs = envs.single(e), batch.single(e)
        assert [ours.result(seat) for seat in seats] == [theirs.result(seat) for seat in seats]
    envs.close()


def settings(**changes: Any) -> TrainSettings:
    """Settings of a small run."""
    small: dict[str, Any] = {"num_envs": 4, "num_steps": 16, "minibatch": 32, "width": 16}
    small |= {"steps": 640, "eval_every": 200, "eval_episodes": 5, "save_every": 64}
    return TrainSettings(**{**small, "algo": "batch_ppo", "memory": 8, **changes})


def parameters(folder: Path) -> dict[str, Any]:
    """The last parameters of a run."""
    found = torch.load(folder / "checkpoint.pt", weights_only=True)
    policy: dict[str, Any] = found["trainer"]["learners"][0]["policy"]
    return policy


def test_training_learns_the_same_in_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = settings(task="piase/GridWorld-Empty-5x5-v1", training_reward="small_costs")
    fast = train(plan, tmp_path / "fast")
    one_by_one(monkeypatch)
    slow = train(plan, tmp_path / "slow")
    assert (slow.dev, slow.best_steps, slow.steps) == (fast.dev, fast.best_steps, fast.steps)
    one, other = parameters(tmp_path / "fast"), parameters(tmp_path / "slow")
    assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_a_broken_run_in_words_ends_as_an_unbroken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = settings(task="piase/TextRoom-Recall-4-v3")
    whole = train(plan, tmp_path / "whole")

    def stop(progress: Any) -> None:
        if progress.steps >= 320:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(plan, tmp_path / "parts", report=stop)
    parts = train(plan, tmp_path / "parts", resume=True)
    assert (parts.dev, parts.best_steps, parts.steps) == (whole.dev, whole.best_steps, whole.steps)
    one, other = parameters(tmp_path / "whole"), parameters(tmp_path / "parts")
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    (policy,) = load_policies(whole.policy)
    made: list[int] = []
    make = playing.make_envs
    monkeypatch.setattr(playing, "make_envs", lambda *a, **k: made.append(a[1]) or make(*a, **k))
    whole_part = ppo.play_returns(policy, plan.task, range(7), greedy=True)
    monkeypatch.setattr(playing, "AT_ONCE", 3)
    in_parts = ppo.play_returns(policy, plan.task, range(7), greedy=True)
    assert made == [7, 3, 3, 1]
    assert all((one == other).all() for one, other in zip(whole_part, in_parts, strict=True))
    assert in_parts[0].shape == in_parts[1].shape == (7, 1)
    played = evaluate({"trained": f"ppo:{whole.policy}"}, RECALL, episodes=6, references={})
    assert len(played.of("piase/TextRoom-Recall-4-v3", "trained")) == 6


def test_they_meet_training_levels_alone() -> None:
    plan = ppo.Settings(num_envs=3, num_steps=64, total_steps=192, minibatch=96, width=16)
    trainer = ppo.Trainer("piase/TextRoom-Quest-Easy-v3", plan, 0, max_steps=8)
    for _ in range(4):
        trainer.act()
        for env in trainer.env.envs:
            world = env.world
            assert part_of(level_of(world, env.runner.seed)) == "train"


def test_what_needs_a_kernel_is_named() -> None:
    for changes, told in (
        ({"central": True}, "central needs a batched kernel; TextRoom has none"),
        (
            {"training_reward": "own_costs_later"},
            "training_reward 'own_costs_later' needs a batched kernel; TextRoom has none",
        ),
    ):
        with pytest.raises(ConfigError, match=told):
            settings(task="TextRoom", **changes)
    with pytest.raises(ConfigError, match="is too many: TextRoom is stepped one environment"):
        make_envs("TextRoom", (1 << 16) + 1, "same_step")
