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

from piase_gym.benchmarks.evaluation.evaluate import evaluate
from piase_gym.benchmarks.evaluation.statistics import share_interval
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
EPISODES, SPLIT = 200, "new_levels"
OPTIONS = {"steps": "of each training"}


def learn(seed: int, steps: int) -> dict[str, Any]:
    """Train PPO with masks, and play questions that training never met."""
    from piase_gym.training.train import TrainSettings, train

    settings = TrainSettings(task=TASK, steps=steps, seed=seed, **LEARNING)
    with tempfile.TemporaryDirectory() as folder:
        result = train(settings, Path(folder) / "run")
        won = answers(result.name)
    return {"won": won, "steps": result.steps, "cpu_seconds": result.cpu_seconds}


def answers(policy: str) -> str:
    """Return which questions a policy answers: 1 for each that it does, and 0 for others."""
    results = evaluate(policy, TASK, episodes=EPISODES, split=SPLIT, references={})
    return "".join(str(int(record.won)) for record in results.episodes)


@described
def measure_all(steps: int = BUDGET, seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """Train once a seed.

    Returns:
        JSON-able: ``runs`` (wins by question, steps, CPU-seconds), the number of wins at
        ``random``, ``episodes`` played, and what was measured on.
    """
    runs = [learn(seed, steps) for seed in seeds]
    random = answers("random").count("1")
    return {"runs": runs, "random": random, "episodes": EPISODES}


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured in a sentence."""
    runs, count = found["runs"], found["episodes"]
    seconds = sum(run["cpu_seconds"] for run in runs) / len(runs)
    won = ", ".join(str(run["won"].count("1")) for run in runs)
    share, low, high = share_interval([[float(sign) for sign in run["won"]] for run in runs])
    text = (
        f"PPO with masks, {runs[0]['steps']:,} steps in {seconds:.0f} CPU-seconds: of {count} "
        f"questions that training never met it answers {won} (seeds of the training; "
        f"{100 * share:.0f} %, 95 % interval {100 * low:.0f} to {100 * high:.0f}), where random "
        f"play answers {found['random']}."
    )
    return {"learning": Section([], [text, about(found)])}
