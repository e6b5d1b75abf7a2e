"""Hands jobs to a backend, retries those whose worker died, and yields the outcome of each."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from piase_gym.core.interrupts import on_first_interrupt
from piase_gym.errors import ClusterError, JobError, StoppedError
from piase_gym.jobs.backend import Answer, Backend
from piase_gym.jobs.local import InProcess

J = TypeVar("J")

TICK = 0.2
"""Seconds between two checks whether the user wants to stop."""

log = logging.getLogger("piase_gym")


@dataclass(frozen=True)
class Outcome(Generic[J]):
    """The outcome of a job.

    Attributes:
        job: The job.
        name: What it is called.
        value: What it returned.
        error: Why it did not return; ``None`` if it did.
        seconds: Wall time of the last attempt.
        host: The machine that did it.
    """

    job: J
    name: str
    value: Any = None
    error: JobError | None = None
    seconds: float = 0.0
    host: str = ""


@dataclass
class _Task:
    """A job, and how many workers it has killed."""

    job: Any
    deaths: int = 0


def short_name(job: Any) -> str:
    """Return the default name of a job."""
    return f"{job!r:.120}"


def run_jobs(
    jobs: Iterable[J],
    perform: Callable[[J], Any],
    backend: Backend | None = None,
    *,
    name: Callable[[J], str] = short_name,
    parts: Callable[[J], Sequence[J]] = lambda job: (job,),
    more: bool = False,
) -> Iterator[Outcome[J]]:
    """Do jobs, and yield the outcome of each when it is finished.

    A job that raises, or kills its workers, yields an outcome with an `error`; all others are
    done. Ctrl-C once lets the jobs that are under way finish and begins no others; twice ends
    everything at once.

    Args:
        jobs: Values, which must be picklable if they go to other processes.
        perform: Does one job; the same holds for it.
        backend: What does the jobs; by default this process. It is closed at the end.
        name: Returns the name of a job.
        parts: Returns the smaller jobs that a job is divided into when its worker has died, so that
            only the part that killed it is given up.
        more: Whether other work follows, which Ctrl-C keeps from beginning even if all jobs here
            are finished.

    Raises:
        StoppedError: After Ctrl-C, if jobs are left or `more` follows, or if it was pressed twice.
        ClusterError: If workers cannot do any job, such as those of another version.

    Example:
        >>> sorted(outcome.value for outcome in run_jobs([1, 2, 3], abs))
        [1, 2, 3]
    """
    backend = InProcess() if backend is None else backend
    todo = deque(_Task(job) for job in jobs)
    under_way: dict[int, _Task] = {}
    number = done = 0
    stop = threading.Event()

    def pressed() -> None:
        stop.set()
        message = "stopping when the %d jobs under way are finished; Ctrl-C again stops at once"
        log.warning(message, len(under_way))

    try:
        with on_first_interrupt(pressed):
            while under_way or (todo and not stop.is_set()):
                while todo and not stop.is_set() and len(under_way) < backend.slots():
                    number += 1
                    under_way[number] = todo.popleft()
                    backend.submit(number, perform, under_way[number].job)
                for finished, answer in backend.wait(TICK):
                    task = under_way.pop(finished)
                    if answer.useless:
                        raise ClusterError(f"{answer.error}; what is finished is kept")
                    if answer.stopped:  # Ctrl-C reaches the workers of a terminal, too
                        stop.set()
                        todo.append(task)
                        continue
                    if answer.died and (
                        smaller := _remaining_part(task, parts(task.job), backend.attempts)
                    ):
                        todo.extend(smaller)
                        continue
                    done += 1
                    yield _outcome(task, name(task.job), answer)
    except KeyboardInterrupt:
        raise _stopped("stopped at once", done, len(todo) + len(under_way)) from None
    finally:
        backend.close()
    if todo or (more and stop.is_set()):
        raise _stopped("stopped", done, len(todo))


def _remaining_part(task: _Task, parts: Sequence[Any], attempts: int) -> list[_Task]:
    """Return what remains to do of a job whose worker died; nothing if it is given up."""
    if len(parts) > 1:
        return [_Task(part) for part in parts]
    task.deaths += 1
    return [task] if task.deaths < attempts else []


def _stopped(how: str, done: int, left: int) -> StoppedError:
    """Return the error to raise after Ctrl-C."""
    kept = f"{done} of {done + left} jobs were finished and are kept"
    return StoppedError(f"{how}: {kept}; give the same command again to go on")


def _outcome(task: _Task, name: str, answer: Answer) -> Outcome[Any]:
    """Return the outcome of a job, as the user gets it."""
    error = None
    if answer.error is not None:
        times = f", {task.deaths} times in this job" if answer.died and task.deaths > 1 else ""
        error = JobError(name, answer.error + times, answer.trace)
    return Outcome(task.job, name, answer.value, error, answer.seconds, answer.host)
