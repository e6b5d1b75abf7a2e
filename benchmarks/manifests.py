"""Suites as people name them: by name, by task, as a list, or as the path of a manifest."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from piase_gym.benchmarks.protocol import PROTOCOL, split_seeds
from piase_gym.benchmarks.settings import Row
from piase_gym.benchmarks.suites import SUITES, TABLE, Suite
from piase_gym.errors import ProtocolError, SuiteError, UnknownNameError, suggest
from piase_gym.registry import list_tasks


def read_suite(suite: str | Path | Suite | Row | Iterable[str | Row]) -> Suite:
    """Return a suite: by name, from a manifest's path, of one task, or of several.

    Raises:
        UnknownNameError: If a single name is neither a suite, a task nor a file.
        SuiteError: If a manifest cannot be read.
        ProtocolError: If it is of another protocol version.
    """
    if isinstance(suite, Suite):
        return suite
    if isinstance(suite, Row):
        return Suite(name=suite.label or suite.task, rows=(suite,))
    if isinstance(suite, Path) or (isinstance(suite, str) and suite.endswith(".json")):
        return _read_manifest(Path(suite))
    if isinstance(suite, str):
        if suite in SUITES:
            return SUITES[suite]()
        rows = _rows_of(suite)
        if not any(fnmatch.filter(list_tasks(), row.task) for row in rows):
            raise UnknownNameError("suite or task", suite, (*SUITES, *list_tasks()))
        return Suite(name=suite, rows=rows)
    if not isinstance(suite, Iterable):
        raise SuiteError(f"a suite is a name, a path, rows or task ids, not {suite!r:.60}")
    return Suite(name="own", rows=_read_rows(list(suite)))


def _rows_of(task: str) -> tuple[Row, ...]:
    """Return the declared rows of a task, or a plain row."""
    task = task.rsplit(":", 1)[-1]
    rows = [replace(row, held_out=False) for row in TABLE if (row.label or row.task) == task]
    for row in () if rows else TABLE:
        if not row.label and fnmatch.fnmatch(task, row.task):
            rows.append(replace(row, task=task, held_out=False))
    return tuple(rows[:1]) or (Row(task=task),)


def _read_rows(items: Sequence[Any]) -> tuple[Row, ...]:
    """Return a row for each id or row of a list."""
    rows: list[Row] = []
    for item in items:
        if not isinstance(item, str | Row):
            raise SuiteError(f"a suite's rows are task ids or Row objects, not {item!r:.60}")
        rows += _rows_of(item) if isinstance(item, str) else [item]
    if not rows:
        raise SuiteError("a suite needs at least one row")
    return tuple(rows)


def _read_manifest(path: Path) -> Suite:
    """Read what `Suite.manifest` wrote."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SuiteError(f"{path}: the manifest cannot be read: {error}") from None
    if not isinstance(data, Mapping) or "rows" not in data:
        raise SuiteError(f"{path}: a manifest is a mapping with a key 'rows'")
    if data.get("protocol") != PROTOCOL:
        found = data.get("protocol")
        raise ProtocolError(f"{path} is of protocol {found!r}; allowed here: {PROTOCOL}")
    return Suite(
        name=str(data.get("name", path.stem)),
        rows=tuple(_read_row(item, path) for item in data["rows"]),
        episodes=_checked_episodes(data, path),
        split=str(data.get("split", "dev")),
    )


def _checked_episodes(data: Mapping[str, Any], path: Path) -> int:
    """Check split and episodes of a manifest."""
    try:
        return len(split_seeds(str(data.get("split", "dev")), data.get("episodes", 20)))
    except SuiteError as error:
        raise SuiteError(f"{path}: {error}") from None


def _read_row(item: Any, path: Path) -> Row:
    """Read one row of a manifest."""
    if isinstance(item, str):
        return _rows_of(item)[0]
    names = [entry.name for entry in fields(Row)]
    if not isinstance(item, Mapping) or "task" not in item:
        raise SuiteError(f"{path}: a row is a mapping with a key 'task', not {item!r:.60}")
    for key in item:
        if key not in names:
            raise SuiteError(f"{path}: unknown key {key!r} in a row; {suggest(key, names)}")
    lists = {key: tuple(value) for key, value in item.items() if isinstance(value, list)}
    return Row(**{**item, **lists})
