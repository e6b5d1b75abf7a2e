"""Evaluates policies on suites: plays what is missing, keeps everything, reports what failed."""

from __future__ import annotations

import importlib
import pickle
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib import metadata
from itertools import chain, product
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.benchmarks.evaluation.levels import FEW, is_fixed_config, seeds_in, stored_count
from piase_gym.benchmarks.evaluation.policies import Policy, PolicyLike, read_policies, read_policy
from piase_gym.benchmarks.evaluation.protocol import PROTOCOL, SEEDS, EpisodeRecord, split_seeds
from piase_gym.benchmarks.evaluation.results import Results, TaskResult, summarise
from piase_gym.benchmarks.evaluation.rollout import Job, make_world, play, world_of
from piase_gym.benchmarks.evaluation.suites import Problem, Row, Setting, Suite, read_suite
from piase_gym.benchmarks.references.models import ModelFolder
from piase_gym.benchmarks.references.references import (
    References,
    read_references,
    score_range_of,
    shipped,
)
from piase_gym.errors import ConfigError, PolicyError, ProtocolError, StorageError, SuiteError
from piase_gym.jobs import Backend, LineFile, Threads, choose_backend, run_jobs
from piase_gym.registry import task_spec, world_spec

CHUNK = 10
"""Episodes in one job: few enough to spread, many enough to share one world."""
BATCH = 100
"""The same, for episodes that are played at once."""
JOURNAL = "episodes.jsonl"
RESULTS = "results.json"
HEADER = {
    "journal": "piase_gym episodes",
    "protocol": PROTOCOL,
    "piase_gym": piase_gym.__version__,
}

SuiteLike = str | Path | Suite | Row | Iterable[str | Row]
Progress = Callable[[EpisodeRecord, int, int], None]
"""Called with each new record, how many episodes are finished, and how many there are."""


def evaluate(
    policy: PolicyLike,
    suite: SuiteLike = "smoke",
    *,
    name: str | None = None,
    episodes: int | None = None,
    split: str | None = None,
    workers: int = 1,
    concurrency: int = 64,
    out: str | Path | None = None,
    modules: Sequence[str] = (),
    references: str | Path | References | None = None,
    timeout: float | None = None,
    progress: Progress | None = None,
    ray: str | None = None,
) -> Results:
    """Play a policy on a suite.

    Nothing that a policy, a worker or the disk does ends the evaluation: what cannot be played or
    stored is listed in the results' `faults` and `problems`, and everything else is finished. With
    `out`, each episode is journalled when it is finished, and a later call continues from there.

    Args:
        policy: A policy (see `piase_gym.benchmarks.evaluation.policies`), or a mapping from names
            to one or several training runs.
        suite: ``"smoke"``, ``"standard"``, a task id, the path of a manifest, a `Suite`, or a list
            of ids and `Row` objects.
        name: The name of a single policy.
        episodes: Number of seeds per setting; by default the suite's.
        split: ``train``, ``dev``, ``held_out`` or ``new_levels``; by default the suite's. In
            ``new_levels``, tasks with few levels are left out.
        workers: Number of processes; 1 plays in this one. Results do not depend on it.
        concurrency: Number of episodes that language models play at once.
        out: Folder of ``episodes.jsonl`` and ``results.json``.
        modules: Modules to import first, here and in workers, such as those that register worlds.
        references: References instead of the shipped ones: a path, or the contents.
        timeout: Seconds that an episode may take, if there are several workers.
        progress: Called after every episode.
        ray: The address of a Ray cluster that takes the place of the processes: ``auto`` or a
            host. Language models are still called from this process, because they only wait.

    Returns:
        The results.

    Raises:
        UnknownNameError: If the suite, or the policy, does not exist.
        PolicyError: If the policy is not something that chooses actions.
        SuiteError: If the suite cannot be read, or nothing in it can be played.
        ProtocolError: If `out` holds episodes of another version of the protocol or the package.
        StoppedError: After Ctrl-C, once the jobs that were under way are finished.
        ClusterError: If there is no such Ray cluster, or its workers have other versions.

    Example:
        >>> results = evaluate("random", "piase/GridWorld-Empty-5x5-v1", episodes=3)
        >>> [row.episodes for row in results.rows]
        [3]
    """
    for module in modules:
        importlib.import_module(module)
    for what, count in {"concurrency": concurrency, "workers": workers}.items():
        if type(count) is not int or count < 1:
            raise ConfigError(f"{what} must be a positive integer, not {count!r}")
    chosen, policies = read_suite(suite), read_policies(policy, name)
    split = chosen.split if split is None else split
    first = tuple(split_seeds(split, chosen.episodes if episodes is None else episodes))
    settings, problems = chosen.settings(split)
    missing = chosen.missing(split)
    if not settings:
        reasons = "; ".join(f"{p.where}: {p.what}" for p in (*problems, *missing))
        reasons = reasons or "it has no rows here"
        raise SuiteError(f"nothing in suite {chosen.name!r} can be played: {reasons}")
    journal = None if out is None else Journal(Path(out) / JOURNAL)
    seeds, fixed = _seeds_of(settings, split, first)
    settings = [setting for setting in settings if setting.label in seeds]
    run = _Run(settings, policies, seeds, {} if journal is None else journal.records)
    run.skipped += [*missing, *fixed]
    if not run.wanted:
        raise SuiteError(f"nothing can be played: {run.skipped[0].what}")
    for record in run.play(workers, concurrency, ray, modules, timeout):
        if journal is not None:
            journal.add(record)
        if progress is not None:
            progress(record, len(run.found), len(run.wanted))
    if journal is not None and not journal.file.flush():
        problems.append(_unsaved(journal))
    records = [run.found[_place(blank)] for blank in run.wanted]
    results = Results(
        suite=chosen.manifest(),
        split=split,
        rows=tuple(_rows(settings, policies, records, _read(references))),
        episodes=tuple(records),
        problems=tuple(problems),
        skipped=tuple(run.skipped),
        versions=versions(),
    )
    return results if out is None else _saved(results, Path(out) / RESULTS)


