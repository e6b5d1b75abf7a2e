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
import ast
import copy
import hashlib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

TOPS = ("piase_gym", "wrappers", "curricula", "benchmarks")
IGNORED = ("test_kernel_caches.py", "test_package.py")
"""Tests of the source as a text: they notice every change."""
OF_MODULES = tuple(f"tests/worlds/test_{what}.py" for what in ("limits", "spaces", "ids"))
"""Tests of what modules define, such as the fields of configs: they need execute no function."""
OF_KERNELS = ("tests/worlds/test_golden.py",)
"""Tests of all that kernels do, by ids of their worlds: too slow for plain Python."""
LIBRARIES = "numba gymnasium pettingzoo pydantic typer rich torch".split()
SLOWEST, SLOWEST_PLAIN = 20, 6
"""CPU-seconds after which a test is given up when it is measured; with kernels as plain Python."""
PATIENCE = 12
"""How many times as long it may take on a clock on the wall, as the machine may be busy."""
START = 3
"""CPU-seconds that a file of tests takes to begin: imports, and kernels out of their cache."""
COMPILING = 60
"""CPU-seconds that it takes to compile a world anew."""
COMPILED = {"helper", "inline", "hot", "kernel"}
"""Decorators of `piase_gym.compiled`: what is in such a function is never seen by Python."""
UNWATCHED = "piase_gym/compiled/"
"""What kernels are made of, functions of any decorator: the tests of the folder test them."""
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
    executed by the import, what is `compiled` by a kernel.
    """

    path: str
    statement: int
    line: int
    module_level: bool
    compiled: bool
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


@cache
def compiled_by_name() -> set[str]:
    """Return the names of functions that are compiled after all, as in ``f = inline(g)``."""
    found = re.compile(rf"= (?:{'|'.join(COMPILED)})\((\w+)\)")
    return {name for path in sources() for name in found.findall(path.read_text())}


def is_compiled(node: Any) -> bool:
    """Tell whether a node is a function that numba compiles."""
    names = {getattr(name, "id", "") for name in getattr(node, "decorator_list", ())}
    return bool(names & COMPILED) or getattr(node, "name", "") in compiled_by_name()


def sources() -> list[Path]:
    """Return the files of code."""
    found = (path for top in TOPS for path in (ROOT / top).rglob("*.py"))
    return sorted(path for path in found if not any(parent.is_symlink() for parent in path.parents))


def mutants(path: Path) -> list[Mutant]:
    """Return every change of a file; annotations, decorators and texts are left alone."""
    text, name, found = path.read_bytes(), path.relative_to(ROOT).as_posix(), []
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def visit(node: Any, statement: int, top: bool, compiled: bool) -> None:
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
            row = (statement, place.lineno, top, compiled, text[start:end].decode(), after)
            found.append(Mutant(name, *row, start, end))
        inside = top and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        compiled = compiled or is_compiled(node)
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        visit(child, statement, inside, compiled)

    visit(ast.parse(text), 1, True, False)
    return found


def package(path: str) -> str:
    """Return the package of a file; worlds are apart."""
    parts = Path(path).parent.parts
    return ".".join(parts[: 3 if "worlds" in parts else 2])


def sample(number: int, seed: int, only: str) -> list[Mutant]:
    """Draw changes: from each package in proportion to how many it has, at least one."""
    every: dict[str, list[Mutant]] = defaultdict(list)
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(only):
            every[package(name)] += mutants(path)
    whole, dice, drawn = sum(map(len, every.values())), random.Random(seed), []
    for name in sorted(name for name in every if every[name]):
        share = max(1, round(number * len(every[name]) / whole))
        drawn += dice.sample(every[name], min(share, len(every[name])))
    dice.shuffle(drawn)
    return drawn


# -- which tests reach which changes --------------------------------------------------------------

REACHED = '''
"""Writes which test reaches what."""
import builtins, os

test, out, known = os.environ.get("MUTATION_TEST"), os.environ.get("MUTATION_REACHED"), set()

def reached(key):
    if test and out and key not in known:
        known.add(key)
        with open(out, "a") as file:
            file.write(f"{key} {test}\\n")

builtins._mutation_reached = reached
'''
"""Is a `sitecustomize`, so that processes that a test starts tell what they reach, too."""


def watched(path: Path, numbers: dict[int, list[int]], compiled: bool) -> str:
    """Return a source whose statements, by their lines, tell that they were reached.

    So does every function, by the name of the file.
    """
    tree = ast.parse(path.read_bytes())
    name = path.relative_to(ROOT).as_posix()

    def told(key: int | str) -> ast.stmt:
        return ast.parse(f"_mutation_reached({key!r})").body[0]

    def visit(node: Any, inside: bool, seen: bool) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside, seen = True, compiled or (seen and not is_compiled(node))
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                for child in list(block):
                    visit(child, inside, seen)
                    at = block.index(child)
                    if inside and seen:
                        block[at:at] = [told(k) for k in numbers.get(child.lineno, ())]
        for handler in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
            visit(handler, inside, seen)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and seen:
            node.body.insert(ast.get_docstring(node) is not None, told(name))

    visit(tree, False, True)
    place = sum(isinstance(node, ast.Expr | ast.ImportFrom) for node in tree.body[:2])
    find = "getattr(builtins, '_mutation_reached', lambda key: None)"
    tree.body[place:place] = ast.parse(f"import builtins\n_mutation_reached = {find}").body
    return ast.unparse(ast.fix_missing_locations(tree))


def cpu_seconds() -> float:
    """Return the CPU-seconds of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Recorder:
    """A pytest plug-in: tests that pass have a duration, and write what they reach."""

    def __init__(self, out: Path) -> None:
        self.out, self.passed = out, True
        self.module: Any = importlib.import_module("sitecustomize")
        self.module.out = os.environ["MUTATION_REACHED"] = f"{out}.reached"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        def give_up(*_: object) -> None:
            raise TimeoutError(f"the test takes more than {slowest} s")

        slowest = SLOWEST_PLAIN if os.environ["NUMBA_DISABLE_JIT"] == "1" else SLOWEST
        self.module.known.clear()
        self.module.test = os.environ["MUTATION_TEST"] = item.nodeid
        signal.signal(signal.SIGALRM, give_up)
        signal.signal(signal.SIGPROF, give_up)
        signal.setitimer(signal.ITIMER_PROF, slowest)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE * slowest)
        start, self.passed = cpu_seconds(), True
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.module.test = None
            if self.passed:
                with Path(f"{self.out}.seconds").open("a") as file:
                    file.write(f"{cpu_seconds() - start:.4f} {item.nodeid}\n")

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed &= report.outcome == "passed"


