"""Trains the PPO of the references: ``piase bench references --train``.

Every task gets the same settings and the same budget of agent steps, for one policy that all of its
agents share, so the numbers of PPO are those of a short, untuned run, not the best possible ones.
The model is the one at the end of the budget, not the best on the way: before it has learned
anything, a policy plays at random, which wins some tasks more often than a half-trained policy.
"""

from __future__ import annotations

import functools
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch

from piase_gym.agents.sb3_archive import CARD
from piase_gym.benchmarks.evaluation.suites import Problem, Setting
from piase_gym.benchmarks.references.models import ModelFolder, packed, read_card
from piase_gym.core.files import write_whole
from piase_gym.jobs import choose_backend, run_jobs
from piase_gym.training.checkpoints import Folder
from piase_gym.training.train import TrainSettings, train_to_end

BUDGET = 100_000
"""Agent steps for each task."""
RECIPE: Mapping[str, Any] = {
    "algo": "ippo",
    "steps": BUDGET,
    "seed": 0,
    "num_envs": 32,
    "num_steps": 64,
    "minibatch": 512,
    "epochs": 4,
    "width": 64,
    "layers": (64,),
    "eval_every": BUDGET // 4,
    "eval_episodes": 20,
    "save_every": 10 * BUDGET,
}
"""What differs from the defaults of `TrainSettings`."""
WEIGHTS = "policy.pth"


def train_models(
    settings: Sequence[Setting],
    models: ModelFolder,
    *,
    workers: int = 1,
    ray: str | None = None,
    recipe: Mapping[str, Any] = RECIPE,
    report: Callable[[str, Mapping[str, Any]], None] = lambda name, result: None,
) -> list[Problem]:
    """Train a model for every task, and put it into a folder.

    Args:
        settings: The tasks; those that differ only in partners share a model.
        models: Where the models go.
        workers: Number of processes.
        ray: The address of a Ray cluster, which takes the place of processes.
        recipe: Settings of the training.
        report: Called with the name of each finished task and its result.

    Returns:
        The tasks that could not be trained, and why.
    """
    todo = {setting.name: setting for setting in settings}
    problems: dict[str, Problem] = {}
    perform = functools.partial(trained, recipe=dict(recipe))
    backend = choose_backend(workers, ray)
    name = attrgetter("name")
    for outcome in run_jobs(todo.values(), perform, backend, name=name, more=True):
        if outcome.error is None:
            entry, content = outcome.value
            write_whole(models.path(outcome.job), content)
            report(outcome.name, entry)
        else:
            what = f"PPO could not be trained: {outcome.error.reason}"
            problems[outcome.name] = Problem(outcome.name, what)
    return [problems[name] for name in todo if name in problems]


def trained(setting: Setting, recipe: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Train the model of one task.

    Returns:
        ``steps``, ``dev`` (success on the dev seeds at the end), ``cpu_seconds`` and
        ``bytes``; and the model's archive.
    """
    own = TrainSettings(task=setting.task, config=dict(setting.config), **recipe)
    with tempfile.TemporaryDirectory() as folder:
        result = train_to_end(own, Path(folder, "run"))
        dev = Folder(Path(folder, "run")).history()[-1]["dev"]
        kept = Path(folder, "run", "checkpoints")
        last, first = (kept / f"{steps:012d}.zip" for steps in (result.steps, 0))
        content = slim(last, first)
    entry = {"steps": result.steps, "dev": dev, "cpu_seconds": result.cpu_seconds}
    return {**entry, "bytes": len(content)}, content


def slim(trained: Path, first: Path) -> bytes:
    """Return a model's archive with what playing needs, the same bytes for the same numbers.

    Numbers are rounded to half precision, and encodings of symbols that training has never met,
    which are as random as they were at `first`, become zeros. The stored model is the reference.
    """
    weights, before = (_weights(path) for path in (trained, first))
    shared: dict[int, torch.Tensor] = {}  # one tensor may have several names
    for name, values in weights.items():
        if values.data_ptr() not in shared:
            kept = values.clone()
            if name.endswith("encoder.table.weight"):
                kept[(values == before[name]).all(dim=1)] = 0.0
            shared[values.data_ptr()] = kept.half() if kept.is_floating_point() else kept
    rounded = {name: shared[values.data_ptr()] for name, values in weights.items()}
    content = io.BytesIO()
    torch.save(rounded, content)
    return packed({WEIGHTS: content.getvalue(), CARD: json.dumps(read_card(trained))})


def _weights(path: Path) -> dict[str, torch.Tensor]:
    """Return the parameters in a model's archive."""
    with zipfile.ZipFile(path) as archive:
        data = io.BytesIO(archive.read(WEIGHTS))
    found: dict[str, torch.Tensor] = torch.load(data, map_location="cpu", weights_only=True)
    return found
