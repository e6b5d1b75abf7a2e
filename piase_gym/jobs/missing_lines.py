"""Jobs whose results are the lines of a file; a line that is there is not made again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from piase_gym.core.line_file import LineFile
from piase_gym.errors import JobError, StorageError
from piase_gym.jobs.backend import Backend
from piase_gym.jobs.run import Outcome, run_jobs, short_name

J = TypeVar("J")


def do_missing(
    jobs: Iterable[J],
    perform: Callable[[J], Mapping[str, Any]],
    path: Path,
    backend: Backend | None = None,
    *,
    key: Callable[[J], str] = lambda job: job.key,  # type: ignore[attr-defined]
    name: Callable[[J], str] = short_name,
    progress: Callable[[Outcome[J], int, int], None] = lambda outcome, done, whole: None,
) -> None:
    """Do those jobs that have no line in a file yet, and add their lines as they are finished.

    A job that fails does not keep the others from being done.

    Args:
        jobs: All jobs.
        perform: Does one job, and returns its line, which has the job's key as ``key``.
        path: The file.
        backend: See `run_jobs`.
        key: Returns the key of a job, made of everything that its result depends on.
        name: Returns the name of a job.
        progress: Called with every outcome, how many jobs are finished, and how many were to do.

    Raises:
        JobError: At the end, if jobs have failed: the first, and how many.
        StoppedError: After Ctrl-C.
        StorageError: If lines could not be written.
    """
    file = LineFile(path, cut=True)
    done = {line.get("key") for line in file.found}
    todo = [job for job in jobs if key(job) not in done]
    errors: list[JobError] = []
    for number, outcome in enumerate(run_jobs(todo, perform, backend, name=name), start=1):
        if outcome.error is not None:
            errors.append(outcome.error)
        else:
            file.add(outcome.value)
        progress(outcome, number, len(todo))
    if not file.flush():
        raise StorageError(
            f"{file.error}; {file.unsaved} of {len(todo)} results are not on disk and will be "
            "made again: make room and give the same command again"
        )
    raise_failed(errors, len(todo))


def raise_failed(errors: Sequence[JobError], whole: int) -> None:
    """Raise the first of the errors that jobs ended with, and say how many of `whole` failed.

    Raises:
        JobError: If there is one.
    """
    if errors:
        first, count, more = errors[0], len(errors), ""
        if count > 1:
            more = f"; {count} of {whole} jobs failed; the same command tries them again"
        raise JobError(first.job, first.reason + more, first.trace)