def digest(*paths: Path) -> str:
    """Return what tells versions of files apart."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:8]


def tests_of(path: str) -> Path:
    """Return the folder of the tests of a file of code: the deepest that is named like its own."""
    folder = Path(*Path(path).parent.parts[path.startswith("piase_gym/") :])
    while not (ROOT / "tests" / folder).is_dir():
        folder = folder.parent
    return Path("tests") / folder


def world_of(path: str) -> str:
    """Return what the world of a file is called in ids; those of no world give no such name."""
    parts = [*Path(path).parent.parts, "none", "none"]
    return parts[2].title().replace("_", "")


class Map:
    """Which tests reach a change of the sample, and how long each takes.

    `plain` is that of changes in kernels, which run as plain Python for the tests of their world.
    """

    def __init__(self, work: Path, drawn: list[Mutant], plain: bool) -> None:
        code = digest(*sources())
        self.folder = work / f"{'plain' if plain else 'map'}-{code}-{len(drawn)}"
        self.drawn, self.plain = drawn, plain
        self.seconds: dict[str, float] = {}
        self.tests: dict[str, set[str]] = defaultdict(set)
        self.reach: Counter[str] = Counter()

    @property
    def files(self) -> list[Path]:
        """Return the files of tests that are to be measured."""
        mine = (
            {tests_of(m.path) for m in self.drawn if m.compiled} if self.plain else {Path("tests")}
        )
        found = {path for folder in mine for path in (ROOT / folder).rglob("test_*.py")}
        return sorted(path.relative_to(ROOT) for path in found if path.name not in IGNORED)

    def place(self, tests: Path) -> Path:
        """Return where the map of a file of tests is: of this version of it."""
        return self.folder / f"{'-'.join(tests.with_suffix('').parts)}-{digest(ROOT / tests)}"

    def measure(self, work: Path, only: list[str], part: slice) -> None:
        """Measure the files of a part that are not measured yet, in a copy that tells."""
        numbers: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, mutant in enumerate(self.drawn):
            if mutant.compiled == self.plain and not mutant.path.startswith(UNWATCHED):
                numbers[mutant.path][mutant.statement].append(number)
        watched_copy = work / f"watched-{self.folder.name}"
        copy_all(watched_copy)
        for path, lines in numbers.items():
            (watched_copy / path).write_text(watched(ROOT / path, lines, self.plain))
        (watched_copy / "sitecustomize.py").write_text(REACHED)
        enter(watched_copy)
        sys.modules.pop("sitecustomize", None)
        self.folder.mkdir(parents=True, exist_ok=True)
        for tests in self.files[part]:
            out = self.place(tests)
            if not out.exists() and (not only or str(tests).startswith(tuple(only))):
                Path(f"{out}.seconds").unlink(missing_ok=True)
                Path(f"{out}.reached").unlink(missing_ok=True)
                failed, cpu = play([str(tests)], 2000.0, self.plain, out)
                out.write_text(f"{failed}\n")
                say(f"{tests}: {cpu:.0f} CPU-seconds, {failed or 'all passed'}")

    def load(self) -> None:
        """Read what was measured."""
        for out in (path for path in self.folder.glob("*") if not path.suffix):
            for ending, keep in (("seconds", self._keep_seconds), ("reached", self._keep_test)):
                path = Path(f"{out}.{ending}")
                for line in path.read_text().splitlines() if path.exists() else ():
                    keep(*line.split(" ", 1))

    def _keep_seconds(self, seconds: str, test: str) -> None:
        self.seconds[test] = float(seconds)

    def _keep_test(self, key: str, test: str) -> None:
        self.tests[key].add(test)
        self.reach[test] += key.isdecimal()

    def expected(self, mutant: Mutant, tests: list[str]) -> float:
        """Return the CPU-seconds that some tests should take."""
        files = {test.partition("::")[0] for test in tests}
        found = sum(self.seconds.get(test, SLOWEST) for test in tests) + START * len(files)
        return found + COMPILING * (mutant.compiled and not self.plain)

    def choose(self, mutant: Mutant, budget: float, without: set[str]) -> list[str]:
        """Return tests of a change that fit into so many seconds, at least one.

        Those of its own folder come first: one of them notices a change most often. Then a test
        comes the sooner the faster it is, and the fewer changes of the sample it reaches: what
        plays whole episodes looks closely at nothing.

        What only the import executes is tested by whoever executes something else of the file, or
        by the tests of its folder; and by those of what modules define.
        """
        folder = f"{tests_of(mutant.path)}/"
        reached = self.tests[str(self.drawn.index(mutant))]
        known = reached or self.tests[mutant.path]
        known = known or {test for test in self.seconds if test.startswith(folder)}
        if mutant.compiled and not self.plain:
            known = {test for test in self.seconds if test.startswith(folder)}
            every = {test for test in self.seconds if test.startswith(OF_KERNELS)}
            own = {test for test in every if f"/{world_of(mutant.path)}-" in test}
            known |= own or every
        first = (folder, *OF_MODULES, *OF_KERNELS)
        if mutant.module_level or not (reached or mutant.compiled):
            known = known | {test for test in self.seconds if test.startswith(OF_MODULES)}
        chosen: dict[str, str] = {}
        timed = known & self.seconds.keys() - without
        cost = {test: self.seconds[test] * (1 + self.reach[test]) for test in timed}
        for test in sorted(timed, key=lambda t: (not t.startswith(first), cost[t], t)):
            file = test.partition("::")[0]
            budget -= self.seconds[test] + START * (file not in chosen.values())
            if chosen and budget < 0:
                break
            chosen[test] = file
        return list(chosen)


def copy_all(target: Path) -> None:
    """Copy the checkout."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in (path for name in COPIED for path in ROOT.glob(name)):
        if path.is_dir():
            without = shutil.ignore_patterns("__pycache__", "_build")
            shutil.copytree(path, target / path.name, symlinks=True, ignore=without)
        else:
            shutil.copy2(path, target / path.name)


