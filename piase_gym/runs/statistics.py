"""Counts over logs of any size: which events, whose goals, what returns."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import orjson

from piase_gym.runs.log_file import Problem, parse, raw_lines
from piase_gym.runs.schema import describe_damage, played_out

_OF_EPISODE = re.compile(r"(.*:)?goal_\d+_")
"""The id of the goal of an episode; see `piase_gym.runs.agent_lines.goal_id`."""


@dataclass
class GoalCount:
    """How one agent's episodes ended.

    Attributes:
        states: How many goals ended in each state.
        played: How many of the episodes were played out. Others, which were broken off, count in no
            mean, as in `piase_gym.runs.Metrics` and in the summary of a run.
        returns: Sum of the returns of the episodes that were played out.
        steps: Sum of their lengths.
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
        unread: Lines that could not be read; if the file cannot be read to its end, that counts as
            one.
        problem: The first of them, and what is wrong with it.
        event_types: Lines by event type.
        agents: Lines by `agent_id`.
        goals: Agent -> how its episodes ended.
    """

    lines: int = 0
    size: int = 0
    unread: int = 0
    problem: Problem | None = None
    event_types: Counter[str] = field(default_factory=Counter)
    agents: Counter[str] = field(default_factory=Counter)
    goals: dict[str, GoalCount] = field(default_factory=dict)

    def miss(self, problem: Problem) -> None:
        """Count what could not be read."""
        self.unread += 1
        self.problem = self.problem or problem


def stats(path: str | os.PathLike[str]) -> Stats:
    """Count the events of a log.

    Raises:
        RunError: If there is no such file.
    """
    found = Stats()
    for raw in raw_lines(path):
        if isinstance(raw, Problem):
            found.miss(raw)
            break
        found.lines += 1
        found.size += len(raw.data) + 1
        try:
            event = orjson.loads(raw.data)
            found.event_types[event["event_type"]] += 1
            found.agents[event["agent_id"]] += 1
            _count_goal(event, found)
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            parsed = parse(raw)
            damage = Problem(raw.number, f"the line {describe_damage(error)}")
            found.miss(parsed if isinstance(parsed, Problem) else damage)
    return found


def _count_goal(event: dict[str, Any], found: Stats) -> None:
    """Count the goal of an episode that ended; agents may have goals of their own."""
    data = event["event_data"]
    if event["event_type"] != "GOAL_STATUS_CHANGED":
        return
    if "metrics" in data and _OF_EPISODE.match(str(data["goal_id"])):
        goal = found.goals.setdefault(event["agent_id"], GoalCount())
        goal.states[data["new_state"]] += 1
        if played_out(data["reason"]):
            goal.played += 1
            goal.returns += data["metrics"]["return"] or 0.0
            goal.steps += data["metrics"]["steps"]
