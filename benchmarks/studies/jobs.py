"""Results that are many jobs: each that is finished is a line of a file, and is not done again.

Files that several machines have written are joined with ``cat``: lines have keys, and of those with
one key the first counts.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rich.console import Console

from piase_gym.errors import StorageError

Line = Mapping[str, Any]


class Keyed(Protocol):
    """A job with a key of everything that its result depends on."""

    @property
    def key(self) -> str:
        """The key."""


Job = TypeVar("Job", bound=Keyed)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines that are there; a last one that was cut off is left out.

    Raises:
        StorageError: If another line is damaged.
    """
    if not path.exists():
        return []
    found, lines = [], path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            found.append(json.loads(line))
        except ValueError:
            if number < len(lines):
                raise StorageError(f"{path}: line {number} is damaged") from None
    return found


def read_once(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, of each key the first.

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


def append(path: Path, line: Line) -> None:
    """Add a line, on a line of its own even behind one that was cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_bytes() if path.exists() else b""
    whole = before if before.endswith(b"\n") or not before else before[: before.rfind(b"\n") + 1]
    if whole != before:
        path.write_bytes(whole)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()


def perform_all(
    perform: Callable[[Job], dict[str, Any]], todo: Sequence[Job], workers: int
) -> Iterator[dict[str, Any]]:
    """Yield the lines of all jobs as they are finished.

    With more than one worker each job has a process of its own; `perform` and the jobs must then
    be such as can be pickled.
    """
    if workers <= 1:
        yield from map(perform, todo)
        return
    with multiprocessing.get_context("spawn").Pool(workers, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(perform, todo)


def do_all(
    jobs: Sequence[Job],
    perform: Callable[[Job], dict[str, Any]],
    out: Path,
    told: Callable[[Line], str],
    workers: int = 1,
) -> None:
    """Do those jobs that have no line in a file yet, and add their lines as they are finished.

    Args:
        jobs: All of them.
        perform: Does one and returns its line.
        out: The file.
        told: Says in words what came of a job.
        workers: Processes side by side.

    Raises:
        StorageError: If the file is damaged.
    """
    console = Console()
    done = {line.get("key") for line in read_lines(out)}
    todo = [job for job in jobs if job.key not in done]
    console.print(f"{len(jobs) - len(todo)} of {len(jobs)} results are there already")
    for number, line in enumerate(perform_all(perform, todo, workers), start=1):
        append(out, line)
        console.print(f"{number}/{len(todo)} {told(line)}", soft_wrap=True)


__all__ = ["append", "do_all", "read_lines", "read_once"]
