"""PPO learns PhysicsPlayground's `reach`, and is judged on seeds that it has never seen.

Run it with ``python -m piase_gym.benchmarks.studies.physics_reach`` (extras `physics` and `train`).
"""

from __future__ import annotations

import argparse
import json
import shlex
import time
from pathlib import Path
from typing import Any

import gymnasium
from rich.console import Console

import piase_gym  # noqa: F401  # registers the ids
from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.core.files import write_json

TASK = "piase/PhysicsPlayground-Reach-v2"
FILE = Path(__file__).with_name("measured") / "physics_reach.json"
DEV_SEEDS = SEEDS["dev"]
"""Test episodes take these seeds in order; training counts up from 0."""


def make(seed: int) -> Any:
    """Return a function that makes one environment, for SB3's vectors."""

    def build() -> Any:
        from stable_baselines3.common.monitor import Monitor

        env = Monitor(gymnasium.make(TASK, actions="continuous"))
        env.reset(seed=seed)
        return env

    return build


def train(steps: int, seed: int = 0, envs: int = 8) -> Any:
    """Return a policy that has learned for `steps` environment steps."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    torch.set_num_threads(1)
    vector = VecNormalize(
        DummyVecEnv([make(seed + i) for i in range(envs)]), norm_obs=False, gamma=0.98
    )
    model = PPO(
        "MlpPolicy",
        vector,
        n_steps=256,
        batch_size=512,
        gamma=0.98,
        ent_coef=0.001,
        learning_rate=1e-3,
        seed=seed,
        device="cpu",
    )
    model.learn(steps)
    vector.close()
    return model


def judge(model: Any, episodes: int) -> tuple[float, float]:
    """Return the share of episodes won on `DEV_SEEDS`, and their mean length."""
    env = gymnasium.make(TASK, actions="continuous")
    won, lengths = 0, []
    for episode in range(episodes):
        observation, _ = env.reset(seed=DEV_SEEDS.start + episode)
        for step in range(1, 10_000):
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                won += info["result"] == "won"
                lengths.append(step)
                break
    env.close()
    return won / episodes, sum(lengths) / episodes


def stored_sections() -> dict[str, str]:
    """Return what docs/speed.md shows, from the stored result."""
    reach = json.loads(FILE.read_text("utf-8"))
    won = wilson(reach["won"], reach["episodes"])
    text = (
        f"after {reach['steps']:,} steps it won {reach['won']} of {reach['episodes']} episodes "
        f"on dev seeds, {won.estimate:.1%} ({won.low:.1%} to {won.high:.1%}, 95 % interval); it "
        f"took {reach['cpu_seconds']:.0f} CPU-seconds, seed {reach['seed']}.\n"
    )
    return {"physics_reach": text}


def main() -> None:
    """Train, test and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200_000, help="environment steps of training")
    parser.add_argument("--episodes", type=int, default=200, help="episodes on dev seeds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a JSON file to write what came of it to")
    given = parser.parse_args()
    start = time.process_time()
    model = train(given.steps, given.seed)
    spent = time.process_time() - start
    success, length = judge(model, given.episodes)
    if given.out is not None:
        found = {
            "command": shlex.join(["python", "-m", "piase_gym.benchmarks.studies.physics_reach"])
            + f" --steps {given.steps} --episodes {given.episodes} --seed {given.seed}",
            "task": TASK,
            "steps": given.steps,
            "seed": given.seed,
            "cpu_seconds": round(spent, 1),
            "episodes": given.episodes,
            "won": round(success * given.episodes),
            "length": round(length, 1),
            "versions": versions(),
        }
        write_json(given.out, found)
    Console().print(
        f"{TASK}: PPO, {given.steps:,} steps in {spent:.0f} CPU-seconds, seed {given.seed}: "
        f"{success:.1%} of {given.episodes} episodes on dev seeds won, "
        f"{length:.0f} steps on average"
    )


if __name__ == "__main__":
    main()
