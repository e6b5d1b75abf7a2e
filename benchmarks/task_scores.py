"""What the episodes of one policy on one task come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from piase_gym.benchmarks.protocol import EpisodeRecord
from piase_gym.benchmarks.references import Gap
from piase_gym.benchmarks.statistics import Interval, mean_interval, wilson
from piase_gym.core.commands import Result


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """What one policy reached in one setting.

    Attributes:
        setting: Label of the setting.
        task: Id of the task.
        version: Version of the world.
        config_hash: Hash of the config.
        measure: What `value` is the mean of.
        partner: Who played the other seats; empty if there were none.
        policy: Name of the policy.
        runs: How many training runs it has.
        episodes: How many episodes have a result.
        faults: How many have none, and why, with the number of each.
        value: Mean of the runs' means, with a 95 % hierarchical bootstrap interval.
        score: The same in points, or ``None``: the task is disqualified, or episodes are missing.
        gap: The references.
        success: Share of wins of focal agents, with Wilson's interval (one focal agent) or a
            bootstrap one (several, whose wins depend on each other); ``None`` where nothing is
            won or lost.
        steps: Mean steps.
        milestones: Mean number of focal agents that reached each.
        outcomes: Share of each outcome among the commands.
        messages: Mean letters sent by focal agents.
        hints: Mean hints given to them.
        seconds: Sum of wall times.
    """

    setting: str
    task: str
    version: int
    config_hash: str
    measure: str
    partner: str
    policy: str
    runs: int
    episodes: int
    faults: Mapping[str, int]
    value: Interval | None
    score: Interval | None
    gap: Gap
    success: Interval | None
    steps: float
    milestones: Mapping[str, float]
    outcomes: Mapping[str, float]
    messages: float
    hints: float
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every episode has a result."""
        return not self.faults and self.episodes > 0


def summarise(
    setting: Mapping[str, Any], policy: str, records: Sequence[EpisodeRecord], gap: Gap
) -> TaskResult:
    """Return what the episodes of one policy in one setting come to.

    A policy that failed in some episodes gets no score: those it could finish may be the easy
    ones.
    """
    fine = [record for record in records if record.fault is None]
    faults = _count(record.fault for record in records if record.fault is not None)
    runs = by_run(fine)
    value = mean_interval(runs) if runs else None
    scored = value is not None and not faults
    points = [gap.score(end) for end in value] if scored and value is not None else [None]
    outcomes = _total(record.outcomes for record in fine)
    commands = sum(outcomes.values())
    return TaskResult(
        setting=str(setting["label"]),
        task=str(setting["task"]),
        version=int(setting["version"]),
        config_hash=str(setting["config_hash"]),
        measure=str(setting["measure"]),
        partner=str(setting["partner"]),
        policy=policy,
        runs=len({record.run for record in records}),
        episodes=len(fine),
        faults=faults,
        value=value,
        score=None if None in points else Interval(*points),
        gap=gap,
        success=_success(fine),
        steps=_mean([record.steps for record in fine]),
        milestones=_shares(_total(record.milestones for record in fine), len(fine)),
        outcomes=_shares(outcomes, commands),
        messages=_mean([record.messages for record in fine]),
        hints=_mean([record.hints for record in fine]),
        seconds=float(sum(record.seconds for record in fine)),
    )


def by_run(records: Iterable[EpisodeRecord]) -> list[list[float]]:
    """Return values by run, in the order of seeds."""
    runs: dict[int, list[float]] = {}
    for record in sorted(records, key=lambda r: (r.run, r.seed)):
        assert record.value is not None
        runs.setdefault(record.run, []).append(record.value)
    return list(runs.values())


def _success(records: Sequence[EpisodeRecord]) -> Interval | None:
    """Return the share of wins; None where nothing is won or lost."""
    decided = {Result.WON, Result.LOST}
    if not any(decided & set(record.results.values()) for record in records):
        return None
    won = [record.won for record in records]
    if all(len(record.focal) == 1 for record in records):
        return wilson(sum(won), len(won))
    return mean_interval([won])


def _count(words: Iterable[str]) -> dict[str, int]:
    """Count equal words."""
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found


def _total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add counts up."""
    found: dict[str, int] = {}
    for part in counts:
        for name, count in part.items():
            found[name] = found.get(name, 0) + count
    return dict(sorted(found.items()))


def _shares(counts: Mapping[str, int], whole: int) -> dict[str, float]:
    """Return counts as shares of a whole."""
    return {name: count / whole for name, count in counts.items()} if whole else {}


def _mean(values: Sequence[float]) -> float:
    """Return the mean, or 0 of nothing."""
    return float(np.mean(values)) if values else 0.0


def row_to_json(row: TaskResult) -> dict[str, Any]:
    """Return a row as JSON-able values."""
    data = asdict(row)
    for name in ("value", "score", "success"):
        interval = getattr(row, name)
        data[name] = None if interval is None else interval._asdict()
    return data


def row_from_json(data: Mapping[str, Any]) -> TaskResult:
    """Read a row."""
    row = dict(data)
    for name in ("value", "score", "success"):
        row[name] = None if row[name] is None else Interval(**row[name])
    row["gap"] = Gap(**row["gap"])
    return TaskResult(**row)
