"""The PPO in one file learns, and its parts do what the papers say."""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from piase_gym.errors import StorageError
from tests.paths import ROOT

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

TINY: dict[str, Any] = {"width": 4, "height": 4, "max_steps": 12}


@pytest.fixture(scope="module")
def ppo() -> ModuleType:
    """The module, imported when torch is known to be there."""
    return importlib.import_module("piase_gym.training.ppo")


def settings(ppo: ModuleType, **changes: Any) -> Any:
    """Settings for tiny maps."""
    small = {"num_envs": 64, "num_steps": 16, "width": 64, "minibatch": 256, "epochs": 4}
    return ppo.Settings(**{**small, "learning_rate": 5e-3, **changes})


def test_it_learns_a_tiny_map_on_levels_it_never_saw(ppo: ModuleType) -> None:
    trainer = ppo.Trainer("GridWorld", settings(ppo, total_steps=40_000), 0, **TINY)
    before = ppo.evaluate(trainer.policy, "GridWorld", **TINY)
    trainer.train()
    after = ppo.evaluate(trainer.policy, "GridWorld", **TINY)
    assert before < 0.5
    assert after > 0.9


def test_who_dies_has_not_won(ppo: ModuleType) -> None:
    """A corridor with the goal on one side and a deadly hazard on the other."""
    corridor = {"map": ["~@G", "###"], "layout": "custom", "hazard_ends": True, "max_steps": 40}
    trainer = ppo.Trainer("GridWorld", settings(ppo), 0, **corridor)
    won = ppo.play(trainer.policy, trainer.env.world.config, range(200))
    assert won.shape == (200, 1)
    assert 50 < won.sum() < 150
    pair = {**TINY, "agents": 2, "partners": {"agent_0": "random"}}
    trainer = ppo.Trainer("GridWorld", settings(ppo), 0, **pair)
    assert ppo.play(trainer.policy, "GridWorld", range(8), **pair).shape == (8, 1)


def test_several_agents_share_one_policy(ppo: ModuleType) -> None:
    small = settings(ppo, total_steps=2 * 64 * 16)
    trainer = ppo.Trainer("GridWorld", small, 0, agents=3, **TINY)
    before = [p.clone() for p in trainer.policy.parameters()]
    trainer.train()
    assert trainer.steps == small.total_steps
    assert any((a != b).any() for a, b in zip(before, trainer.policy.parameters(), strict=True))
    # Who has ended and waits for the others teaches nothing.
    waiting = ~trainer.rollout.alive
    assert waiting.any()
    assert not trainer.rollout.rewards[waiting].any()
    assert len(trainer.rollout.samples()["actions"]) == int((~waiting).sum())


def test_observations_may_be_quantities(ppo: ModuleType) -> None:
    """Against one who always cooperates it pays to defect: 5 instead of 3."""
    from piase_gym.training.networks import QuantityEncoder

    config = {"rounds": 1, "partners": {"agent_1": "always_cooperate"}}
    trainer = ppo.Trainer("SocialDilemma", settings(ppo, total_steps=16 * 64 * 6), 0, **config)
    assert trainer.env.observation_space.dtype == np.float32
    trainer.train()
    choice, _ = trainer.policy(*(torch.as_tensor(x).flatten(0, 1) for x in start(trainer)))
    assert (choice.probs[:, 1] > 0.9).all()
    encoder = QuantityEncoder(2, 4)
    flipped = encoder.linear(torch.tensor([[-np.log(9.0), 0.0]], dtype=torch.float32)).relu()
    assert torch.allclose(encoder(torch.tensor([[-8.0, 0.0]])), flipped)


def test_a_greedy_player_takes_what_is_most_probable_and_others_draw(ppo: ModuleType) -> None:
    corridor = {"map": ["@..G", "####"], "layout": "custom", "max_steps": 3}
    trainer = ppo.Trainer("GridWorld", settings(ppo), 0, **corridor)
    east = [command.parameters == {"direction": "east"} for command in trainer.env.world.commands]
    torch.nn.init.zeros_(trainer.policy.actor.weight)
    trainer.policy.actor.bias.data[east.index(True)] = 1.0
    won, returns = ppo.play_returns(trainer.policy, "GridWorld", range(50), True, **corridor)
    assert won.all()
    table = trainer.env.world.config.rewards
    np.testing.assert_allclose(returns, table.goal + 2 * table.move)
    drawn = ppo.play(trainer.policy, "GridWorld", range(50), **corridor)
    assert 0 < drawn.sum() < 50
    assert (ppo.play(trainer.policy, "GridWorld", range(50), **corridor) == drawn).all()


def start(trainer: Any) -> tuple[Any, Any]:
    """Observations and masks of fresh episodes."""
    shown, infos = trainer.env.reset(0)
    return shown, infos["action_mask"]


def test_the_seed_decides_everything(ppo: ModuleType) -> None:
    def trained(seed: int) -> Any:
        trainer = ppo.Trainer("GridWorld", settings(ppo, total_steps=4096), seed, **TINY)
        trainer.train()
        return trainer.policy

    first, second, other = trained(3), trained(3), trained(4)
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name
    assert not torch.equal(first.actor.weight, other.actor.weight)


