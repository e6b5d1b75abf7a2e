"""Jobs on this machine: in this process, in threads, or in processes side by side.

A process has one job at a time. If it dies, or exceeds the time that a job may take, that job alone
is lost.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from piase_gym.errors import UnsupportedError, require_count
from piase_gym.jobs.backend import (
    NO_MODULE,
    Answer,
    Backend,
    do,
    do_packed,
    limit_of,
    packed,
    unpacked,
    unsendable,
)

STARTS = 4
"""How many workers in a row may die before they are ready."""
READY = b"ready"
NEEDS_GUARD = 'a script that starts workers needs `if __name__ == "__main__":`'


class InProcess:
    """Does one job after another in this process."""

    attempts = 1

    def __init__(self) -> None:
        self._done: list[tuple[int, Answer]] = []

    def slots(self) -> int:
        """Return 1."""
        return 1

    def submit(self, number: int, perform: Callable[[Any], Any], job: Any) -> None:
        """Do a job, now."""
        self._done.append((number, do(perform, job)))

    def wait(self, seconds: float) -> list[tuple[int, Answer]]:
        """Return the answer for the job."""
        done, self._done = self._done, []
        return done

    def close(self) -> None:
        """Do nothing; nothing is under way."""


class Threads:
    """Does jobs in threads of this process, for jobs that wait for something.

    Args:
        count: How many at once.
    """

    attempts = 1

    def __init__(self, count: int) -> None:
        self._count = count
        self._done: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()

    def slots(self) -> int:
        """Return how many jobs may be under way."""
        return self._count

    def submit(self, number: int, perform: Callable[[Any], Any], job: Any) -> None:
        """Begin a job in a thread that ends with it, and with this process."""

        def work() -> None:
            try:
                answer = do(perform, job)
            except KeyboardInterrupt:  # by a job, such as a person who plays
                answer = Answer(stopped=True)
            self._done.put((number, answer))

        threading.Thread(target=work, name=f"job-{number}", daemon=True).start()

    def wait(self, seconds: float) -> list[tuple[int, Answer]]:
        """Return the answers that are there; wait this long for the first."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._done.get(timeout=seconds))
            while True:
                found.append(self._done.get_nowait())
        return found

    def close(self) -> None:
        """Leave the threads that are under way to themselves: they cannot be ended."""


def serve(pipe: Connection, modules: Sequence[str]) -> None:
    """Do jobs until the pipe closes: the main function of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to stop
    threading.Thread(target=end_with_parent, daemon=True).start()
    useless = b""
    try:
        for module in modules:
            importlib.import_module(module)
    except Exception as error:  # whatever an import raises
        useless = pickle.dumps(Answer(error=f"a worker {NO_MODULE}: {error}", useless=True))
    with contextlib.suppress(EOFError, OSError):
        pipe.send_bytes(READY)
        while True:
            data = pipe.recv_bytes()
            pipe.send_bytes(useless or do_packed(data))


def end_with_parent() -> None:
    """End this process, whatever it is doing, when the one that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@dataclass
class _Worker:
    """A process, its pipe, and the job that it is doing."""

    process: Any
    pipe: Connection
    number: int | None = None
    data: bytes = b""
    ready: bool = False
    limit: float = math.inf
    since: float = field(default_factory=time.monotonic)

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    @property
    def left(self) -> float:
        """How many seconds the job may still take."""
        return self.since + self.limit - time.monotonic() if self.ready else math.inf


