"""Backends, which do jobs: the interface, and what every kind of worker does with one job."""

from __future__ import annotations

import functools
import hashlib
import math
import os
import pickle
import platform
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import cloudpickle

import piase_gym

DECIDING = ("numpy", "numba", "torch")
"""Libraries whose versions change the last bits of results."""


NO_MODULE = "cannot import a module that was asked for"
"""Why a worker can do no job."""


@dataclass(frozen=True)
class Answer:
    """What a backend reports about one job.

    Attributes:
        value: What the job returned.
        error: Why it did not return, in one sentence; ``None`` if it did.
        trace: The traceback of the error.
        died: Whether the worker ended, so that the job may be tried again.
        useless: Whether the worker cannot do any job, for example because of another version.
        stopped: Whether an interrupt that reached the worker ended the job.
        seconds: Wall time of the job.
        host: The machine that did it.
    """

    value: Any = None
    error: str | None = None
    trace: str = ""
    died: bool = False
    useless: bool = False
    stopped: bool = False
    seconds: float = 0.0
    host: str = ""


class Backend(Protocol):
    """Does jobs, several at a time.

    Attributes:
        attempts: How often a job is handed to it if its worker dies each time.
    """

    attempts: int

    def slots(self) -> int:
        """Return how many jobs may be under way now."""

    def submit(self, number: int, perform: Callable[[Any], Any], job: Any) -> None:
        """Begin a job."""

    def wait(self, seconds: float) -> list[tuple[int, Answer]]:
        """Return the answers that have come, by the jobs' numbers; wait this long for the first."""

    def close(self) -> None:
        """End everything, including the jobs that are under way."""


def packed(perform: Callable[[Any], Any], job: Any) -> bytes:
    """Return a job as bytes for another process."""
    data: bytes = cloudpickle.dumps((perform, job))
    return data


def do_packed(data: bytes, extend: Callable[[Answer], Answer] = lambda answer: answer) -> bytes:
    """Do a job that came from another process, and return its answer as bytes.

    It never raises what the job raises. `extend` may add to the answer.
    """
    try:
        perform, job = cloudpickle.loads(data)
        answer = do(perform, job)
    except KeyboardInterrupt:
        answer = Answer(stopped=True)
    except BaseException as error:  # whatever an import raises
        answer = failed(error)
    answer = extend(answer)
    try:
        return bytes(cloudpickle.dumps(answer))
    except Exception as error:  # pickling can fail in any way
        unsent = replace(failed(error), error=f"the result cannot be sent: {error}")
        return bytes(cloudpickle.dumps(extend(unsent)))


def unpacked(data: bytes) -> Answer:
    """Return an answer that came from another process as bytes."""
    try:
        found: Answer = pickle.loads(data)
        return found
    except Exception as error:  # unpickling can fail in any way
        return replace(failed(error), error=f"the result cannot be read: {error}")


def do(perform: Callable[[Any], Any], job: Any) -> Answer:
    """Do a job in this process; a job may fail in any way, and SystemExit ends the job only."""
    start, host = time.perf_counter(), socket.gethostname()
    try:
        value = perform(job)
    except (Exception, SystemExit) as error:
        return replace(failed(error), seconds=time.perf_counter() - start, host=host)
    return Answer(value, seconds=time.perf_counter() - start, host=host)


def failed(error: BaseException) -> Answer:
    """Return the answer for an exception."""
    first = (str(error).splitlines() or [""])[0]
    trace = "".join(traceback.format_exception(error))
    return Answer(error=f"{type(error).__name__}: {first:.300}", trace=trace)


def unsendable(error: BaseException) -> Answer:
    """Return the answer for a job that cannot be made into bytes."""
    return replace(failed(error), error=f"it cannot be sent to another process: {error}")


@functools.cache
def code_facts() -> dict[str, str]:
    """Return what must be equal on every machine for results to be equal bit for bit."""
    found = {"python": platform.python_version(), "piase_gym": piase_gym.__version__}
    top, paths = Path(piase_gym.__file__).parent, list[Path]()
    for folder, subfolders, names in os.walk(top, followlinks=True):  # a checkout has links
        subfolders[:] = [name for name in subfolders if name != "studies"]  # never installed
        paths += [Path(folder, name) for name in names if name.endswith(".py")]
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(paths):
        digest.update(path.relative_to(top).as_posix().encode() + path.read_bytes())
    found["code"] = digest.hexdigest()
    for name in DECIDING:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def difference(expected: Mapping[str, str]) -> str | None:
    """Return how this machine's code differs from what is expected; ``None`` if it does not.

    A library that is on only one of the machines does not count: the jobs that need it say so.
    """
    here = code_facts()
    unequal = [name for name in expected if here.get(name, expected[name]) != expected[name]]
    differences = [f"{name} {here[name]} instead of {expected[name]}" for name in unequal]
    return ", ".join(differences) or None


def limit_of(timeout: float | Callable[[Any], float] | None, job: Any) -> float:
    """Return how many seconds a job may take."""
    found = timeout(job) if callable(timeout) else timeout
    return math.inf if found is None else found
