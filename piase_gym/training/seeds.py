"""Trainings with different seeds, side by side: ``piase train --seeds 0-4``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from piase_gym.errors import JobError, StoppedError
from piase_gym.jobs import Backend, run_jobs
from piase_gym.jobs.folders import Files, OutFolder, out_folder
from piase_gym.training.checkpoints import Folder
from piase_gym.training.settings import TrainResult, TrainSettings, check_run_folder


@dataclass(frozen=True)
class SeedRun:
    """The training of one seed.

    Attributes:
        settings: What is trained.
        name: Name of its folder in the common folder.
        out: The common folder of all seeds.
    """

    settings: TrainSettings
    name: str
    out: OutFolder

    def __str__(self) -> str:
        """Name task and seed."""
        return f"{self.settings.task}, seed {self.settings.seed}"


def train_one(run: SeedRun) -> tuple[TrainResult, Files]:
    """Train one seed, or continue the run in its folder."""
    from piase_gym.training.train import train_to_end

    with run.out.work() as (place, files):
        folder = place / run.name
        result = train_to_end(run.settings, folder)
        policy = run.out.path / run.name / result.policy.relative_to(folder)
        return replace(result, policy=policy), files()


def train_seeds(
    runs: Mapping[int, tuple[TrainSettings, Path]],
    backend: Backend,
    *,
    resume: bool = False,
    report: Callable[[int, TrainResult | JobError], None],
) -> None:
    """Train once for every seed.

    Args:
        runs: Settings and folder of each seed; the folders are in one folder.
        backend: What runs the trainings.
        resume: Whether to continue the runs that are there.
        report: Called with each seed and its result, or its error.

    Raises:
        ConfigError: If a folder holds a run already, or, with `resume`, another one.
        StoppedError: After Ctrl-C.
    """
    for settings, folder in runs.values():
        known = Folder(folder).settings.exists()
        check_run_folder(Folder(folder), settings, resume and known)
    (parent,) = {folder.parent for _, folder in runs.values()}
    with out_folder(parent) as out:
        jobs = [SeedRun(settings, folder.name, out) for settings, folder in runs.values()]
        try:
            for outcome in run_jobs(jobs, train_one, backend, name=str):
                if outcome.error is None:
                    result, files = outcome.value
                    out.take(files)
                    report(outcome.job.settings.seed, result)
                else:
                    report(outcome.job.settings.seed, outcome.error)
        except StoppedError as error:
            raise StoppedError(f"{error}, with --resume") from None
