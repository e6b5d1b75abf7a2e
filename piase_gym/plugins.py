"""Plug-ins: worlds, tasks, agents, sensors and actuators of other packages, by entry points.

An installed distribution offers them in its ``pyproject.toml``::

    [project.entry-points."piase_gym.worlds"]
    Lamplight = "lamplight.row:WORLD"

Worlds and tasks are rows, which are loaded with `piase_gym`, so that Gymnasium and PettingZoo know
their ids. The others are loaded when they are first asked for by name. A plug-in that cannot be
loaded is skipped, and reported with a `PluginWarning` and by `problems`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from piase_gym import registry
from piase_gym.core.documents import is_own
from piase_gym.errors import PluginError, PluginWarning, UnknownNameError
from piase_gym.registry import TaskSpec, WorldSpec

T = TypeVar("T")
KINDS = ("worlds", "tasks", "agents", "sensors", "actuators")
"""The kinds of plug-ins; the group of entry points is ``piase_gym.`` followed by the kind."""
ROWS: dict[str, type] = {"worlds": WorldSpec, "tasks": TaskSpec}


@dataclass(frozen=True)
class Problem:
    """A plug-in that is skipped.

    Attributes:
        kind: One of `KINDS`.
        name: Name of the entry point.
        package: The distribution that offers it, with its version.
        reason: What is wrong, in one sentence.
    """

    kind: str
    name: str
    package: str
    reason: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"the plug-in {self.name!r} ({self.kind}) of {self.package}: {self.reason}"


FAILURES = (Exception, SystemExit)
"""What a third-party module may raise when it is imported: anything but Ctrl-C."""
MOST_ROWS = 1000
"""The maximum number of worlds or tasks of one entry point."""
_problems: dict[tuple[str, str, str], Problem] = {}
_waiting: list[tuple[str, EntryPoint]] = []


def problems() -> tuple[Problem, ...]:
    """Return what was skipped so far, and why."""
    return tuple(_problems.values())


def installed(kind: str) -> list[EntryPoint]:
    """Return all entry points of a kind, sorted by name and package."""
    rows = entry_points(group=f"piase_gym.{kind}")
    return sorted(rows, key=lambda row: (row.name, package_of(row)))


@cache
def offers(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of a kind by name; if several share a name, the first counts."""
    found: dict[str, EntryPoint] = {}
    for entry in installed(kind):
        if entry.name not in found:
            found[entry.name] = entry
        elif found[entry.name].value != entry.value:
            report(kind, entry, f"{package_of(found[entry.name])} has one of the same name")
    return found


def names(kind: str) -> tuple[str, ...]:
    """Return the names of a kind that are offered and not known to be broken."""
    rows = offers(kind).items()
    return tuple(name for name, row in rows if (kind, name, package_of(row)) not in _problems)


def package_of(entry: EntryPoint) -> str:
    """Return the distribution of an entry point, such as ``lamplight 0.1``."""
    made = entry.dist
    return "an unknown package" if made is None else f"{made.name} {made.version}"


def report(kind: str, entry: EntryPoint, reason: str) -> None:
    """Note and warn, once, that a plug-in is skipped."""
    if (kind, entry.name, package_of(entry)) not in _problems:
        warnings.warn(f"{_note(kind, entry, reason)}; it is skipped", PluginWarning, stacklevel=2)


def _note(kind: str, entry: EntryPoint, reason: str) -> Problem:
    """Note that a plug-in is skipped."""
    problem = Problem(kind, entry.name, package_of(entry), reason)
    return _problems.setdefault((kind, entry.name, problem.package), problem)


def load(kind: str, name: str, check: Callable[[Any], str | None]) -> Any:
    """Return what a plug-in offers under a name of `offers`.

    Args:
        kind: One of `KINDS`.
        name: Its name.
        check: Returns what is wrong with the object, or ``None``.

    Raises:
        PluginError: If it cannot be loaded, or is not what it should be.
    """
    entry = offers(kind)[name]
    try:
        made = entry.load()
        reason = check(made)
    except FAILURES as error:
        reason = _import_problem(error)
    if reason is None:
        return made
    raise PluginError(str(_note(kind, entry, reason)))


def find(kind: str, name: str | T, wanted: type[T]) -> T:
    """Return what a plug-in offers under a name, or the given thing itself.

    Args:
        kind: One of `KINDS`.
        name: The name, or the thing itself.
        wanted: What it must be.

    Raises:
        UnknownNameError: If there is none of this name.
        PluginError: If it is a plug-in that cannot be loaded, or something else.
    """
    if isinstance(name, wanted):
        return name
    if name not in names(kind):
        raise UnknownNameError(kind.removesuffix("s"), name, names(kind))
    article = "an" if wanted.__name__[0] in "AEIOU" else "a"

    def wrong(made: object) -> str | None:
        text = f"it offers a {type(made).__name__}, not {article} {wanted.__name__}"
        return None if isinstance(made, wanted) else text

    found: T = load(kind, str(name), wrong)
    return found


def _import_problem(error: BaseException) -> str:
    """Say in one line why something cannot be imported."""
    text = " ".join(str(error).split())
    return f"it cannot be loaded ({type(error).__name__}: {text:.200})"


# -- worlds and tasks ---------------------------------------------------------------------


def register_rows() -> None:
    """Register the worlds and tasks of all plug-ins; what is broken is reported and skipped."""
    _waiting.extend((kind, entry) for kind in ROWS for entry in offers(kind).values())
    settle()


def settle() -> None:
    """Register the rows that could not be loaded yet, because their module was being imported."""
    rows, _waiting[:] = list(_waiting), []
    for kind, entry in rows:
        try:
            for row in _rows(entry.load()):
                _register(kind, row)
        except PluginError as error:
            report(kind, entry, str(error))
        except FAILURES as error:
            if _is_being_imported(entry.module):
                _waiting.append((kind, entry))
            else:
                report(kind, entry, _import_problem(error))
    if _waiting:
        registry.late.append(settle)


def _rows(made: Any) -> Iterator[Any]:
    """Yield the rows that a plug-in offers: one, several, or a function that returns them."""
    offered = made() if callable(made) and not is_own(made) else made
    if isinstance(offered, Iterable) and not isinstance(offered, str | bytes):
        for number, row in enumerate(offered):
            if number == MOST_ROWS:
                raise PluginError(f"it offers more than {MOST_ROWS} rows; the rest is left out")
            yield row
    else:
        yield offered


def _register(kind: str, row: Any) -> None:
    """Register one row; an existing one is not replaced."""
    if is_own(row) and isinstance(row, type):
        row = registry.own_row(row.__name__)
    wanted = ROWS[kind]
    if not isinstance(row, wanted):
        raise PluginError(f"it offers a {type(row).__name__}, not a {wanted.__name__}")
    if isinstance(row, TaskSpec):
        if registry.has_task(row.id):
            raise PluginError(f"there is an id {row.id!r} already")
        registry.register_task(row)
    elif isinstance(row, WorldSpec):
        taken = [name for name in (row.name, *row.aliases) if registry.has_world(name)]
        if taken:
            raise PluginError(f"there is a world {taken[0]!r} already")
        registry.register_world(row)


def _is_being_imported(module: str) -> bool:
    """Return whether a module, or a package that contains it, is still being imported."""
    parts = module.split(".")
    names = (".".join(parts[: n + 1]) for n in range(len(parts)))
    specs = (getattr(sys.modules.get(name), "__spec__", None) for name in names)
    return any(getattr(spec, "_initializing", False) for spec in specs)
