"""`validate`: is a file a complete and sound PiaAVT log of piase_gym?"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xxhash

from piase_gym.errors import PiaseError
from piase_gym.runs.log_file import GIVEN_UP, MOST_BAD, Problem, Raw, has_columns, raw_lines
from piase_gym.runs.manifest import spec_of
from piase_gym.runs.reader import event_of
from piase_gym.runs.schema import (
    EVENT_TYPES,
    GOAL_STATES,
    LOG_LEVELS,
    SCHEMA_VERSION,
    SOURCE_TYPES,
    event_number,
    moment_of,
    sealed,
)
from piase_gym.runs.seal import check_columns
from piase_gym.worlds.texts.wording import counted

MOST = 100
"""The number of problems listed; if a file has more, the rest are only counted."""


@dataclass
class ValidationReport:
    """What `validate` found.

    Attributes:
        path: The file.
        lines: How many lines it has.
        complete: Whether it ends with a summary.
        problems: What is wrong, in the order of lines; at most `MOST`.
        count: How many problems there are.
        errors: How many of them are errors.
        event_types: How many lines there are of each type.
        sealed: Whether its summary has a seal; logs of schema 1 may have none.
    """

    path: str
    lines: int = 0
    complete: bool = False
    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    errors: int = 0
    event_types: Counter[str] = field(default_factory=Counter)
    sealed: bool = True

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong: no bad line, nothing missing, nothing changed."""
        return self.count == 0

    @property
    def readable(self) -> bool:
        """Whether there are lines, and no problems but those of a run that was cut short."""
        return self.lines > 0 and not self.errors

    def add(self, line: int, reason: str, severity: str = "error") -> None:
        """Take note of a problem."""
        self.count += 1
        self.errors += severity == "error"
        if len(self.problems) < MOST:
            self.problems.append(Problem(line, reason, severity))

    def __str__(self) -> str:
        """Summarize the report in a few lines."""
        if self.ok:
            word = "complete and sound" if self.sealed else "complete, but unsealed (schema 1)"
            return f"{self.path}: {self.lines} lines, {word}"
        shown = "\n".join(f"  {problem}" for problem in self.problems[:20])
        return f"{self.path}: {self.lines} lines, {counted(self.count, 'problem')}\n{shown}"


def validate(path: str | os.PathLike[str]) -> ValidationReport:
    """Check a log: its lines, their order, its goals, its two ends, its checksum.

    Raises:
        RunError: If there is no such file.
    """
    report = ValidationReport(os.fspath(path))
    checker = _Checker(report)
    for raw in raw_lines(path):
        if isinstance(raw, Problem):
            report.add(raw.line, raw.reason, raw.severity)
            break
        report.lines = raw.number
        checker.line(raw)
        if report.errors > MOST_BAD:
            report.add(raw.number, GIVEN_UP)
            break
    checker.end()
    if has_columns(path) and (seal := check_columns(Path(path))).state == "broken":
        report.add(0, str(seal))
    return report


