"""What PPO learns from so many steps: ours, and that of Stable-Baselines3 as it comes.

``python -m piase_gym.benchmarks.studies.sample_efficiency`` trains both on the same id with the
same budget of agent steps and the task's own rewards, each with several seeds, and plays held-out
levels with drawn actions. Runs are jobs (``--workers``, ``--ray``), and are added to
``benchmarks/studies/measured/sample_efficiency.json`` as they end; what is there already is not run
again. docs/training.md shows them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console

from piase_gym.benchmarks.evaluation.evaluate import evaluate, versions
from piase_gym.benchmarks.evaluation.results import by_run
from piase_gym.benchmarks.evaluation.statistics import mean_interval, share_interval
from piase_gym.benchmarks.evaluation.tables import markdown
from piase_gym.benchmarks.studies.jobs import add_backend, errors_told
from piase_gym.core.files import write_json
from piase_gym.jobs import choose_backend, run_jobs
from piase_gym.jobs.together import raise_failed

OUT = Path(__file__).with_name("measured") / "sample_efficiency.json"
TASK, BUDGET, EPISODES = "piase/GridWorld-DoorKey-6x6-v1", 500_000, 200
OURS: Mapping[str, Any] = {
    "algo": "batch_ppo",
    "num_envs": 64,
    "num_steps": 64,
    "minibatch": 512,
    "epochs": 4,
    "learning_rate": 5e-4,
    "eval_every": BUDGET,
    "eval_episodes": 10,
}
"""As many samples an update as budgets of this size ask for."""


def ours(seed: int, folder: Path) -> str:
    """Train the fast learner; return the name of its policy."""
    from piase_gym.training.train import TrainSettings, train_to_end

    settings = TrainSettings(task=TASK, steps=BUDGET, seed=seed, **OURS)
    return train_to_end(settings, folder / "run").name


def theirs(seed: int, folder: Path) -> str:
    """Train the PPO of Stable-Baselines3 with its own settings; return the name of its policy."""
    from stable_baselines3 import PPO

    from piase_gym.adapters import sb3_vec
    from piase_gym.benchmarks.evaluation.levels import train_apart

    vec = sb3_vec(TASK, num_envs=8, infos="none")
    for runner in vec.runners:
        train_apart(runner)
    model = PPO("MlpPolicy", vec, seed=seed, device="cpu")
    model.learn(BUDGET)
    model.save(folder / "model.zip")
    return f"sb3:{folder / 'model.zip'}"


LEARNERS: Mapping[str, Callable[[int, Path], str]] = {
    "fast PPO": ours,
    "PPO of Stable-Baselines3, its own settings": theirs,
}


def measure(learner: str, seed: int) -> dict[str, Any]:
    """Train once, and play held-out levels."""
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        name = LEARNERS[learner](seed, Path(folder))
        seconds = round(time.process_time() - start, 1)
        options: dict[str, Any] = {"split": "new_levels", "references": {}}
        results = evaluate({"trained": name}, TASK, episodes=EPISODES, **options)
    records = results.of(TASK, "trained")
    return {
        "learner": learner,
        "seed": seed,
        "cpu_seconds": seconds,
        "won": by_run(records, lambda record: record.won)[0],
        "values": [round(value, 3) for value in by_run(records)[0]],
    }


def stored(path: Path = OUT) -> dict[str, Any]:
    """Return what was measured so far."""
    empty: dict[str, Any] = {"task": TASK, "steps": BUDGET, "versions": versions(), "runs": []}
    if not path.is_file():
        return empty
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def stored_sections() -> dict[str, str]:
    """Return what docs/training.md shows, by the name of its place."""
    found, rows = stored(), []
    for learner in LEARNERS:
        runs = [run for run in found["runs"] if run["learner"] == learner]
        if runs:
            won = share_interval([run["won"] for run in runs])
            value = mean_interval([run["values"] for run in runs])
            share = f"{won.estimate:.1%} ({won.low:.1%} to {won.high:.1%})"
            gets = f"{value.estimate:.1f} ({value.low:.1f} to {value.high:.1f})"
            spent = sum(run["cpu_seconds"] for run in runs) / len(runs)
            rows.append([learner, str(len(runs)), share, gets, f"{spent:.0f}"])
    if not rows:
        return {"samples": "Not measured yet.\n"}
    head = (f"`{found['task']}`", "runs", "held-out levels won", "return", "CPU-seconds a run")
    return {"samples": markdown(head, rows)}


def run_name(run: tuple[str, int]) -> str:
    """Return what a run is called: its learner and its seed."""
    learner, seed = run
    return f"{learner}, seed {seed}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is lacking, and write down each run as it ends."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=OUT)
    add_backend(parser)
    options = parser.parse_args(arguments)
    found, order = stored(options.out), list(product(range(options.seeds), LEARNERS))
    done = {(run["seed"], run["learner"]) for run in found["runs"]}
    todo, errors = [(name, seed) for seed, name in order if (seed, name) not in done], []
    with errors_told(parser):
        backend = choose_backend(options.workers, options.ray)
        for outcome in run_jobs(todo, lambda run: measure(*run), backend, name=run_name):
            if outcome.error is not None:
                errors.append(outcome.error)
                continue
            run = outcome.value
            found["runs"] = sorted([*found["runs"], run], key=_place)
            write_json(options.out, found)
            share = f"{sum(run['won']) / len(run['won']):.0%}"
            line = f"{outcome.name}: {share}, {run['cpu_seconds']:.0f} CPU-seconds"
            Console().print(line, soft_wrap=True)
        raise_failed(errors, len(todo))


def _place(run: Mapping[str, Any]) -> tuple[int, str]:
    """Return where a run stands in the file."""
    return run["seed"], run["learner"]


if __name__ == "__main__":
    main()