def _read(references: str | Path | References | None) -> References:
    """Return the given references; by default the shipped ones."""
    if references is None:
        return shipped()
    return read_references(Path(references)) if isinstance(references, str | Path) else references


def _unsaved(journal: Journal) -> Problem:
    """Return the problem of a journal that is not all on disk."""
    file = journal.file
    unsaved = f"{file.error}; {file.unsaved} lines are not on disk. These results are "
    unsaved += "whole; make room and evaluate again with the same folder to store them"
    return Problem("storage", unsaved)


def _saved(results: Results, path: Path) -> Results:
    """Write results to a file; return them, with a problem if that could not be done."""
    try:
        results.save(path)
    except StorageError as error:
        return replace(results, problems=(*results.problems, Problem("storage", str(error))))
    return results


def play_jobs(jobs: Iterable[Job], backend: Backend, more: bool = False) -> Iterator[EpisodeRecord]:
    """Play jobs, and yield their episodes; a job that failed yields episodes with a fault."""
    for outcome in run_jobs(jobs, play_all, backend, name=str, parts=singly, more=more):
        if outcome.error is None:
            yield from outcome.value
        else:
            job, fault = outcome.job, outcome.error.reason
            yield from (replace(job.blank(seed), fault=fault) for seed in job.seeds)


def play_all(job: Job) -> list[EpisodeRecord]:
    """Play a job to its end."""
    return list(play(job))


def singly(job: Job) -> list[Job]:
    """Return a job for each of a job's episodes."""
    return [replace(job, seeds=(seed,)) for seed in job.seeds]


def _rows(
    settings: Sequence[Setting],
    policies: Sequence[Policy],
    records: Sequence[EpisodeRecord],
    references: References,
) -> Iterator[TaskResult]:
    """Sum up the episodes of every policy in every setting that it has played."""
    for setting in settings:
        score_range = score_range_of(setting, references)
        for policy in dict.fromkeys(policy.name for policy in policies):
            own = [r for r in records if (r.setting, r.policy) == (setting.label, policy)]
            if own:
                yield summarise(setting, policy, own, score_range)


def _seeds_of(
    settings: Sequence[Setting], split: str, first: tuple[int, ...]
) -> tuple[dict[str, tuple[int, ...]], list[Problem]]:
    """Return the seeds of every setting by its label, and why some settings have none.

    These are the first seeds of the split; in ``new_levels``, the first that draw held-out levels.
    """
    if split != "new_levels":
        return {setting.label: first for setting in settings}, []
    found, problems = {}, []
    for setting in settings:
        if why := why_fixed(setting):
            problems.append(Problem(setting.label, why))
            continue
        with closing(make_world(setting)) as world:
            try:
                seeds = seeds_in(world, "held_out", SEEDS[split], len(first))
                found[setting.label] = tuple(seeds)
            except SuiteError as error:
                problems.append(Problem(setting.label, str(error)))
    return found, problems


def why_fixed(setting: Setting) -> str | None:
    """Return why trainers meet all levels of a setting, or ``None`` if they never meet some.

    What counts is the config, as for trainers; where it is the id's own, the stored count of the
    id saves looking.
    """
    count = stored_count(setting.task, setting.config_hash)
    fixed = is_fixed_config(*world_of(setting)) if count is None else count.fixed
    text = f"fewer than {FEW}" if count is None else str(count)
    return f"it has {text} levels: too few to keep some from training" if fixed else None


