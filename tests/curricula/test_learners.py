"""Learners over curricula: Gymnasium's wrappers, SB3's vector environments, SuperSuit."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import piase_gym
from piase_gym.adapters import sb3_vec
from piase_gym.errors import AgentError, ConfigError
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from piase_gym.wrappers.keep_agents import KeepAgents
from tests.curricula.example_curricula import CORNER, RIGHT, STAY, STAYS, curriculum, step, told

ID = "piase_gym:piase/GridWorld-v1"


def learner(**options: Any) -> Any:
    return CurriculumWrapper(gymnasium.make(ID), CORNER, **options)


# -- Gymnasium ---------------------------------------------------------------------------------


def test_the_twin_decides_as_the_parallel_env_does() -> None:
    env = learner()
    while env.progress["agent_0"].active:
        observation, info = env.reset(seed=1)
        assert info["seed"] == 1
        over = False
        while not over:
            observation, _, terminated, truncated, _ = env.step(STAY)
            assert observation in env.observation_space
            over = terminated or truncated
    assert told(env) == STAYS


def test_the_twin_passes_gymnasiums_checker() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # hints about spaces, not faults
        check_env(learner(), skip_render_check=True)


def test_gymnasiums_wrappers_go_around_it() -> None:
    inner = learner()
    env = gymnasium.wrappers.RecordEpisodeStatistics(
        gymnasium.wrappers.FrameStackObservation(
            gymnasium.wrappers.NormalizeReward(gymnasium.wrappers.TimeLimit(inner, 500)), 2
        )
    )
    lengths = []
    while inner.progress["agent_0"].active:
        observation, _ = env.reset()
        over = False
        while not over:
            assert observation in env.observation_space
            observation, _, terminated, truncated, info = env.step(STAY)
            over = terminated or truncated
        lengths.append(info["episode"]["l"])
    assert told(inner) == STAYS
    assert lengths == [20, 20, 20, 30, 30, 30]


def test_the_learners_partners_play_on_in_bigger_worlds() -> None:
    plan = curriculum(
        step(1), step(2, config={"agents": 3, "start_pos": None, "width": 6, "height": 4})
    )
    env = CurriculumWrapper(gymnasium.make(ID), plan)
    env.reset(seed=0)
    for _ in range(40):
        _, _, terminated, truncated, _ = env.step(RIGHT)
        if terminated or truncated:
            env.reset()
    assert len(env.unwrapped.world.agents) == 3
    assert sorted(env.unwrapped.runner.partners) == [1, 2]
    assert env.decisions[0].decision == "PROCEED"
    assert env.unwrapped.config.agents == 3


def test_a_partner_has_no_curriculum() -> None:
    inner = gymnasium.make(ID, agents=2)
    with pytest.raises(AgentError, match=r"agent_1.*caller's agents are agent_0"):
        CurriculumWrapper(inner, {"agent_1": CORNER})


# -- Stable-Baselines3 -------------------------------------------------------------------------


def test_a_spec_makes_a_learner_again_that_goes_on_from_its_progress(tmp_path: Path) -> None:
    env = learner(progress=tmp_path / "progress.json")
    for _ in range(2):
        env.reset(seed=0)
        while not any(env.step(STAY)[2:4]):
            pass
    env.close()
    again: Any = gymnasium.make(env.spec)
    assert again.progress == env.progress
    assert again.progress["agent_0"].step_attempts == {1: 3}


def half() -> Any:
    won = [{"metric": "success_rate", "operator": ">=", "value": 0.5}]
    rows = {"completion_criteria": won, "episodes_per_attempt": 4}
    return curriculum(step(1, **rows), step(2, config={"width": 5, "goal_pos": [4, 1]}, **rows))


def test_sb3s_vector_env_seeds_every_environment() -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")

    def play(seed: int) -> tuple[list[bytes], list[int]]:
        made = [CurriculumWrapper(gymnasium.make(ID), half()) for _ in range(3)]
        vec = vec_env.DummyVecEnv([lambda env=env: env for env in made])
        vec.seed(seed)
        vec.reset()
        seeds = [info["seed"] for info in vec.reset_infos]
        rng = np.random.default_rng(0)
        for _ in range(150):
            vec.step(rng.choice([1, 3, 3], 3))
        return [d.to_bytes() for env in made for d in env.decisions], seeds

    decisions, seeds = play(5)
    assert seeds == [5, 6, 7]
    assert len(decisions) >= 3
    assert play(5) == (decisions, seeds)


def test_ppo_learns_through_a_curriculum() -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    env = CurriculumWrapper(gymnasium.make(ID), half())
    model = sb3.PPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=1, seed=3, device="cpu")
    model.learn(256)
    assert env.progress["agent_0"].step_attempts[1] >= 1
    assert sum(d.env_steps for d in env.decisions) <= 256


def test_the_slots_of_a_batch_as_sb3s_vector_env(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")

    def play(seed: int, log: Path | None = None) -> list[bytes]:
        batch = piase_gym.batch_env("GridWorld", num_envs=4, autoreset="same_step")
        env = CurriculumWrapper(batch, half())
        outer = AvtLogger(env, log) if log else env
        assert outer.unwrapped is batch
        vec = sb3_vec(outer)
        vec.seed(seed)
        vec.reset()
        assert [info["seed"] for info in vec.reset_infos] == [seed, seed + 1, seed + 2, seed + 3]
        rng = np.random.default_rng(0)
        for _ in range(100):
            vec.step(rng.choice([1, 3, 3], 4))
        return [decision.to_bytes() for decision in env.decisions]

    assert len(play(9)) >= 3
    assert play(9) == play(9, tmp_path / "run.arrow")
    with pytest.raises(ConfigError, match="same_step"):
        sb3_vec(piase_gym.batch_env("GridWorld", num_envs=2))


# -- SuperSuit ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_supersuits_vector_env() -> None:
    supersuit = pytest.importorskip("supersuit")
    inner = piase_gym.parallel_env("GridWorld", agents=2, view="vector")
    rows = [
        {**step(order), "environment_config_overrides": {"width": 4, "height": 2, "goal_pos": g}}
        for order, g in ((1, [3, 0]), (2, [3, 1]))
    ]
    plan = curriculum(*rows, lead="agent_0")
    env = CurriculumWrapper(inner, plan)
    vec = supersuit.pettingzoo_env_to_vec_env_v1(KeepAgents(env))
    observations, _ = vec.reset(seed=4)
    for _ in range(60):
        observations, *_ = vec.step(np.array([STAY, STAY]))
        assert all(row in vec.observation_space for row in observations)
    assert [d.agent for d in env.decisions][:2] == ["agent_0", "agent_1"]
    assert env.progress["agent_0"].step_attempts[1] >= 5