class Processes:
    """Does jobs in processes of this machine.

    Args:
        count: How many side by side; they are started when there are jobs for them.
        modules: Modules that each imports first, such as those that register worlds.
        timeout: Seconds that a job may take, or a function that returns them for a job.
    """

    attempts = 2

    def __init__(
        self,
        count: int,
        modules: Sequence[str] = (),
        timeout: float | Callable[[Any], float] | None = None,
    ) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._count, self._modules, self._timeout = count, tuple(modules), timeout
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._early: list[tuple[int, Answer]] = []

    def slots(self) -> int:
        """Return how many jobs may be under way."""
        return self._count

    def submit(self, number: int, perform: Callable[[Any], Any], job: Any) -> None:
        """Send a job to an idle worker, or to a new one."""
        if self._failed_starts >= STARTS:
            self._early.append((number, self._cannot_start()))
            return
        try:
            data = packed(perform, job)
        except Exception as error:  # pickling can fail in any way
            self._early.append((number, unsendable(error)))
            return
        idle = (worker for worker in self._workers if worker.number is None)
        worker = next(idle, None) or self._start()
        self._give(worker, number, data, limit_of(self._timeout, job))

    def _give(self, worker: _Worker, number: int, data: bytes, limit: float) -> None:
        """Send a job to a worker."""
        worker.number, worker.data, worker.limit = number, data, limit
        worker.since = time.monotonic()
        with contextlib.suppress(OSError):  # it has died: `wait` will see it
            worker.pipe.send_bytes(data)

    def _start(self) -> _Worker:
        """Start a worker whose libraries use one thread: the workers are the parallelism.

        Raises:
            UnsupportedError: If this machine starts no more processes.
        """
        try:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=serve, args=(theirs, self._modules), daemon=True)
            with _one_thread():
                process.start()
        except OSError as error:  # too many processes, or open files
            message = f"worker processes cannot be started: {error.strerror}"
            raise UnsupportedError(message) from None
        theirs.close()
        self._workers.append(_Worker(process, ours))
        return self._workers[-1]

    def wait(self, seconds: float) -> list[tuple[int, Answer]]:
        """Return the answers that have come, also for workers that are dead or take too long."""
        found, self._early = self._early, []
        patience = max(0.0, min([seconds, *(worker.left for worker in self._workers)]))
        news = wait([worker.pipe for worker in self._workers], 0 if found else patience)
        for worker in list(self._workers):
            if worker.pipe in news:
                found += self._receive(worker)
            elif worker.left < 0:
                found += self._end(worker, f"took longer than {worker.limit:g} s")
        return found

    def _receive(self, worker: _Worker) -> Iterator[tuple[int, Answer]]:
        """Take one message from a worker, or notice that it is dead."""
        try:
            data = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            worker.process.join()
            yield from self._end(worker, exit_reason(worker.process.exitcode))
            return
        if data == READY:
            worker.ready, worker.since, self._failed_starts = True, time.monotonic(), 0
        elif worker.number is not None:
            yield worker.number, unpacked(data)
            worker.number, worker.limit = None, math.inf

    def _end(self, worker: _Worker, why: str) -> Iterator[tuple[int, Answer]]:
        """Remove a worker, dead or not; yield its job's answer, or give the job to another."""
        self._workers.remove(worker)
        worker.kill()
        number = worker.number
        if number is None:
            return
        if worker.ready:
            yield number, Answer(error=f"the worker {why}", died=True)
            return
        self._failed_starts, self._reason = self._failed_starts + 1, why
        if self._failed_starts >= STARTS:
            yield number, self._cannot_start()
        else:
            self._give(self._start(), number, worker.data, worker.limit)

    def _cannot_start(self) -> Answer:
        """Return the answer for a job that no worker can do."""
        return Answer(
            error=f"worker processes cannot be started; the last one {self._reason}; {NEEDS_GUARD}"
        )

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.kill()
        self._workers = []


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes started in the block use one thread, unless the environment says otherwise."""
    name = "OMP_NUM_THREADS"
    before = os.environ.get(name)
    os.environ.setdefault(name, "1")
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


def exit_reason(code: int | None) -> str:
    """Return how a process ended."""
    if code is not None and code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"died with exit code {code}"


def choose_backend(
    workers: int = 1,
    ray: str | None = None,
    *,
    modules: Sequence[str] = (),
    timeout: float | Callable[[Any], float] | None = None,
) -> Backend:
    """Return the backend that does jobs.

    Args:
        workers: Processes of this machine; 1 is this process.
        ray: The address of a Ray cluster, which takes the place of processes: ``auto`` or a host.
        modules: Modules that workers import first.
        timeout: Seconds that a job may take in a process, or a function that returns them for a
            job.

    Raises:
        ConfigError: If `workers` is no positive integer.
        MissingExtraError, ClusterError: See `piase_gym.jobs.RayCluster`.
    """
    workers = require_count("workers must be a positive integer", workers)
    if ray is not None:
        from piase_gym.jobs.ray import RayCluster

        return RayCluster(ray, modules, timeout)
    return Processes(workers, modules, timeout) if workers > 1 else InProcess()
