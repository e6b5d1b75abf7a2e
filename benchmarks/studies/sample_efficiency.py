"""What PPO learns from so many steps: ours, and those of other libraries as they come.

``python -m piase_gym.benchmarks.studies.sample_efficiency`` trains our PPO and those of
Stable-Baselines3 and CleanRL on the same id with the same budget of agent steps and the task's own
rewards, each with several seeds, and plays held-out levels with sampled actions. The variable
`CLEANRL` names a checkout of CleanRL, in which ``cleanrl/ppo.py`` runs unmodified; without the
variable, CleanRL is left out. Runs are jobs (``--workers``, ``--ray``), and are added to
``benchmarks/studies/measured/sample_efficiency.json`` as they end; existing runs are not repeated.
docs/training.md shows the results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console

from piase_gym.benchmarks.evaluation.evaluate import evaluate, versions
from piase_gym.benchmarks.evaluation.results import by_run
from piase_gym.benchmarks.evaluation.statistics import mean_interval, share_interval
from piase_gym.benchmarks.evaluation.tables import markdown
from piase_gym.benchmarks.studies.jobs import add_backend, report_errors
from piase_gym.core.files import write_json
from piase_gym.errors import TrainingError
from piase_gym.jobs import choose_backend, run_jobs
from piase_gym.jobs.missing_lines import raise_failed

OUT = Path(__file__).with_name("measured") / "sample_efficiency.json"
TASK, BUDGET, EPISODES = "piase/GridWorld-DoorKey-6x6-v1", 500_000, 200
OURS: Mapping[str, Any] = {
    "algo": "batch_ppo",
    "num_envs": 64,
    "num_steps": 64,
    "minibatch": 512,
    "epochs": 8,
    "learning_rate": 5e-4,
    "eval_every": BUDGET,
    "eval_episodes": 10,
}
"""The size and number of updates fit this budget; chosen on seeds 101 to 105, which no run uses."""


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
    train_apart(vec.batch)
    model = PPO("MlpPolicy", vec, seed=seed, device="cpu")
    model.learn(BUDGET)
    model.save(folder / "model.zip")
    return f"sb3:{folder / 'model.zip'}"


CHECKOUT = "CLEANRL"
"""The variable that names a checkout of CleanRL."""
RUN_CLEANRL = """
import runpy, sys
import gymnasium, torch
import piase_gym
from piase_gym.benchmarks.evaluation.levels import train_apart

script, task, actor, *options = sys.argv[1:]

def make(**given):
    env = gymnasium.make(f"piase_gym:{task}", **given)
    train_apart(env.unwrapped.runner)
    return env

gymnasium.register("levels-for-training-v0", make)
sys.argv = [script, "--env-id", "levels-for-training-v0", "--no-cuda", *options]
torch.save(runpy.run_path(script, run_name="__main__")["agent"].actor, actor)
"""


def cleanrl(seed: int, folder: Path) -> Callable[[Any], int]:
    """Run CleanRL's ppo.py, unmodified; return a function that samples its policy's actions.

    Raises:
        TrainingError: If the script fails.
    """
    import torch

    script, actor = Path(os.environ[CHECKOUT], "cleanrl", "ppo.py"), folder / "actor.pt"
    options = ["--total-timesteps", str(BUDGET), "--seed", str(seed)]
    command = [sys.executable, "-c", RUN_CLEANRL, str(script.resolve()), TASK, str(actor), *options]
    settings: Any = {"cwd": folder, "env": {**os.environ, "OMP_NUM_THREADS": "1"}}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, **settings)
    if ran.returncode:
        raise TrainingError(f"{script} failed: {ran.stderr.strip()[-200:]}")
    policy = torch.load(actor, weights_only=False)  # written by the lines above
    generator = torch.Generator().manual_seed(seed)

    def draw(percept: Any) -> int:
        with torch.no_grad():
            logits = policy(torch.as_tensor(percept.vector, dtype=torch.float32))
        return int(torch.multinomial(logits.softmax(-1), 1, generator=generator))

    return draw


LEARNERS: Mapping[str, Callable[[int, Path], Any]] = {
    "fast PPO": ours,
    "PPO of Stable-Baselines3, its own settings": theirs,
    "PPO of CleanRL, its own settings": cleanrl,
}


def learners() -> list[str]:
    """Return the learners that are available here."""
    return [
        name for name, train in LEARNERS.items() if train is not cleanrl or CHECKOUT in os.environ
    ]


def measure(learner: str, seed: int) -> dict[str, Any]:
    """Train once, in one thread, and play held-out levels."""
    import torch

    torch.set_num_threads(1)  # networks are small: more threads only wait for each other
    start = cpu_seconds()
    with tempfile.TemporaryDirectory() as folder:
        policy = LEARNERS[learner](seed, Path(folder))
        seconds = round(cpu_seconds() - start, 1)
        options: dict[str, Any] = {"split": "new_levels", "references": {}}
        results = evaluate({"trained": policy}, TASK, episodes=EPISODES, **options)
    records = results.of(TASK, "trained")
    return {
        "learner": learner,
        "seed": seed,
        "cpu_seconds": seconds,
        "won": by_run(records, lambda record: record.won)[0],
        "values": [round(value, 3) for value in by_run(records)[0]],
    }


def cpu_seconds() -> float:
    """Return the CPU-seconds of this process and of the child processes it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def stored(path: Path = OUT) -> dict[str, Any]:
    """Return what has been measured so far."""
    empty: dict[str, Any] = {"task": TASK, "steps": BUDGET, "versions": versions(), "runs": []}
    if not path.is_file():
        return empty
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def stored_sections(path: Path = OUT) -> dict[str, str]:
    """Return what docs/training.md shows, by the name of its place."""
    found, rows = stored(path), []
    for learner in LEARNERS:
        runs = [run for run in found["runs"] if run["learner"] == learner]
        if runs:
            share = share_interval([run["won"] for run in runs]).words(".1%")
            gets = mean_interval([run["values"] for run in runs]).words(".1f")
            spent = sum(run["cpu_seconds"] for run in runs) / len(runs)
            rows.append([learner, str(len(runs)), share, gets, f"{spent:.0f}"])
    if not rows:
        return {"samples": "Not measured yet.\n"}
    head = (f"`{found['task']}`", "runs", "held-out levels won", "return", "CPU-seconds a run")
    return {"samples": markdown(head, rows)}


def run_name(run: tuple[str, int]) -> str:
    """Return the name of a run: its learner and its seed."""
    learner, seed = run
    return f"{learner}, seed {seed}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is missing, and store each run as it ends."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=OUT)
    add_backend(parser)
    options = parser.parse_args(arguments)
    found, order = stored(options.out), list(product(range(options.seeds), learners()))
    if left := LEARNERS.keys() - learners():
        text = f"left out: {', '.join(sorted(left))}; {CHECKOUT} names no checkout"
        Console().print(text, soft_wrap=True)
    done = {(run["seed"], run["learner"]) for run in found["runs"]}
    todo, errors = [(name, seed) for seed, name in order if (seed, name) not in done], []
    with report_errors(parser):
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
    """Return the sort key of a run in the file."""
    return run["seed"], run["learner"]


if __name__ == "__main__":
    main()
