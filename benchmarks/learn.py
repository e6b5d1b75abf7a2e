"""Trains policies with Stable-Baselines3 and sb3-contrib: what ``piase train`` does.

A run looks at the development seeds between updates, keeps the best policy, stops early if it is
told to, and writes checkpoints from which it goes on exactly as it would have: the same numbers on
the same machine and versions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from piase_gym.benchmarks.checkpoints import Folder
from piase_gym.benchmarks.learn_run import Progress, Run, TrainResult
from piase_gym.benchmarks.learn_settings import (
    ALGORITHMS,
    TrainSettings,
    read_settings_of,
    require_claim,
)
from piase_gym.core.files import write_whole
from piase_gym.errors import MissingExtraError

try:
    import torch
except ModuleNotFoundError as error:
    raise MissingExtraError("training", "train") from error

__all__ = ["ALGORITHMS", "Progress", "TrainResult", "TrainSettings", "read_settings_of", "train"]


def train(
    settings: TrainSettings,
    out: str | Path,
    *,
    resume: bool = False,
    report: Callable[[Progress], None] = lambda progress: None,
) -> TrainResult:
    """Train a policy, or go on with a run that was interrupted.

    SIGINT and SIGTERM end a run after the present update, with a checkpoint; a second one ends it
    at once.

    Args:
        settings: What to train, and how.
        out: The run's folder.
        resume: Whether to go on from the newest checkpoint in it.
        report: Told of the progress after every update.

    Raises:
        ConfigError: If the folder holds a run already, or, with `resume`, another one.
        TrainingError: If the policy diverges, or the checkpoints cannot be used.
        StorageError: If something cannot be written; earlier checkpoints are kept.
    """
    folder = Folder(out)
    require_claim(folder, settings, resume)
    threads = torch.get_num_threads()
    torch.set_num_threads(settings.threads)
    try:
        run = Run(settings, folder, report)
        if not folder.settings.exists():
            write_whole(folder.settings, (settings.model_dump_json(indent=2) + "\n").encode())
        if resume and folder.checkpoints():
            run.go_on()
        return run.train()
    finally:
        torch.set_num_threads(threads)