class _Checker:
    """Checks lines one by one, and remembers what the later ones need."""

    def __init__(self, report: ValidationReport) -> None:
        self.report = report
        self.hash = xxhash.xxh3_64()
        self.last_id = 0
        self.step = 0
        self.run: tuple[Any, Any] | None = None
        self.goals: dict[str, str] = {}
        self.ended = False
        self.schema = SCHEMA_VERSION
        self.clock = ""

    def line(self, raw: Raw) -> None:
        """Check one line."""
        report, number = self.report, raw.number
        event = event_of(raw)
        if not isinstance(event, Problem) and (wrong := _malformed(event) or _odd_step(event)):
            event = Problem(number, wrong)
        if isinstance(event, Problem):
            report.add(event.line, event.reason, event.severity)
            self.last_id += 1  # what stood there is reported once, here
            return
        if self.ended:
            report.add(number, "there is a line after the summary")
        report.event_types[event["event_type"]] += 1
        if number == 1:
            version = event["event_data"].get("schema_version")
            self.schema = version if type(version) is int else SCHEMA_VERSION
        if event["event_type"] not in EVENT_TYPES:
            report.add(number, f"unknown event type {event['event_type']!r}", "warning")
        self._order(number, event)
        self._control(raw, event)
        self._goal(number, event)
        if not self.ended:
            self.hash.update(raw.data + b"\n")

    def _order(self, number: int, event: Mapping[str, Any]) -> None:
        """Check that a line follows the one before it."""
        run = (event["simulation_run_id"], event["experiment_id"])
        if self.run is None:
            self.run = run
        if run != self.run:
            self.report.add(number, f"the line is of another run, {run[0]!r}")
            return
        found = event_number(event["event_id"], run[0], self.schema)
        if found == self.last_id:
            self.report.add(number, f"event_id {event['event_id']} is there twice")
        elif found != self.last_id + 1:
            self.report.add(number, f"event_id {event['event_id']} follows {self.last_id}")
        self.last_id = found if found >= 0 else self.last_id + 1
        moment = moment_of(event["timestamp"])
        if moment < self.clock:
            reason = f"the timestamp {event['timestamp']} is before that of the line before"
            self.report.add(number, reason)
        self.clock = moment
        if event["step"] < self.step:
            self.report.add(number, f"step {event['step']} follows step {self.step}")
        self.step = event["step"]

    def _control(self, raw: Raw, event: Mapping[str, Any]) -> None:
        """Check the manifest and the summary."""
        report, number, data = self.report, raw.number, event["event_data"]
        control = data.get("control") if event["event_type"] == "SIMULATION_CONTROL" else None
        if number == 1:
            self._manifest(data if control == "start" else None)
        elif control == "start":
            report.add(number, "there is a second manifest")
        if control == "end":
            self.ended = report.complete = True
            if data.get("lines") not in (None, number):
                report.add(number, f"the run had {data['lines']} lines; here are {number}")
            checksum = data.get("checksum")
            if checksum is not None and checksum != self.hash.hexdigest():
                if report.ok:
                    report.add(number, "lines were changed after they were written (checksum)")
            else:
                self._seal(raw, data.get("seal"))

    def _seal(self, raw: Raw, seal: Any) -> None:
        """Check the summary's own line; a log of schema 1 may have no seal."""
        if seal is None and self.schema < 2:
            self.report.sealed = False
            return
        everything = self.hash.copy()
        everything.update(sealed(raw.data, str(seal)) + b"\n")
        if seal != everything.hexdigest():
            self.report.add(raw.number, "the summary was changed after it was written (seal)")

    def _manifest(self, data: Mapping[str, Any] | None) -> None:
        """Check the first line."""
        if data is None:
            self.report.add(1, "the first line is not a manifest")
            return
        try:
            spec_of(data)
        except PiaseError as error:
            self.report.add(1, str(error).removeprefix("line 1: "))

    def _goal(self, number: int, event: Mapping[str, Any]) -> None:
        """Check that goals are created, activated and changed in this order."""
        kind, data = event["event_type"], event["event_data"]
        if not kind.startswith("GOAL_"):
            return
        goal = data.get("goal_id")
        before = self.goals.get(goal) if isinstance(goal, str) else None
        if not isinstance(goal, str):
            self.report.add(number, "a goal line without goal_id")
        elif kind == "GOAL_CREATED":
            if before is not None:
                self.report.add(number, f"goal {goal!r} was created before")
            self.goals[goal] = "CREATED"
        elif before is None:
            self.report.add(number, f"goal {goal!r} was never created")
        elif kind == "GOAL_ACTIVATED":
            self.goals[goal] = "ACTIVE"
        elif kind in ("GOAL_STATUS_CHANGED", "GOAL_STATE_CHANGED"):
            if data.get("new_state") not in GOAL_STATES:
                self.report.add(number, f"unknown goal state {data.get('new_state')!r}")
            elif before not in ("ACTIVE", data["new_state"]):
                self.report.add(number, f"goal {goal!r} changes from {before}, which was its end")
            else:
                self.goals[goal] = data["new_state"]

    def end(self) -> None:
        """Check what can only be known at the end."""
        if not self.report.lines and self.report.ok:
            self.report.add(1, "the log is empty")
        elif self.report.lines and not self.report.complete:
            reason = "the run was cut short: there is no summary"
            self.report.add(self.report.lines, reason, "warning")


def _malformed(event: Mapping[str, Any]) -> str:
    """Say what is wrong with the values of a line's fields, or return an empty string."""
    for name in ("simulation_run_id", "experiment_id", "agent_id", "source_component_id"):
        if not event[name].strip():
            return f"the field {name!r} is blank or not a string"
    if not moment_of(event["timestamp"]):
        return f"the timestamp {event['timestamp']!r:.60} is not ISO 8601 in UTC with a fraction"
    if event["log_level"] not in LOG_LEVELS:
        return f"unknown log_level {event['log_level']!r:.60}"
    if event["source_type"] not in SOURCE_TYPES:
        return f"unknown source_type {event['source_type']!r:.60}"
    return ""


def _odd_step(event: Mapping[str, Any]) -> str:
    """Say what is wrong with the entries of a step line, or return an empty string."""
    data = event["event_data"]
    if event["event_type"] != "ENVIRONMENT_EVENT_OCCURRED" or data.get("kind") != "step":
        return ""
    commands = data.get("commands")
    for name, allowed in _STEP.items():
        entries = data.get(name)
        if not isinstance(entries, dict) or not isinstance(commands, dict):
            return f"a step line whose {name!r} is not an object"
        if entries.keys() != commands.keys():
            return f"the agents of {name!r} are not those of 'commands'"
        if not all(type(value) in allowed for value in entries.values()):
            return f"a step line with a value in {name!r} that cannot be there"
    return ""


_STEP: Mapping[str, tuple[type, ...]] = {
    "commands": (int, dict, type(None)),
    "outcomes": (str,),
    "rewards": (float, int, type(None)),
    "terminated": (bool,),
    "truncated": (bool,),
}
"""The types of one agent's entries in a step line."""
