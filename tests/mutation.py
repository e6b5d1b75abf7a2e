"""Mutation testing: changes the code in random places and sees whether a test notices.

``python -m tests.mutation measure`` runs each file of tests once and keeps which tests execute
which lines, and how long they take (needs the package `coverage`). ``run`` draws a sample of
changes, from each package in proportion to its size, and for each runs the fastest tests of its
line until one fails. Both go on where they were stopped; ``report`` prints what was found.

All is done in a copy of the checkout (``--work``), with kernels as plain Python. A change that no
test executes counts as not caught; so does one whose tests do not fit into ``--budget``.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

TOPS = ("piase_gym", "wrappers", "curricula", "benchmarks")
IGNORED = ("test_kernel_caches.py", "test_package.py")
"""Tests of the source as a text: they notice every change."""
LIBRARIES = "numba gymnasium pettingzoo pydantic typer rich torch".split()
SLOWEST = 60
"""CPU-seconds after which a test is given up when it is measured."""
PATIENCE = 20
"""How many times as long it may take on a clock on the wall, as the machine may be busy."""
KEPT = 60
"""How many tests of a file are kept for a line, the fastest."""
COPIED = (*TOPS, "examples", "tests", "docs", "*.md", "*.txt", "pyproject.toml", "Makefile")

SKIPPED = ("if TYPE_CHECKING", "__all__")

# -- what is changed ------------------------------------------------------------------------------

_PAIRS = "Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, Add Sub, Mult FloorDiv, LShift RShift, "
_PAIRS += "BitAnd BitOr, And Or"
SWAPS = {getattr(ast, a): getattr(ast, b) for a, b in (p.split() for p in _PAIRS.split(", "))}
SWAPS |= {after: before for before, after in SWAPS.items()}
SWAPS |= {ast.Div: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitXor: ast.BitAnd, ast.Pow: ast.Mult}


@dataclass(frozen=True)
class Mutant:
    """The bytes from `start` to `end` of a file, changed from `before` to `after`.

    `line` is where they begin, `statement` where their statement does; what is at `module_level` is
    executed by the import.
    """

    path: str
    statement: int
    line: int
    module_level: bool
    before: str
    after: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """What tells changes apart, also those of another version of the file."""
        return f"{self.path}:{digest(ROOT / self.path)}:{self.start}:{self.end}:{self.after}"

    def __str__(self) -> str:
        before, after = (" ".join(part.split())[:70] for part in (self.before, self.after))
        return f"{self.path}:{self.line}: {before}  ->  {after}"


def changes(node: Any) -> Iterator[ast.AST | str]:
    """Give what may stand in the place of a node; numbers become larger, statements go."""
    twin = copy.copy(node)
    match node:
        case ast.Compare(ops=[first, *rest]):
            twin.ops = [SWAPS[type(first)](), *rest]
            yield twin
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            sides = [getattr(node, "left", None), getattr(node, "right", None)]
            if not any(isinstance(getattr(side, "value", None), str) for side in sides):
                twin.op = SWAPS[type(op)]()
                yield twin
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.If(test=test) | ast.While(test=test):
            yield ast.UnaryOp(ast.Not(), test)
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None"
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if ast.unparse(value) != "None":
            yield f"{name} = None"
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Assign(targets=[ast.Attribute()]):
            yield "pass"


def mutants(path: Path) -> list[Mutant]:
    """Return every change of a file; annotations, decorators and texts are left alone."""
    text, name, found = path.read_bytes(), path.relative_to(ROOT).as_posix(), []
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def visit(node: Any, statement: int, top: bool) -> None:
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.If | ast.Assign) and ast.unparse(node).startswith(SKIPPED):
            return
        statement = node.lineno if isinstance(node, ast.stmt) else statement
        for changed in changes(node):
            place = node.test if isinstance(node, ast.If | ast.While) else node
            start = starts[place.lineno - 1] + place.col_offset
            end = starts[place.end_lineno - 1] + place.end_col_offset
            after = changed if isinstance(changed, str) else ast.unparse(changed)
            after = f"({after})" if isinstance(place, ast.expr) else after
            row = (statement, place.lineno, top, text[start:end].decode(), after, start, end)
            found.append(Mutant(name, *row))
        inside = top and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        visit(child, statement, inside)

    visit(ast.parse(text), 1, True)
    return found


def package(path: str) -> str:
    """Return the package of a file; worlds are apart."""
    parts = Path(path).parent.parts
    return ".".join(parts[: 3 if "worlds" in parts else 2])


def sample(number: int, seed: int, only: str) -> list[Mutant]:
    """Draw changes: from each package in proportion to how many it has, at least one."""
    every: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted(path for top in TOPS for path in (ROOT / top).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(only) and not any(parent.is_symlink() for parent in path.parents):
            every[package(name)] += mutants(path)
    whole, dice, drawn = sum(map(len, every.values())), random.Random(seed), []
    for name in sorted(name for name in every if every[name]):
        share = max(1, round(number * len(every[name]) / whole))
        drawn += dice.sample(every[name], min(share, len(every[name])))
    dice.shuffle(drawn)
    return drawn


# -- which tests execute which lines ---------------------------------------------------------------


def cpu_seconds() -> float:
    """Return the CPU-seconds of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Recorder:
    """A pytest plug-in: each test is a context of the coverage; those that pass have a duration."""

    def __init__(self, measured: Any) -> None:
        self.measured, self.seconds, self.passed = measured, {}, True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        def give_up(*_: object) -> None:
            raise TimeoutError(f"the test takes more than {SLOWEST} s")

        self.measured.switch_context(item.nodeid)
        os.environ["MUTATION_TEST"] = item.nodeid  # for the processes that it starts
        signal.signal(signal.SIGALRM, give_up)
        signal.signal(signal.SIGPROF, give_up)
        signal.setitimer(signal.ITIMER_PROF, SLOWEST)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE * SLOWEST)
        start, self.passed = cpu_seconds(), True
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.measured.switch_context("import")
            if self.passed:
                self.seconds[item.nodeid] = round(cpu_seconds() - start, 4)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed &= report.outcome == "passed"