class Journal:
    """Episodes, one JSON line each; an episode with a truncated line is played again.

    Attributes:
        file: The lines.
        records: Finished episodes by key.
    """

    def __init__(self, path: Path) -> None:
        """Open a journal and read what it has.

        Raises:
            ProtocolError: If another version of the protocol or of the package wrote it, or a line
                is no episode.
            StorageError: If it cannot be read, or its folder cannot be made.
        """
        self.file = LineFile(path)
        self.records: dict[str, EpisodeRecord] = {}
        for line in self.file.found:
            self._take(line)
        if not self.file.found:
            self.file.put(HEADER)

    def _take(self, line: Mapping[str, Any]) -> None:
        """Add one line."""
        if "journal" in line:
            # Journals of before do not say which package played.
            other = {"protocol": None, "piase_gym": HEADER["piase_gym"], **line}
            for what in ("protocol", "piase_gym"):
                if other[what] != HEADER[what]:
                    raise ProtocolError(
                        f"{self.file.path} is of {what} {other[what]!r}; this is {what} "
                        f"{HEADER[what]}: choose another folder, or play anew there"
                    )
            return
        try:
            record = EpisodeRecord.from_json(line)
        except ProtocolError as error:
            raise ProtocolError(f"{self.file.path}: {error}") from None
        if record.fault is None:
            self.records[record.key] = record

    def add(self, record: EpisodeRecord) -> None:
        """Keep a record, on disk if that is possible; never raises for a full disk."""
        if record.fault is None:
            self.records[record.key] = record
        self.file.add(record.to_json())


class _Run:
    """All episodes of an evaluation, those that a journal has and those to play."""

    def __init__(
        self,
        settings: Sequence[Setting],
        policies: Sequence[Policy],
        seeds: Mapping[str, tuple[int, ...]],
        known: Mapping[str, EpisodeRecord],
    ) -> None:
        """List the episodes in the order of results; known episodes are not played again."""
        self.wanted: list[EpisodeRecord] = []
        self.jobs: list[Job] = []
        self.found: dict[tuple[Any, ...], EpisodeRecord] = {}
        self.skipped: list[Problem] = []
        for setting, policy in product(settings, policies):
            if lack := missing_reason(setting, policy):
                self.skipped.append(Problem(setting.label, lack))
                continue
            job = Job(setting, policy.at(setting), seeds[setting.label])
            blanks = [job.blank(seed) for seed in job.seeds]
            self.wanted += blanks
            old = {b.seed: _relabel(known[b.key], b) for b in blanks if b.key in known}
            self.found.update({_place(record): record for record in old.values()})
            left = [seed for seed in job.seeds if seed not in old]
            size = BATCH if policy.batched else CHUNK
            parts = (left[start : start + size] for start in range(0, len(left), size))
            self.jobs += [replace(job, seeds=tuple(part)) for part in parts]

    def play(
        self,
        workers: int,
        concurrency: int,
        ray: str | None,
        modules: Sequence[str],
        timeout: float | None,
    ) -> Iterator[EpisodeRecord]:
        """Play the jobs and yield each record; models that wait are called from this process."""
        waiting = [job for job in self.jobs if job.policy.waits]
        others = [job for job in self.jobs if not job.policy.waits]
        if workers > 1 or ray is not None:
            _require_sendable(job.policy for job in others)
        limit = None if timeout is None else lambda job: timeout * len(job.seeds)
        backend = choose_backend(workers, ray if others else None, modules=modules, timeout=limit)
        singles = chain.from_iterable(map(singly, waiting))
        for record in chain(
            play_jobs(others, backend, more=bool(waiting)),
            play_jobs(singles, Threads(concurrency)),
        ):
            self.found[_place(record)] = record
            yield record


def missing_reason(setting: Setting, policy: Policy) -> str | None:
    """Return why a policy cannot play a setting, if that is not the policy's fault."""
    spec = world_spec(task_spec(setting.task).world)
    partner = read_policy(setting.partner).source if setting.partner else None
    if isinstance(partner, ModelFolder) and (lack := partner.missing_reason(setting)):
        return f"the partner {setting.partner} is missing: {lack}"
    if isinstance(policy.source, ModelFolder):
        return policy.source.missing_reason(setting)
    if policy.source in setting.without:
        return f"the policy {policy.source} is left out of {setting.task}"
    if policy.source == "oracle" and spec.oracle is None:
        return f"{spec.name} has no oracle"
    if policy.source == "scripted" and spec.scripted is None:
        return f"{spec.name} has no script"
    return None


def _require_sendable(policies: Iterable[Policy]) -> None:
    """Raise `PolicyError` for a policy that only this process has."""
    for policy in {id(policy): policy for policy in policies}.values():
        try:
            pickle.dumps(policy)
        except Exception as error:  # pickling can fail in any way
            raise PolicyError(
                f"policy {policy.name!r} cannot be sent to worker processes ({error}); "
                "define it at the top of a module, or use workers=1"
            ) from None


def _place(record: EpisodeRecord) -> tuple[Any, ...]:
    """Return where an episode stands in the results."""
    return record.setting, record.policy, record.run, record.seed


def _relabel(record: EpisodeRecord, blank: EpisodeRecord) -> EpisodeRecord:
    """Return a stored episode under the names that it has in this evaluation."""
    names = ("setting", "policy", "run", "seats")
    return replace(record, **{name: getattr(blank, name) for name in names})


def versions() -> dict[str, str]:
    """Return the versions of the software that numbers depend on."""
    found = {"protocol": str(PROTOCOL), "piase_gym": piase_gym.__version__}
    found["python"] = platform.python_version()
    for name in ("numpy", "numba", "gymnasium", "torch", "stable-baselines3"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
