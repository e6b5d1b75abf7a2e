"""Which curriculum, by which director, teaches a task best: ``piase curriculum search``.

A candidate is a curriculum that is followed by a director. All candidates end in the same task.
Each is trained with several seeds and one budget, and tested on levels of that task which training
never meets. Trainings are independent jobs: see `piase_gym.jobs`.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from piase_gym.benchmarks.evaluation.statistics import Interval, share_interval
from piase_gym.core.digest import digest_json
from piase_gym.core.jsonable import jsonable
from piase_gym.curricula import load
from piase_gym.curricula.directors import director_name
from piase_gym.curricula.simulated_learner import base_fields, world_of
from piase_gym.errors import ConfigError, require_count
from piase_gym.jobs import Backend, LineFile, Outcome, do_missing
from piase_gym.training.curriculum_evaluation import LastStepEvaluator
from piase_gym.training.curriculum_run import CurriculumTraining
from piase_gym.training.curriculum_settings import CurriculumTrainingSettings

TRAININGS = "trainings.jsonl"
"""The file of a search: one line for each finished training."""


@dataclass(frozen=True)
class SearchJob:
    """One training of a candidate.

    Attributes:
        settings: What is trained.
        tests: Number of levels that it is tested on.
    """

    settings: CurriculumTrainingSettings
    tests: int

    @property
    def candidate(self) -> str:
        """Curriculum and director in words."""
        curriculum = load(self.settings.curriculum)
        name = Path(self.settings.curriculum).name.split(".")[0]
        return f"{name} by {director_name(self.settings.director, curriculum)}"

    @property
    def key(self) -> str:
        """The digest of everything that the result depends on."""
        sha256 = load(self.settings.curriculum).sha256
        settings = {**dataclasses.asdict(self.settings), "curriculum": sha256}
        return digest_json(jsonable([settings, self.tests]))

    def __str__(self) -> str:
        """Name candidate and seed."""
        return f"{self.candidate}, seed {self.settings.seed}"


class RankedCandidate(NamedTuple):
    """The result of a candidate.

    Attributes:
        candidate: Curriculum and director.
        success: The share of levels that its policies win, with an interval over trainings.
        runs: Number of trainings.
        finished: Number of trainings that finished the curriculum.
    """

    candidate: str
    success: Interval
    runs: int
    finished: int


def train_candidate(job: SearchJob) -> dict[str, Any]:
    """Train and test once; return a line of the file.

    Raises:
        KeyboardInterrupt: If a signal ended the training.
    """
    with tempfile.TemporaryDirectory() as folder:
        training = CurriculumTraining(job.settings, Path(folder, "run"))
        try:
            evaluator = LastStepEvaluator(training.env.env, "held_out", job.tests)
            look = training.train()
            if training.interrupted:
                raise KeyboardInterrupt
            training.env.close()  # makes room for the environments of the test
            won, returns = evaluator.evaluate(training.trainer.policy)
        finally:
            training.close()
    return {
        "key": job.key,
        "candidate": job.candidate,
        "settings": jsonable(dataclasses.asdict(job.settings)),
        "steps": look.steps,
        "outcome": look.outcome,
        "levels": evaluator.seeds,
        "won": won.astype(int).tolist(),
        "return": round(float(returns.mean()), 6),
    }


def search(
    jobs: Sequence[SearchJob],
    folder: str | Path,
    backend: Backend | None = None,
    *,
    progress: Callable[[Outcome[SearchJob], int, int], None] = lambda outcome, done, whole: None,
) -> list[RankedCandidate]:
    """Run the trainings that the folder does not have yet, and rank the candidates.

    Args:
        jobs: The trainings, with the same seeds for every candidate.
        folder: Where results are kept.
        backend: What runs the trainings; see `piase_gym.jobs.run_jobs`.
        progress: See `piase_gym.jobs.do_missing`.

    Returns:
        The candidates, the best first.

    Raises:
        ConfigError: If a setting is not allowed, two candidates are the same, or they end in
            different tasks.
        JobError: If trainings have failed.
        StoppedError: After Ctrl-C.
    """
    _check(jobs)
    path = Path(folder, TRAININGS)
    do_missing(jobs, train_candidate, path, backend, name=str, progress=progress)
    wanted = {job.key for job in jobs}
    lines = {line["key"]: line for line in LineFile(path).found if line.get("key") in wanted}
    return ranked(lines.values())


def ranked(lines: Iterable[Mapping[str, Any]]) -> list[RankedCandidate]:
    """Rank candidates by the mean success of their trainings."""
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for line in sorted(lines, key=lambda line: int(line["settings"]["seed"])):
        runs.setdefault(line["candidate"], []).append(line)
    found = [
        RankedCandidate(
            candidate,
            share_interval([[float(one) for one in line["won"]] for line in own]),
            len(own),
            sum(line["outcome"] == "finished" for line in own),
        )
        for candidate, own in runs.items()
    ]
    return sorted(found, key=lambda row: (-row.success.estimate, row.candidate))


def _check(jobs: Sequence[SearchJob]) -> None:
    """Check all settings before anything is trained, and that all trainings end in one task."""
    if not jobs:
        raise ConfigError("there is nothing to search in: name a curriculum and a seed")
    seen: set[str] = set()
    first = jobs[0].settings
    for job in jobs:
        settings, curriculum = job.settings, load(job.settings.curriculum)
        settings.check()
        settings.check_names(curriculum)
        require_count("a test has at least one level", job.tests)
        if str(job) in seen:
            raise ConfigError(f"{job} is there twice")
        seen.add(str(job))
        if _task(settings) != _task(first):
            raise ConfigError(
                f"{first.curriculum} and {settings.curriculum} end in different tasks, so what is "
                "learned cannot be compared; their last steps have to be the same"
            )


def _task(settings: CurriculumTrainingSettings) -> Any:
    """Return what the last step of a curriculum plays."""
    curriculum = load(settings.curriculum)
    world = world_of(curriculum, settings.world)
    fields = base_fields(curriculum, settings.config, world)
    fields |= curriculum.steps[-1].fields_in(curriculum.base(world).world)
    return world, jsonable(fields), dict(curriculum.partners)
