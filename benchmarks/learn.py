"""Trains policies with Stable-Baselines3 and sb3-contrib: what ``piase train`` does.

A run looks at the development seeds between updates, keeps the best policy, stops early if it is
told to, and writes checkpoints from which it goes on exactly as it would have: the same numbers on
the same machine and versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from piase_gym.benchmarks.checkpoints import Folder
from piase_gym.benchmarks.learn_run import Progress, Run, TrainResult
from piase_gym.benchmarks.learn_settings import ALGORITHMS, TrainSettings
from piase_gym.errors import ConfigError, MissingExtraError, TrainingError
from piase_gym.files import write_whole

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
    _claim(folder, settings, resume)
    threads = torch.get_num_threads()
    torch.set_num_threads(settings.threads)
    try:
        run = Run(settings, folder, report)
        if resume and folder.checkpoints():
            run.go_on()
        return run.train()
    finally:
        torch.set_num_threads(threads)


def _claim(folder: Folder, settings: TrainSettings, resume: bool) -> None:
    """Make the folder, or see that the run in it is the one that is meant."""
    if not folder.settings.exists():
        if resume:
            raise TrainingError(f"{folder.path} holds no run that could go on")
        content = settings.model_dump_json(indent=2) + "\n"
        write_whole(folder.settings, content.encode())
        return
    if not resume:
        raise ConfigError(f"{folder.path} holds a run already; resume it or choose another folder")
    differences = settings.differences(read_settings_of(folder.path))
    if differences:
        raise ConfigError(f"{folder.path} holds another run: {'; '.join(differences)}")


def read_settings_of(path: str | Path) -> TrainSettings:
    """Return the settings of the run in a folder.

    Raises:
        TrainingError: If there is none, or its settings are damaged.
    """
    folder = Folder(path)
    try:
        return TrainSettings(**json.loads(folder.settings.read_text("utf-8")))
    except OSError:
        raise TrainingError(f"{folder.path} holds no run that could go on") from None
    except (ValueError, TypeError) as error:
        raise TrainingError(f"{folder.settings} cannot be read: {error}") from None
