"""Results of many jobs: each finished job is a line of a file, and is not repeated.

Files that several machines have written are joined with ``cat``: lines have keys, and the first
line with a key counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from piase_gym.errors import PiaseError, StoppedError, StorageError
from piase_gym.jobs import Outcome, choose_backend, do_missing

Line = Mapping[str, Any]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file; a last line that was cut off is left out.

    Raises:
        StorageError: If another line is damaged, or it cannot be read.
    """
    if not path.exists():
        return []
    try:
        found, lines = [], path.read_bytes().splitlines()  # a text would end at other signs too
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from None
    for number, line in enumerate(lines, start=1):
        try:
            found.append(json.loads(line))
        except ValueError:
            if number < len(lines):
                raise StorageError(f"{path}: line {number} is damaged") from None
    return found


def read_once(path: Path) -> list[dict[str, Any]]:
    """Return the first line for each key in a file.

    Raises:
        StorageError: If there are none, or one is damaged or has no key.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if "key" not in line:
            raise StorageError(f"{path}: line {number} has no key")
        found.setdefault(line["key"], line)
    if not found:
        raise StorageError(f"{path} has no results")
    return list(found.values())


def do_all(
    jobs: Sequence[Any],
    perform: Callable[[Any], dict[str, Any]],
    out: Path,
    describe: Callable[[Line], str],
    workers: int = 1,
    ray: str | None = None,
) -> None:
    """Do the jobs that have no line in a file yet, and add their lines as they are finished.

    Args:
        jobs: All jobs; each has a `key` of everything that its result depends on.
        perform: Does one job and returns its line. With several workers, `perform` and the jobs
            must be picklable.
        out: The file.
        describe: Returns the result of a job in words.
        workers: Number of processes.
        ray: The address of a Ray cluster, which takes the place of processes.

    Raises:
        JobError, StoppedError, StorageError: See `piase_gym.jobs.do_missing`.
    """
    console, done = Console(), {line.get("key") for line in read_lines(out)}
    todo = [job for job in jobs if job.key not in done]
    console.print(f"{len(jobs) - len(todo)} of {len(jobs)} results are there already")

    def tell(outcome: Outcome[Any], number: int, whole: int) -> None:
        words = describe(outcome.value) if outcome.error is None else f"failed: {outcome.error}"
        console.print(f"{number}/{whole} {words}", soft_wrap=True, markup=False)

    do_missing(todo, perform, out, choose_backend(workers, ray), progress=tell)


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what does a command's jobs: ``--workers`` and ``--ray``."""
    parser.add_argument("--workers", type=int, default=1, help="processes side by side")
    parser.add_argument(
        "--ray", metavar="auto|HOST", help="the Ray cluster that takes the place of processes"
    )


@contextmanager
def report_errors(parser: argparse.ArgumentParser) -> Iterator[None]:
    """End a command with a sentence if its work raises; after Ctrl-C its status is 130."""
    try:
        yield
    except StoppedError as error:
        parser.exit(130, f"{error}\n")
    except PiaseError as error:
        parser.error(str(error))
