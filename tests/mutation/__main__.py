"""Mutation testing: changes the code in random places and sees whether a test notices.

A sample of changes is drawn, from each package in proportion to its size. ``python -m
tests.mutation measure`` runs each file of tests once and keeps which tests reach the statements of
the sample, and how long they take. ``run`` makes one change after the other, and runs tests that
reach it until one fails: those of its folder first, then the fast ones that reach little else. Both
go on where they were stopped; ``report`` prints what was found.

All is done in a copy of the checkout (``--work``). Where a change is in a kernel, kernels run as
plain Python first, and compiled where that catches nothing. A change that no test reaches counts as
not caught; so does one whose tests do not fit into ``--budget``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.mutation.changes import Mutant, package, sample
from tests.mutation.playing import copy_all, enter, play, say
from tests.mutation.reach import Map
from tests.paths import ROOT


class Runner:
    """Tries changes in the copy, one after the other."""

    def __init__(self, work: Path, drawn: list[Mutant], budget: float) -> None:
        self.copy, self.budget = work / "copy", budget
        self.maps = [Map(work, drawn, plain) for plain in (False, True)]
        for known in self.maps:
            known.load()
        self.sound: set[str] = set()
        self.unsound: set[str] = set()
        copy_all(self.copy)
        enter(self.copy)

    def try_one(self, mutant: Mutant) -> dict[str, Any]:
        """Return what becomes of a change."""
        used, tests, by = 0.0, 0, None
        for known in self.maps[::-1] if mutant.compiled else self.maps[:1]:
            by, count, cpu = self._try(mutant, known)
            used, tests = used + cpu, tests + count
            if by:
                break
        outcome = "caught" if by else "survived" if tests else "not executed"
        return {"outcome": outcome, "by": by, "tests": tests, "cpu": round(used, 2)}

    def _try(self, mutant: Mutant, known: Map) -> tuple[str | None, int, float]:
        """Return what fails with a change, if something does, of how many tests, and the cost."""
        path, used, by, tests = self.copy / mutant.path, 0.0, None, []
        before, stat = path.read_bytes(), path.stat()
        while tests := known.choose(mutant, self.budget, self.unsound):
            path.write_bytes(before[: mutant.start] + mutant.after.encode() + before[mutant.end :])
            stamp = stat.st_mtime + random.randrange(10, 10**6)  # no bytecode is taken for it
            os.utime(path, (stamp, stamp))
            try:
                by, cpu = play(tests, known.expected(mutant, tests), known.plain)
            finally:
                path.write_bytes(before)
                os.utime(path, (stat.st_atime, stat.st_mtime))
            used += cpu
            if by is None or by in self.sound:
                break
            again = [by] if by in known.seconds else tests
            fails, cpu = play(again, known.expected(mutant, again), known.plain)
            used += cpu
            if fails is None:
                self.sound |= {by} & known.seconds.keys()
                break
            if by not in known.seconds:
                raise SystemExit(f"without any change: {fails}, of {' '.join(again)}")
            self.unsound.add(by)
            by = None
        return by, len(tests), used


def run(
    work: Path, drawn: list[Mutant], part: slice, budget: float, hours: float, again: bool
) -> None:
    """Try the changes of a part that the journal does not have, or has as not caught."""
    journal = work / "journal.jsonl"
    rows = read(journal)
    done = {row["key"] for row in rows if row["outcome"] == "caught" or not again}
    used = sum(row["cpu"] for row in rows)
    left = [(mutant, mutant.key) for mutant in drawn[part] if mutant.key not in done]
    runner = Runner(work, drawn, budget)
    for place, (mutant, key) in enumerate(left):
        if used > 3600 * hours:
            say(f"{hours} CPU-hours are used up; give more --hours to go on")
            return
        found = runner.try_one(mutant)
        used += found["cpu"]
        with journal.open("a") as file:
            row = {"key": key, **found, **asdict(mutant), "told": str(mutant)}
            file.write(json.dumps(row) + "\n")
        say(f"{place + 1} of {len(left)}: {found['outcome']}, {found['cpu']:.0f} s, {mutant}")


def read(journal: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal; one that was cut off is tried again."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    return list({row["key"]: row for row in rows}.values())  # the last try of each


def report(work: Path) -> None:
    """Print the share that was caught, by package too, and everything that was not."""
    from piase_gym.benchmarks.evaluation.statistics import wilson

    rows = read(work / "journal.jsonl")
    for row in rows:
        if row["outcome"] != "caught":
            say(f"{row['outcome']} ({row['tests']} tests): {row['told']}")
    whole = Counter(package(row["path"]) for row in rows)
    caught = Counter(package(row["path"]) for row in rows if row["outcome"] == "caught")
    for name in sorted(whole):
        say(f"{name}: {caught[name]} of {whole[name]}")
    share = wilson(caught.total(), max(1, len(rows)))
    told = f"{share.estimate:.1%} ({share.low:.1%} to {share.high:.1%}, 95 %)"
    hours = sum(row["cpu"] for row in rows) / 3600
    say(f"caught: {caught.total()} of {len(rows)}, {told}; {hours:.2f} CPU-hours")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("measure", "run", "report"))
    parser.add_argument("files", nargs="*", type=Path, help="of measure: only these tests")
    parser.add_argument("--work", type=Path, default=ROOT / "runs" / "mutation")
    parser.add_argument("--number", type=int, default=420, help="changes in the sample")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--only", default="", metavar="PATH", help="changes in these files")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of tests a change")
    parser.add_argument("--hours", type=float, default=6.0, help="CPU-hours at most")
    parser.add_argument("--again", action="store_true", help="try what was not caught again")
    parser.add_argument("--part", default="1/1", help="2/3: the second of three runs in folders")
    given = parser.parse_args()
    work = given.work.resolve()
    drawn = sample(given.number, given.seed, given.only)
    first, parts = map(int, given.part.split("/"))
    part = slice(first - 1, None, parts)
    if given.command == "measure":
        for plain in (False, True):
            Map(work, drawn, plain).measure(work, [str(file) for file in given.files], part)
        return
    if given.command == "run":
        run(work, drawn, part, given.budget, given.hours, given.again)
    report(work)


if __name__ == "__main__":
    main()
