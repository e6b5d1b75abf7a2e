"""How well PPO learns the easiest stage of SqlQuery.

Run it with ``python -m piase_gym.benchmarks.sql_query_learning``; what is found is stored in
``benchmarks/measured/sql_query_learning.json``, from which ``docs/make_pages.py`` writes a part of
docs/intercode.md. It trains as ``piase train`` does, with masks, and plays questions that training
does not meet.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.agents import make_agent
from piase_gym.benchmarks.evaluation import protocol
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.benchmarks.speed.shown import Section, about, described

FILE = OUT = Path(__file__).parents[1] / "measured" / "sql_query_learning.json"
TASK = "piase/SqlQuery-First-v3"
LEARNING: Mapping[str, Any] = {
    "algo": "maskable_ppo",
    "num_envs": 64,
    "num_steps": 32,
    "minibatch": 512,
    "epochs": 4,
    "entropy": 0.02,
}
BUDGET = 120_000
"""Steps of the training."""
SEEDS = range(1, 4)
"""Of the training."""
HELD_OUT = protocol.SEEDS["held_out"][:200]
OPTIONS = {"steps": "of each training"}


def learn(seed: int, steps: int) -> dict[str, Any]:
    """Train PPO with masks, and play the questions that were held out."""
    from piase_gym.training.train import TrainSettings, train

    settings = TrainSettings(task=TASK, steps=steps, seed=seed, **LEARNING)
    with tempfile.TemporaryDirectory() as folder:
        result = train(settings, Path(folder) / "run")
        won = wins(f"sb3:{result.policy}")
    return {"won": won, "steps": result.steps, "cpu_seconds": result.cpu_seconds}


def wins(policy: str) -> int:
    """Return how many of the questions held out a policy answers."""
    from piase_gym.training.evaluation import look

    env = piase_gym.parallel_env(TASK, view="vector")
    return look(make_agent(policy), env.world, {}, HELD_OUT).won


@described
def measure_all(steps: int = BUDGET, seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """Train once a seed.

    Returns:
        JSON-able: ``runs`` (wins, steps, CPU-seconds), the wins at ``random``, ``episodes``, and
        what was measured on.
    """
    runs = [learn(seed, steps) for seed in seeds]
    return {"runs": runs, "random": wins("random"), "episodes": len(HELD_OUT)}


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured in a sentence."""
    runs, count = found["runs"], found["episodes"]
    seconds = sum(run["cpu_seconds"] for run in runs) / len(runs)
    won = ", ".join(f"{run['won']}" for run in runs)
    share, low, high = wilson(sum(run["won"] for run in runs), count * len(runs))
    told = (
        f"PPO with masks, {runs[0]['steps']:,} steps in {seconds:.0f} CPU-seconds: of {count} "
        f"questions that were held out it answers {won} (seeds of the training; {100 * share:.0f} "
        f"%, 95 % interval {100 * low:.0f} to {100 * high:.0f}), where random play answers "
        f"{found['random']}."
    )
    return {"learning": Section([], [told, about(found)])}
