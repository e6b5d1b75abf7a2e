"""Counts over logs of any size: which events, whose goals, what returns.

Lines as we write them are counted without being parsed; other lines are parsed one by one.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from piase_gym.runs.log_file import CHUNK, MAX_LINE, open_log
from piase_gym.runs.schema import played_out

_HEAD = re.compile(
    rb'^\{"timestamp":"[^"\n]*","simulation_run_id":"[^"\\\n]*","experiment_id":"[^"\\\n]*",'
    rb'"event_id":"[^"\\\n]*","agent_id":"([^"\\\n]*","source_component_id":"[^"\\\n]*",'
    rb'"source_type":"\w*","log_level":"\w*","event_type":"\w*)","step":',
    re.MULTILINE,
)
_GOAL = b'"event_type":"GOAL_STATUS_CHANGED"'


@dataclass
class GoalCount:
    """How one agent's episodes ended.

    Attributes:
        states: How many goals ended in each state.
        played: How many of the episodes came to their own end. Others, which were broken off, count
            in no mean, as in `piase_gym.runs.Metrics` and in the summary of a run.
        returns: Sum of the returns of those.
        steps: Sum of the lengths of those.
    """

    states: Counter[str] = field(default_factory=Counter)
    played: int = 0
    returns: float = 0.0
    steps: int = 0

    @property
    def mean_return(self) -> float | None:
        """The mean return of the episodes that were played out."""
        return self.returns / self.played if self.played else None

    @property
    def mean_length(self) -> float | None:
        """The mean length of the episodes that were played out."""
        return self.steps / self.played if self.played else None

    @property
    def episodes(self) -> int:
        """How many goals ended."""
        return sum(self.states.values())


@dataclass
class Stats:
    """What `stats` counted.

    Attributes:
        lines: Lines in all.
        size: Bytes in all, uncompressed.
        unread: Lines that could not be read.
        event_types: Lines by event type.
        agents: Lines by `agent_id`.
        goals: Agent -> how its episodes ended.
    """

    lines: int = 0
    size: int = 0
    unread: int = 0
    event_types: Counter[str] = field(default_factory=Counter)
    agents: Counter[str] = field(default_factory=Counter)
    goals: dict[str, GoalCount] = field(default_factory=dict)


def stats(path: str | os.PathLike[str]) -> Stats:
    """Count the events of a log.

    Raises:
        RunError: If there is no such file.
    """
    found, heads = Stats(), Counter[bytes]()
    for block in _blocks(path):
        found.size += len(block)
        count = block.count(b"\n")
        found.lines += count
        heads_here = _HEAD.findall(block)
        if len(heads_here) == count:
            heads.update(heads_here)
            _count_goals(block, found)
        else:
            for line in block.splitlines():
                _count_line(line, found)
    for head, count in heads.items():
        parts = head.decode("utf-8", "replace").split('"')
        found.agents[parts[0]] += count
        found.event_types[parts[-1]] += count
    return found


def _blocks(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield pieces of a log that end with the end of a line."""
    file = open_log(path)
    try:
        rest = b""
        while chunk := file.read(8 * CHUNK):
            end = chunk.rfind(b"\n") + 1
            if not end:
                rest += chunk
                if len(rest) > MAX_LINE:
                    return
                continue
            yield rest + chunk[:end]
            rest = chunk[end:]
        if rest:
            yield rest + b"\n"
    finally:
        file.close()


def _count_goals(block: bytes, found: Stats) -> None:
    """Count the goals that ended in a block."""
    place = block.find(_GOAL)
    while place >= 0:
        start, end = block.rfind(b"\n", 0, place) + 1, block.find(b"\n", place)
        try:
            _count_goal(orjson.loads(block[start:end]), found)
        except (orjson.JSONDecodeError, KeyError, TypeError):
            found.unread += 1
        place = block.find(_GOAL, end)


def _count_goal(event: dict[str, Any], found: Stats) -> None:
    """Count one goal that ended."""
    data = event["event_data"]
    if event["event_type"] == "GOAL_STATUS_CHANGED" and "metrics" in data:
        goal = found.goals.setdefault(event["agent_id"], GoalCount())
        goal.states[data["new_state"]] += 1
        if played_out(data["reason"]):
            goal.played += 1
            goal.returns += data["metrics"]["return"] or 0.0
            goal.steps += data["metrics"]["steps"]


def _count_line(line: bytes, found: Stats) -> None:
    """Count a line that is not as we write it."""
    try:
        event = orjson.loads(line)
        found.event_types[event["event_type"]] += 1
        found.agents[event["agent_id"]] += 1
        _count_goal(event, found)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        found.unread += 1
