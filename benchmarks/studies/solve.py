"""Whether ordinary training solves ordinary tasks, and at what cost.

``python -m piase_gym.benchmarks.studies.solve --out benchmarks/studies/measured/solve.json`` trains
each of `TASKS` through ``piase train``'s own code and plays the policies on the held-out seeds,
with drawn actions.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console

from piase_gym.agents import make_agent
from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.core.files import write_json
from piase_gym.training.evaluation import success
from piase_gym.training.train import TrainSettings, train

TASKS = ("piase/GridWorld-FourRooms-8x8-v1", "piase/GridWorld-DoorKey-6x6-v1")


def solve(settings: TrainSettings, folder: Path) -> dict[str, Any]:
    """Train in a folder and return what came of it on the held-out seeds, JSON-able."""
    result = train(settings, folder)
    seeds = SEEDS["held_out"]
    agent = make_agent(result.name)
    won, played = success(agent, settings.make_world(), dict(settings.partners), seeds)
    interval = wilson(won, played)
    return {
        "settings": settings.model_dump(mode="json"),
        "steps": result.steps,
        "cpu_seconds": result.cpu_seconds,
        "dev": result.dev,
        "held_out_seeds": [seeds.start, seeds.stop],
        "success": interval.estimate,
        "wilson95": [round(interval.low, 4), round(interval.high, 4)],
    }


def main() -> None:
    """Train every task once a seed, and write down each result as it comes."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--algo", default="maskable_ppo")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--steps", type=int, default=3_000_000)
    parser.add_argument("--stop-at", type=float, help="success on the dev seeds to stop at")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    command = shlex.join(["python", "-m", "piase_gym.benchmarks.studies.solve", *sys.argv[1:]])
    kept = {name: versions()[name] for name in ("piase_gym", "python", "torch")}
    found: dict[str, Any] = {"command": command, "versions": kept, "runs": []}
    for task, seed in product(options.tasks, options.seeds):
        given = {"task": task, "algo": options.algo, "seed": seed, "steps": options.steps}
        settings = TrainSettings(**given, stop_at=options.stop_at)
        with tempfile.TemporaryDirectory() as folder:
            row = solve(settings, Path(folder, "run"))
        found["runs"].append(row)
        write_json(options.out, found)
        low, high = row["wilson95"]
        words = f"{row['success']:.1%} [{low:.1%}, {high:.1%}] on held-out seeds"
        cost = f"{row['steps']:,} steps, {row['cpu_seconds']:.0f} CPU-seconds"
        Console().print(f"{task}, seed {seed}: {words}; {cost}", soft_wrap=True)


if __name__ == "__main__":
    main()
