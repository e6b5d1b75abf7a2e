"""Jobs that fail in every way, importable by workers."""

from __future__ import annotations

import errno
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Draw:
    """A job whose result is a line of its own numbers."""

    number: int
    seconds: float = 0.0
    notes: str = ""

    @property
    def key(self) -> str:
        return f"draw-{self.number}"

    def note(self, word: str) -> int:
        """Write down that this was begun, in a file each; returns how often that was."""
        if self.notes:
            name = f"{word}-{self.number}-{os.getpid()}-{time.monotonic_ns()}"
            Path(self.notes, name).write_text(str(os.getpid()))
            return len(list(Path(self.notes).glob(f"{word}-{self.number}-*")))
        return 0


def draw(job: Draw) -> dict[str, object]:
    """Return numbers that depend on the job alone."""
    from piase_gym.core.rng import stream_key

    job.note("begun")
    time.sleep(job.seconds)
    return {"key": job.key, "drawn": [stream_key(job.number, n) for n in range(3)]}


def draw_or_raise(job: Draw) -> dict[str, object]:
    """Fail in the job with number 2."""
    if job.number == 2:
        raise ZeroDivisionError("lost my way")
    return draw(job)


def draw_or_exit(job: Draw) -> dict[str, object]:
    """End the program in the job with number 2."""
    if job.number == 2:
        raise SystemExit("had enough")
    return draw(job)


def draw_or_die(job: Draw) -> dict[str, object]:
    """Kill the worker in the job with number 2."""
    if job.number == 2:
        job.note("died")
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(job)


def draw_or_die_once(job: Draw) -> dict[str, object]:
    """Kill the worker in the job with number 2, the first time."""
    if job.number == 2 and job.note("died") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(job)


def draw_or_fill_the_disk(job: Draw) -> dict[str, object]:
    """Find no room in the job with number 2."""
    if job.number == 2:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return draw(job)


def unsendable(job: Draw) -> object:
    """Return what no pipe takes."""
    return (n for n in range(job.number))


class Unreadable:
    """What can be sent and not be read."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("no number",)


def unreadable(job: Draw) -> object:
    """Return what cannot be read where it arrives."""
    return Unreadable()


def draw_or_be_interrupted(job: Draw) -> dict[str, object]:
    """Hear Ctrl-C in the job with number 1, as a training does."""
    if job.number == 1:
        raise KeyboardInterrupt
    return draw(job)


def sums_of(numbers: tuple[int, ...]) -> int:
    """Sum numbers; a 13 kills the worker."""
    if 13 in numbers:
        os.kill(os.getpid(), signal.SIGKILL)
    return sum(numbers)
