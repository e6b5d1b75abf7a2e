"""Which tests reach which changes, and how long they take."""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests.mutation.changes import Mutant, digest, is_compiled, sources
from tests.mutation.playing import SLOWEST, copy_all, enter, play, say
from tests.paths import ROOT

IGNORED = ("test_kernel_caches.py", "test_package.py")
"""Tests of the source as a text: they notice every change."""
OF_MODULES = tuple(f"tests/worlds/test_{what}.py" for what in ("limits", "spaces", "ids"))
"""Tests of what modules define, such as the fields of configs: they need execute no function."""
OF_KERNELS = ("tests/worlds/test_golden.py",)
"""Tests of all that kernels do, by ids of their worlds: too slow for plain Python."""
START = 3
"""CPU-seconds that a file of tests takes to begin: imports, and kernels out of their cache."""
COMPILING = 60
"""CPU-seconds that it takes to compile a world anew."""
UNWATCHED = "piase_gym/compiled/"
"""What kernels are made of, functions of any decorator: the tests of the folder test them."""

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
