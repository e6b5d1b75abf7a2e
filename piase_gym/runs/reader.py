"""Reading runs: manifest, summary, events one by one, tables and SQL."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from piase_gym.errors import ConfigError, RunError
from piase_gym.runs.log_file import GIVEN_UP, MOST_BAD, Problem, Raw, parse, raw_lines
from piase_gym.runs.manifest import check_manifest
from piase_gym.runs.options import Levels
from piase_gym.runs.schema import (
    FIELDS,
    MORE_FIELDS,
    REBUILD,
    Event,
    describe_damage,
    kind_of,
    rank,
)

_TEXTS = tuple(
    name for name in (*FIELDS, *MORE_FIELDS) if name not in ("event_data", "step", "episode")
)
_NEEDED = (*_TEXTS, "step", "episode", "event_data")
_KINDS = [*(str for _ in _TEXTS), int, int, dict]
_WORDS = {str: "a string", int: "an integer", dict: "an object"}
FIRST_LINES = 64
"""The number of lines at the start among which there may be another manifest."""


class Run:
    """A log on disk, opened by `read`; only its two ends are kept in memory.

    Attributes:
        path: The file.
        manifest: The `event_data` of its first line, or of a rebuild before the first reset.
        run_id: The run's id.
        experiment_id: The experiment's id.
        level: The level of the lines to which columns expand; ``None`` for the recorded one.
    """

    def __init__(self, path: Path, first: Event, level: str | None = None) -> None:
        """Take the first line."""
        self.path, self.level = path, level
        self.manifest: dict[str, Any] = first["event_data"]
        self.run_id: str = first["simulation_run_id"]
        self.experiment_id: str = first["experiment_id"]

    def __repr__(self) -> str:
        """Name the run."""
        return f"<Run {self.run_id} of {self.manifest['world']} at {self.path}>"

    @property
    def agents(self) -> list[str]:
        """The agents, in order."""
        return list(self.manifest["agents"])

    def require_step_lines(self) -> None:
        """Raise `RunError` if the run was logged at a level that leaves out its steps."""
        manifest = self.manifest
        try:
            levels = Levels(manifest["level"], manifest.get("levels"), manifest["world"])
        except ConfigError as error:
            raise RunError(f"line 1: {error}") from None
        if not levels.steps:
            level = manifest["level"] if manifest["level"] == "critical" else "critical for system"
            raise RunError(f"{self.path}: logged at level {level!r}, which leaves out the steps")

    def __iter__(self) -> Iterator[Event]:
        """Yield all events that can be read."""
        return self.events()

    def events(
        self,
        event_type: str | Iterable[str] | None = None,
        agent: str | None = None,
        report: Callable[[Problem], None] | None = None,
    ) -> Iterator[Event]:
        """Yield events in the order of the file.

        Args:
            event_type: Only events of this type, or of one of these types.
            agent: Only events with this `agent_id`.
            report: Called with the problem of every unreadable line; such lines are left out.
        """
        given = (event_type,) if isinstance(event_type, str) else event_type
        kinds = None if given is None else {*given}
        for _, event in self.numbered(report):
            wanted = kinds is None or event["event_type"] in kinds
            if wanted and (agent is None or event["agent_id"] == agent):
                yield event

    def numbered(
        self, report: Callable[[Problem], None] | None = None
    ) -> Iterator[tuple[int, Event]]:
        """Yield line numbers and events."""
        return ((raw.number, event) for raw, event in self.lines(report))

    def lines(self, report: Callable[[Problem], None] | None = None) -> Iterator[tuple[Raw, Event]]:
        """Yield lines as they stand in the file, and their events."""
        bad = 0
        for raw in raw_lines(self.path, self.level):
            found = event_of(raw)
            if not isinstance(found, Problem):
                assert isinstance(raw, Raw)
                yield raw, found
                continue
            bad += 1
            if bad > MOST_BAD:
                found = Problem(found.line, GIVEN_UP)
            if report is not None:
                report(found)
            if bad > MOST_BAD:
                return

    def steps(self) -> Iterator[Event]:
        """Yield the step lines."""
        for event in self:
            if kind_of(event["event_type"], event["event_data"]) == "step":
                yield event

    # -- what the ends say ----------------------------------------------------------------

    @functools.cached_property
    def _end(self) -> tuple[dict[str, Any], list[Problem]]:
        """The data of the last line, if it ends the run, and all problems: it is read once."""
        problems: list[Problem] = []
        last: Event | None = None
        for event in self.events(report=problems.append):
            last = event
        data = last["event_data"] if last is not None else {}
        complete = last is not None and last["event_type"] == "SIMULATION_CONTROL"
        return (data if complete and data.get("control") == "end" else {}), problems

    @property
    def summary(self) -> dict[str, Any] | None:
        """The summary of the last line, or ``None`` if the run was cut short."""
        found = self._end[0].get("summary")
        return dict(found) if isinstance(found, Mapping) else None

    @property
    def complete(self) -> bool:
        """Whether the run was recorded to its end."""
        return self.summary is not None

    @property
    def problems(self) -> list[Problem]:
        """The lines that cannot be read, and what is wrong with them."""
        return list(self._end[1])

    # -- as tables ------------------------------------------------------------------------

    def to_pandas(self, **wanted: Any) -> Any:
        """Return events as a pandas DataFrame; `event_data` stays a column of dicts.

        Args:
            wanted: The arguments of `events`.
        """
        from piase_gym.runs.tables import to_pandas

        return to_pandas(self.events(**wanted))

    def duckdb(self) -> Any:
        """Return a DuckDB connection with the views ``events`` and ``steps`` over this log.

        ``events`` has the fields of every line, `event_data` as JSON; ``steps`` has one row
        per agent and step: ``step, episode, agent_id, command, outcome, reward, terminated`` and
        ``truncated``.
        """
        from piase_gym.runs.tables import duckdb_views

        return duckdb_views(self.path, (raw.data for raw, _ in self.lines()))

    def sql(self, query: str) -> Any:
        """Return the result of a query over the views of `duckdb`, as a list of tuples.

        Raises:
            ConfigError: If the query fails.
        """
        from piase_gym.runs.tables import explained

        with contextlib.closing(self.duckdb()) as connection, explained("query"):
            return connection.execute(query).fetchall()


def event_of(raw: Raw | Problem) -> Event | Problem:
    """Return the event of a line, which has all fields, or what is wrong with the line."""
    if isinstance(raw, Problem):
        return raw
    event = parse(raw)
    lacks = "" if isinstance(event, Problem) else lacking(event)
    return Problem(raw.number, lacks) if lacks else event


def lacking(event: Mapping[str, Any]) -> str:
    """Say which field of a line is missing or of a wrong type, or return an empty string."""
    if (
        [*map(type, map(event.get, _NEEDED))] == _KINDS
        and 0 <= event["step"] < 1 << 63
        and 0 <= event["episode"] < 1 << 63
    ):
        return ""
    for field, kind in zip(_NEEDED, _KINDS, strict=True):
        if field not in event:
            return f"the field {field!r} is missing"
        value = event[field]
        if type(value) is not kind:
            return f"the field {field!r} is not {_WORDS[kind]}"
        if type(value) is int and not 0 <= value < 1 << 63:
            return f"the field {field!r} is {value}; it counts from 0"
    return ""


def damaged(path: Path, number: int, error: Exception) -> RunError:
    """Return the error for a line with `event_data` that does not fit its kind."""
    return RunError(f"{path}: line {number}: event_data {describe_damage(error)}")


def read(path: str | os.PathLike[str], *, level: str | None = None) -> Run:
    """Open a run.

    Args:
        path: The log: lines, or the columns of a batch, which are replayed to lines.
        level: The level of the lines to which columns expand; by default the recorded one.

    Raises:
        ConfigError: If there is no such level.
        RunError: If there is no such file, it is empty, its first line is no manifest, or it was
            written by a later version.
    """
    if not isinstance(path, str | os.PathLike):
        raise RunError(f"a run is named by the path of its log, not by {path!r:.60}")
    place = Path(path)
    folder = False
    with contextlib.suppress(OSError, ValueError):  # `raw_lines` reports these
        folder = place.is_dir()
    if folder:
        raise RunError(f"{place} is a folder, not a log")
    if level is not None:
        rank(level)
    first = next(iter(raw_lines(place, level)), None)
    if first is None:
        raise RunError(f"{place}: line 1: the log is empty")
    found = event_of(first)
    if isinstance(found, Problem):
        raise RunError(f"{place}: {found}")
    started = found["event_data"].get("control") == "start"
    if found["event_type"] != "SIMULATION_CONTROL" or not started:
        raise RunError(
            f"{place}: line 1: a run starts with its manifest, not {found['event_type']}"
        )
    found = {**found, "event_data": _last_manifest(place, level, found["event_data"])}
    try:
        check_manifest(found["event_data"])
    except RunError as error:
        raise RunError(f"{place}: {error}") from None
    return Run(place, found, level)


def _last_manifest(path: Path, level: str | None, first: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest that applies: that of the first line, or of a rebuild before a reset."""
    manifest = first
    for raw in itertools.islice(raw_lines(path, level), 1, FIRST_LINES):
        event = event_of(raw)
        if isinstance(event, Problem):
            continue
        data = event["event_data"]
        if data.get("control") == REBUILD:
            manifest = {**data, "control": "start"}
        elif kind_of(event["event_type"], data) in ("reset", "restore"):
            break
    return manifest