def enter(folder: Path) -> None:
    """Let this process, which has imported libraries but none of our code, work in a copy."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)
    for name in [n for n in sys.modules if n.partition(".")[0] in ("tests", "piase_gym")]:
        del sys.modules[name]
    for name in LIBRARIES:
        pytest.importorskip(name)


# -- what becomes of a change ----------------------------------------------------------------------


class TextWriter:
    """A pytest plug-in that writes the names of tests, and of files, that fail."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            os.write(self.pipe, f"{report.nodeid}\n".encode())

    pytest_collectreport = pytest_runtest_logreport


def play(
    tests: list[str], seconds: float, plain: bool, measured: Path | None = None
) -> tuple[str | None, float]:
    """Run tests in a fork of this process, with kernels as plain Python or compiled.

    All of them where it is `measured` what they reach, else until one fails.

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
        os.environ["NUMBA_DISABLE_JIT"] = str(int(plain))
        sys.modules["numba"].config.DISABLE_JIT = int(plain)
        words = [*tests, "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        words += [] if measured else ["-x"]
        plugins: list[Any] = [Recorder(measured)] if measured else []
        try:
            code = int(pytest.main(words, plugins=[TextWriter(theirs), *plugins]))
        except BaseException:  # never goes on where the parent does
            code = 1
        os._exit(code)
    os.close(theirs)
    end = time.monotonic() + PATIENCE * seconds + 60
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


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


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
