"""Which changes of the code there are, and a sample of them."""

from __future__ import annotations

import ast
import copy
import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.paths import ROOT

TOPS = ("piase_gym", "wrappers", "curricula", "benchmarks")
COMPILED = {"helper", "inline", "hot", "kernel"}
"""Decorators of `piase_gym.compiled`: what is in such a function is never seen by Python."""
SKIPPED = ("if TYPE_CHECKING", "__all__")
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


def digest(*paths: Path) -> str:
    """Return what tells versions of files apart."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:8]
