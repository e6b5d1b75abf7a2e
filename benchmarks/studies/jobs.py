"""Results that are many jobs: each that is finished is a line of a file, and is not done again.

Files that several machines have written are joined with ``cat``: lines have keys, and of those with
one key the first counts.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from piase_gym.errors import StorageError

Line = Mapping[str, Any]


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


def do_all(
    jobs: Sequence[Any],
    perform: Callable[[Any], dict[str, Any]],
    out: Path,
    told: Callable[[Line], str],
    workers: int = 1,
) -> None:
    """Do those jobs that have no line in a file yet, and add their lines as they are finished.

    Args:
        jobs: All of them; each has a `key` of everything that its result depends on.
        perform: Does one and returns its line. With several workers each job has a process of its
            own; `perform` and the jobs must then be such as can be pickled.
        out: The file.
        told: Says in words what came of a job.
        workers: Processes side by side.

    Raises:
        StorageError: If the file is damaged.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    written = out.read_bytes() if out.exists() else b""
    if written and not written.endswith(b"\n"):  # the last line was cut off
        out.write_bytes(written[: written.rfind(b"\n") + 1])
    console, done = Console(), {line.get("key") for line in read_lines(out)}
    todo = [job for job in jobs if job.key not in done]
    console.print(f"{len(jobs) - len(todo)} of {len(jobs)} results are there already")
    with ExitStack() as stack:
        found: Iterator[dict[str, Any]] = map(perform, todo)
        if workers > 1:
            context = multiprocessing.get_context("spawn")
            pool = stack.enter_context(context.Pool(workers, maxtasksperchild=1))
            found = pool.imap_unordered(perform, todo)
        for number, line in enumerate(found, start=1):
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            console.print(f"{number}/{len(todo)} {told(line)}", soft_wrap=True)


__all__ = ["do_all", "read_lines", "read_once"]