def measure_file(tests: str, out: Path) -> None:
    """Run one file of tests in this process, and write which of them execute each line."""
    import coverage

    folder, here = out.with_suffix(""), Path.cwd()  # the copy
    folder.mkdir(parents=True, exist_ok=True)
    config, data = folder / "coveragerc", folder / "data"
    config.write_text(f"[run]\nparallel=true\ncontext=${{MUTATION_TEST}}\ndata_file={data}\n")
    (folder / "sitecustomize.py").write_text("import coverage\ncoverage.process_startup()\n")
    os.environ |= {"COVERAGE_PROCESS_START": str(config), "PYTHONPATH": f"{folder}:{here}"}
    measured = coverage.Coverage(data_file=str(data), data_suffix="main", config_file=False)
    measured.start()
    measured.switch_context("import")
    recorder = Recorder(measured)
    words = [tests, "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    pytest.main(words, plugins=[recorder])
    measured.stop()
    measured.save()
    whole = coverage.Coverage(data_file=str(data), config_file=False)
    whole.combine([str(folder)])
    order = sorted(recorder.seconds, key=lambda test: recorder.seconds[test])
    place, lines = {test: number for number, test in enumerate(order)}, {}
    for file in whole.get_data().measured_files():
        path = Path(file).resolve()
        if path.is_relative_to(here) and path.relative_to(here).parts[0] in TOPS:
            lines[path.relative_to(here).as_posix()] = {
                line: sorted(place[name] for name in names if name in place)[:KEPT]
                for line, names in whole.get_data().contexts_by_lineno(file).items()
            }
    shutil.rmtree(folder)
    seconds = {test: recorder.seconds[test] for test in order}
    out.write_text(json.dumps({"seconds": seconds, "lines": lines}))


def digest(*paths: Path) -> str:
    """Return what tells versions of files apart."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:8]


def maps(work: Path) -> dict[str, Path]:
    """Return where the map of each file of tests is: of these tests, and of this code."""
    code = digest(*sorted(path for top in TOPS for path in (ROOT / top).rglob("*.py")))
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    return {
        path.relative_to(ROOT).as_posix(): work / f"map-{code}" / f"{path.stem}-{digest(path)}.json"
        for path in tests
        if path.name not in IGNORED
    }


def measure(work: Path, only: list[str]) -> None:
    """Measure files of tests that are not measured yet, each in a process of its own."""
    for tests, out in maps(work).items():
        if not out.exists() and (tests in only or not only):
            words = [sys.executable, "-m", "tests.mutation", "measure-file", tests, str(out)]
            with (work / "measure.log").open("ab") as log:
                subprocess.run(words, cwd=work / "copy", stdout=log, stderr=log, check=False)
            say(f"{tests}: {'measured' if out.exists() else 'could not be measured'}")


class Map:
    """Which tests execute a line, and how long each takes."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.seconds: dict[str, float] = {}
        self.lines: dict[tuple[str, int], list[str]] = defaultdict(list)
        self.files: dict[str, set[str]] = defaultdict(set)
        for path in paths:
            found = json.loads(path.read_text())
            self.seconds |= found["seconds"]
            order = list(found["seconds"])
            for file, rows in found["lines"].items():
                for line, numbers in rows.items():
                    tests = [order[number] for number in numbers]
                    self.lines[file, int(line)] += tests
                    self.files[file].update(tests)

    def choose(self, mutant: Mutant, budget: float, without: set[str]) -> list[str]:
        """Return the fastest tests of a change that fit into so many seconds, at least one.

        What the import executes is tested by whoever executes something else of the file.
        """
        known = self.lines[mutant.path, mutant.line] or self.lines[mutant.path, mutant.statement]
        if mutant.module_level:
            known = list(self.files[mutant.path])
        chosen: dict[str, str] = {}
        for test in sorted(set(known) - without, key=lambda test: (self.seconds[test], test)):
            file = test.partition("::")[0]
            budget -= self.seconds[test] + 0.5 * (file not in chosen.values())  # to import it
            if chosen and budget < 0:
                break
            chosen[test] = file
        return list(chosen)


# -- what becomes of a change ----------------------------------------------------------------------


class TextWriter:
    """A pytest plug-in that writes the names of tests, and of files, that fail."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            os.write(self.pipe, f"{report.nodeid}\n".encode())

    pytest_collectreport = pytest_runtest_logreport


def play(tests: list[str], seconds: float) -> tuple[str | None, float]:
    """Run tests in a fork of this process, which has imported libraries but none of our code.

    Returns:
        What failed first (or ``time``, or how the process died) if something did; CPU-seconds.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        limit = int(2 * seconds) + 30
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        words = [*tests, "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        os._exit(int(pytest.main(words, plugins=[TextWriter(theirs)])))
    os.close(theirs)
    end = time.monotonic() + PATIENCE * seconds + 300
    while not (ended := os.wait4(child, os.WNOHANG))[0]:
        time.sleep(0.02)
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
    with os.fdopen(ours) as pipe:
        told = pipe.readline().strip()
    code = os.waitstatus_to_exitcode(ended[1])
    if code < 0:
        told = "time" if -code in (signal.SIGXCPU, signal.SIGKILL) else f"signal {-code}"
    cpu = ended[2].ru_utime + ended[2].ru_stime
    return (told or f"exit code {code}") if code else None, cpu


class Runner:
    """Tries changes in the copy, one after the other."""

    def __init__(self, work: Path, budget: float) -> None:
        self.copy, self.budget = work / "copy", budget
        self.map = Map(path for path in maps(work).values() if path.exists())
        self.sound: set[str] = set()
        self.unsound: set[str] = set()
        os.chdir(self.copy)
        sys.path.insert(0, str(self.copy))
        os.environ["PYTHONPATH"] = str(self.copy)
        for name in [n for n in sys.modules if n.partition(".")[0] in ("tests", "piase_gym")]:
            del sys.modules[name]
        for name in LIBRARIES:
            pytest.importorskip(name)

    def try_one(self, mutant: Mutant) -> dict[str, Any]:
        """Return what becomes of a change."""
        path, used, by, tests = self.copy / mutant.path, 0.0, None, []
        before, stat = path.read_bytes(), path.stat()
        while tests := self.map.choose(mutant, self.budget, self.unsound):
            path.write_bytes(before[: mutant.start] + mutant.after.encode() + before[mutant.end :])
            stamp = stat.st_mtime + random.randrange(10, 10**6)  # no bytecode is taken for it
            os.utime(path, (stamp, stamp))
            try:
                by, cpu = play(tests, sum(self.map.seconds[test] for test in tests))
            finally:
                path.write_bytes(before)
                os.utime(path, (stat.st_atime, stat.st_mtime))
            used += cpu
            if by is None or by in self.sound:
                break
            again = [by] if by in self.map.seconds else tests
            fails, cpu = play(again, sum(self.map.seconds[test] for test in again))
            used += cpu
            if fails is None:
                self.sound |= {by} & self.map.seconds.keys()
                break
            if by not in self.map.seconds:
                raise SystemExit(f"without any change: {fails}, of {' '.join(again)}")
            self.unsound.add(by)
        outcome = "caught" if by else "survived" if tests else "not executed"
        return {"outcome": outcome, "by": by, "tests": len(tests), "cpu": round(used, 2)}


def run(work: Path, drawn: list[Mutant], budget: float, hours: float, again: bool) -> None:
    """Try the changes of the sample that the journal does not have, or has as not caught."""
    journal = work / "journal.jsonl"
    rows = read(journal)
    done = {row["key"] for row in rows if row["outcome"] == "caught" or not again}
    used = sum(row["cpu"] for row in rows)
    left = [(mutant, mutant.key) for mutant in drawn if mutant.key not in done]
    runner = Runner(work, budget)
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


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("measure", "measure-file", "run", "report"))
    parser.add_argument("files", nargs="*", type=Path, help="of measure: only these tests")
    parser.add_argument("--work", type=Path, default=ROOT / "runs" / "mutation")
    parser.add_argument("--number", type=int, default=420, help="changes in the sample")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--only", default="", metavar="PATH", help="changes in these files")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of tests a change")
    parser.add_argument("--hours", type=float, default=6.0, help="CPU-hours at most")
    parser.add_argument("--again", action="store_true", help="try what was not caught again")
    given = parser.parse_args()
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    if given.command == "measure-file":
        measure_file(str(given.files[0]), given.files[1])
        return
    work = given.work.resolve()
    if given.command != "report":
        shutil.rmtree(work / "copy", ignore_errors=True)
        (work / "copy").mkdir(parents=True)
        for path in (path for name in COPIED for path in ROOT.glob(name)):
            target = work / "copy" / path.name
            if path.is_dir():
                without = shutil.ignore_patterns("__pycache__", "_build")
                shutil.copytree(path, target, symlinks=True, ignore=without)
            else:
                shutil.copy2(path, target)
    if given.command == "measure":
        measure(work, [str(file) for file in given.files])
    elif given.command == "run":
        drawn = sample(given.number, given.seed, given.only)
        run(work, drawn, given.budget, given.hours, given.again)
    if given.command != "measure":
        report(work)


if __name__ == "__main__":
    main()
