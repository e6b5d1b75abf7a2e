"""Whether ordinary training solves ordinary tasks, and at what cost.

``python -m piase_gym.benchmarks.studies.solve --out benchmarks/studies/measured/solve.json`` trains
each of `TASKS` through ``piase train``'s own code and plays the policies on the held-out seeds,
with sampled actions. Trainings are jobs (``--workers``, ``--ray``); finished ones are not repeated.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from piase_gym.agents import make_agent
from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.benchmarks.studies.jobs import Line, add_backend, do_all, read_once, report_errors
from piase_gym.core.digest import digest_json
from piase_gym.core.files import write_json
from piase_gym.training.evaluation import look
from piase_gym.training.train import TrainSettings, train_to_end

TASKS = ("piase/GridWorld-FourRooms-8x8-v1", "piase/GridWorld-DoorKey-6x6-v1")


def solve(settings: TrainSettings, folder: Path) -> dict[str, Any]:
    """Train in a folder and return the result on the held-out seeds, JSON-able."""
    result = train_to_end(settings, folder)
    seeds = SEEDS["held_out"]
    agent = make_agent(result.name)
    found = look(agent, settings.make_world(), dict(settings.partners), seeds)
    interval = wilson(found.won * len(seeds) / found.played, len(seeds))
    return {
        "settings": settings.model_dump(mode="json"),
        "steps": result.steps,
        "cpu_seconds": result.cpu_seconds,
        "dev": result.dev,
        "held_out_seeds": [seeds.start, seeds.stop],
        "success": interval.estimate,
        "wilson95": [round(interval.low, 4), round(interval.high, 4)],
    }


@dataclass(frozen=True)
class Job:
    """A training and its evaluation."""

    settings: TrainSettings

    @property
    def key(self) -> str:
        """The hash of everything that the result depends on."""
        return digest_json(self.settings.model_dump(mode="json"))

    def __str__(self) -> str:
        """Name the task and the seed."""
        return f"{self.settings.task}, seed {self.settings.seed}"


def perform(job: Job) -> dict[str, Any]:
    """Do a job; return its line."""
    with tempfile.TemporaryDirectory() as folder:
        return {"key": job.key, **solve(job.settings, Path(folder, "run"))}


def result_words(line: Line) -> str:
    """Return the result of a job in words."""
    settings, (low, high) = line["settings"], line["wilson95"]
    words = f"{line['success']:.1%} [{low:.1%}, {high:.1%}] on held-out seeds"
    cost = f"{line['steps']:,} steps, {line['cpu_seconds']:.0f} CPU-seconds"
    return f"{settings['task']}, seed {settings['seed']}: {words}; {cost}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train every task once per seed; each result is a line of a file next to the summary."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--algo", default="maskable_ppo")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--steps", type=int, default=3_000_000)
    parser.add_argument("--stop-at", type=float, help="success on the dev seeds to stop at")
    parser.add_argument("--out", type=Path, required=True)
    add_backend(parser)
    options = parser.parse_args(arguments)
    fields = {"algo": options.algo, "steps": options.steps, "stop_at": options.stop_at}
    places = product(options.tasks, options.seeds)
    jobs = [Job(TrainSettings(task=task, seed=seed, **fields)) for task, seed in places]
    lines = options.out.with_suffix(".jsonl")
    with report_errors(parser):
        do_all(jobs, perform, lines, result_words, options.workers, options.ray)
    done = {line["key"]: line for line in read_once(lines)}
    words = sys.argv[1:] if arguments is None else arguments
    command = shlex.join(["python", "-m", "piase_gym.benchmarks.studies.solve", *words])
    kept = {name: versions()[name] for name in ("piase_gym", "python", "torch")}
    runs = [{name: done[job.key][name] for name in done[job.key] if name != "key"} for job in jobs]
    write_json(options.out, {"command": command, "versions": kept, "runs": runs})


if __name__ == "__main__":
    main()