def test_training_never_meets_the_held_out_levels(ppo: ModuleType) -> None:
    trainer = ppo.Trainer("GridWorld", settings(ppo, total_steps=8192), 0, **TINY)
    met: set[int] = set()
    step = trainer.env.step

    def watched(actions: Any) -> Any:
        met.update(trainer.env.seeds().tolist())
        return step(actions)

    trainer.env.step = watched
    trainer.train()
    assert len(met) > 500
    assert not met & set(ppo.HELD_OUT)


def test_advantages_are_the_sum_of_their_definition(ppo: ModuleType) -> None:
    # Schulman et al. 2016, equation 16, summed term by term up to the end of the episode.
    rng = np.random.default_rng(0)
    steps, slots, gamma, lam = 9, 4, 0.9, 0.8
    rollout = ppo.Rollout(ppo.Settings(num_steps=steps), slots, 3, 2)
    for name in ("rewards", "values"):
        getattr(rollout, name)[:] = torch.as_tensor(rng.normal(size=(steps, slots)))
    rollout.dones[:] = torch.as_tensor(rng.random((steps, slots)) < 0.3)
    last = torch.as_tensor(rng.normal(size=slots).astype(np.float32))
    rollout.estimate(last, gamma, lam)
    values = np.vstack([rollout.values.numpy(), last.numpy()])
    for slot in range(slots):
        for start in range(steps):
            total, weight = 0.0, 1.0
            for t in range(start, steps):
                done = bool(rollout.dones[t, slot])
                after = 0.0 if done else values[t + 1, slot]
                total += weight * (rollout.rewards[t, slot] + gamma * after - values[t, slot])
                weight *= gamma * lam
                if done:
                    break
            np.testing.assert_allclose(rollout.advantages[start, slot], total, rtol=1e-4, atol=1e-5)


def test_episodes_out_of_time_are_bootstrapped_and_won_ones_are_not(ppo: ModuleType) -> None:
    fixed = {"start_pos": (0, 0), "goal_pos": (1, 0), "max_steps": 2, "width": 3, "height": 3}
    small = settings(ppo, num_envs=32, num_steps=2, total_steps=64)
    trainer = ppo.Trainer("GridWorld", small, 0, **fixed)
    torch.nn.init.zeros_(trainer.policy.critic.weight)
    torch.nn.init.constant_(trainer.policy.critic.bias, 100.0)  # every value is 100
    trainer.act()
    rewards, dones = trainer.rollout.rewards, trainer.rollout.dones.bool()
    table = trainer.env.world.config.rewards
    won = (rewards[0] - table.goal * small.reward_scale).abs() < 1e-6
    assert won.any()
    assert torch.equal(dones[0], won)
    cut = dones[1] & ~won & ((rewards[1] - table.goal * small.reward_scale).abs() > 1e-6)
    assert cut.any()
    assert (rewards[1][cut] > 0.99 * 100 - 1.0).all()


def test_where_observations_tell_the_limit_its_end_is_worth_nothing_more(ppo: ModuleType) -> None:
    trainer = ppo.Trainer(
        "WordCraft", settings(ppo, num_envs=8, num_steps=4, reward_scale=1.0), 0, max_steps=2
    )
    rollout = trainer.rollout
    trainer.act()
    assert bool(rollout.dones.any())
    paid = {round(float(reward), 3) for reward in rollout.rewards.flatten()}
    assert paid <= {-0.1, 0.0, 1.0}  # what the world pays; no value of a last observation


def test_illegal_actions_are_never_taken(ppo: ModuleType) -> None:
    trainer = ppo.Trainer("GridWorld", settings(ppo), 0, layout="door_key", width=6, height=6)
    trainer.act()
    rollout = trainer.rollout
    assert (rollout.masks == 0).any()
    assert rollout.masks.gather(-1, rollout.actions[..., None]).all()


def test_the_command_writes_its_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "results.json"
    words = ["piase/GridWorld-Empty-5x5-v1", "--seeds", "0", "1", "--out", str(out)]
    small = ["--total-steps", "512", "--num-envs", "16", "--num-steps", "16"]
    script = str(ROOT / "examples" / "ppo_batch.py")
    monkeypatch.setattr(sys, "argv", [script, *words, *small])
    runpy.run_path(script, run_name="__main__")
    results = json.loads(out.read_text("utf-8"))
    assert [run["seed"] for run in results["runs"]] == [0, 1]
    assert results["held_out_seeds"] == 1000
    for run in results["runs"]:
        low, high = run["sampled"]["wilson95"]
        assert low <= run["sampled"]["success"] <= high
        assert run["steps"] == 512


def test_nothing_is_trained_that_cannot_be_stored(
    ppo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    words = ["ppo_batch.py", "GridWorld", "--out", str(tmp_path / "file" / "results.json")]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(ppo, "run", lambda *_: pytest.fail("something was trained"))
    with pytest.raises(StorageError, match="file is a file; name a folder"):
        ppo.main()
