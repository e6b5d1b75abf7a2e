"""Plays jobs in worker processes; a worker may die without taking anything with it.

Every worker has one job at a time and sends each record when it is finished. If a worker dies (or
exceeds the time that an episode may take), its unfinished episodes go to a new worker. The episode
at which it died is tried once more; if that kills the second worker too, it is reported and the
rest goes on.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import multiprocessing
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from piase_gym.benchmarks.evaluation.protocol import EpisodeRecord
from piase_gym.benchmarks.evaluation.rollout import Job, play
from piase_gym.errors import PolicyError

ATTEMPTS = 2
"""How many workers an episode may kill before it is given up."""
STARTS = 4
"""How many workers in a row may die before they are ready."""
READY = "ready"


def serve(pipe: Connection, modules: Sequence[str]) -> None:
    """Play jobs until the pipe closes: the main function of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells when to stop
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers are the parallelism
    for module in modules:
        importlib.import_module(module)
    with contextlib.suppress(EOFError, OSError):
        pipe.send(READY)
        while True:
            job = pickle.loads(pipe.recv_bytes())
            for record in play(job):
                pipe.send(record)
            pipe.send(None)


@dataclass
class _Worker:
    """A process, its pipe, and what it is at."""

    process: Any
    pipe: Connection
    job: Job | None = None
    done: int = 0
    ready: bool = False
    since: float = field(default_factory=time.monotonic)

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class WorkerPool:
    """Worker processes that play jobs.

    Args:
        count: How many.
        modules: Modules that each imports first, such as those that register worlds.
        timeout: Seconds that an episode may take, or ``None``. Episodes played in a batch are
            finished together, so there it holds for the batch.
    """

    def __init__(
        self, count: int, modules: Sequence[str] = (), timeout: float | None = None
    ) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._count, self._modules = count, tuple(modules)
        self._timeout = math.inf if timeout is None else timeout
        self._workers: list[_Worker] = []
        self._deaths: dict[str, int] = {}
        self._todo: deque[Job] = deque()
        self._failed_starts = 0

    def run(self, jobs: Sequence[Job]) -> Iterator[EpisodeRecord]:
        """Play jobs and yield records as they are finished.

        Raises:
            PolicyError: If a policy cannot be sent to another process.
        """
        for policy in {id(job.policy): job.policy for job in jobs}.values():
            _require_sendable(policy)
        self._todo = deque(jobs)
        try:
            while self._todo or any(worker.job for worker in self._workers):
                self._hand_out()
                yield from self._listen()
        finally:
            for worker in self._workers:
                worker.kill()
            self._workers = []

    def _hand_out(self) -> None:
        """Give a job to every idle worker; start workers while there are jobs for them."""
        idle = [worker for worker in self._workers if worker.job is None]
        while self._todo and (idle or len(self._workers) < self._count):
            if not idle:
                ours, theirs = self._context.Pipe()
                given = (theirs, self._modules)
                process = self._context.Process(target=serve, args=given, daemon=True)
                process.start()
                theirs.close()
                idle.append(_Worker(process, ours))
                self._workers.append(idle[0])
            self._give(idle.pop(0), self._todo.popleft())

    def _give(self, worker: _Worker, job: Job) -> None:
        """Send a job to a worker."""
        worker.job, worker.done, worker.since = job, 0, time.monotonic()
        with contextlib.suppress(OSError):  # it has died: `_listen` will see it
            worker.pipe.send_bytes(pickle.dumps(job))

    def _listen(self) -> Iterator[EpisodeRecord]:
        """Wait for news, and yield the records that have come."""
        limit, patience = self._timeout, None
        busy = [w for w in self._workers if w.job is not None and w.ready]
        if busy and limit < math.inf:
            first = min(worker.since for worker in busy)
            patience = max(0.0, first + limit - time.monotonic()) + 0.01
        ready = wait([worker.pipe for worker in self._workers], patience)
        for worker in list(self._workers):
            if worker.pipe in ready:
                yield from self._receive(worker)
            elif worker in busy and time.monotonic() - worker.since > limit:
                yield from self._handle_death(worker, f"took longer than {limit:g} s")

    def _receive(self, worker: _Worker) -> Iterator[EpisodeRecord]:
        """Take one message of a worker, or notice that it is dead."""
        try:
            record = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            yield from self._handle_death(worker, _exit_reason(worker.process.exitcode))
            return
        worker.since = time.monotonic()
        if record == READY:
            worker.ready, self._failed_starts = True, 0
            return
        if record is None:
            worker.job = None
            return
        worker.done += 1
        yield record

    def _handle_death(self, worker: _Worker, why: str) -> Iterator[EpisodeRecord]:
        """Put a dead worker's unfinished episodes back, or give the one it died at up."""
        self._workers.remove(worker)
        worker.kill()
        job, left = worker.job, () if worker.job is None else worker.job.seeds[worker.done :]
        if job is None or not left:
            return
        if not worker.ready:
            self._todo.appendleft(job)
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                yield from self._give_up(why)
            return
        if worker.done == 0 and len(left) > 1:  # which one it was is not certain: one at a time
            self._todo.extend(replace(job, seeds=(seed,)) for seed in left)
            return
        blank = job.blank(left[0])
        deaths = self._deaths[blank.key] = self._deaths.get(blank.key, 0) + 1
        if deaths >= ATTEMPTS:
            yield replace(blank, fault=f"the worker {why}, {deaths} times in this episode")
        else:
            self._todo.append(replace(job, seeds=left[:1]))
        if left[1:]:
            self._todo.append(replace(job, seeds=left[1:]))

    def _give_up(self, why: str) -> Iterator[EpisodeRecord]:
        """Report everything that is still to do, because no worker can be started."""
        fault = f"worker processes cannot be started; the last one {why}"
        while self._todo:
            job = self._todo.popleft()
            yield from (replace(job.blank(seed), fault=fault) for seed in job.seeds)


def _exit_reason(code: int | None) -> str:
    """Say how a process ended."""
    if code is not None and code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"died with exit code {code}"


def _require_sendable(policy: Any) -> None:
    """Raise `PolicyError` for a policy that only this process has."""
    try:
        pickle.dumps(policy)
    except Exception as error:  # pickling can fail in any way
        raise PolicyError(
            f"policy {policy.name!r} cannot be sent to worker processes ({error}); "
            "define it at the top of a module, or use workers=1"
        ) from None
