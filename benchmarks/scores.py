"""Results: episodes, what they come to per task and policy, and what could not be played."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.benchmarks.journal import write_json
from piase_gym.benchmarks.protocol import PROTOCOL, EpisodeRecord
from piase_gym.benchmarks.settings import Problem
from piase_gym.benchmarks.statistics import Interval, aggregate, iqm, paired_difference
from piase_gym.benchmarks.task_scores import TaskResult, by_run, row_from_json, row_to_json
from piase_gym.errors import ProtocolError, UnknownNameError


@dataclass(frozen=True, kw_only=True)
class Results:
    """What an evaluation found.

    Attributes:
        suite: Manifest of the suite.
        split: Which seeds.
        rows: A `TaskResult` a setting and policy, in the order of the suite.
        episodes: Every episode, in a fixed order.
        problems: What could not be evaluated or stored.
        skipped: Who did not play what: a world without an oracle, or one that needs an optional
            part that is not installed.
        versions: Of the package and of what decides about numbers.
    """

    suite: Mapping[str, Any]
    split: str
    rows: tuple[TaskResult, ...]
    episodes: tuple[EpisodeRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Problem, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether everything was played and stored."""
        return not self.problems and all(row.complete for row in self.rows)

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies, in order."""
        return tuple(dict.fromkeys(row.policy for row in self.rows))

    @property
    def settings(self) -> tuple[str, ...]:
        """Labels of the settings, in order."""
        return tuple(dict.fromkeys(row.setting for row in self.rows))

    def row(self, setting: str, policy: str | None = None) -> TaskResult:
        """Return one row.

        Raises:
            UnknownNameError: If there is none.
        """
        wanted = self.policies[0] if policy is None and self.policies else policy
        found = self.find(setting, str(wanted))
        if found is None:
            known = [f"{row.setting}, {row.policy}" for row in self.rows]
            raise UnknownNameError("row", f"{setting}, {wanted}", known)
        return found

    def find(self, setting: str, policy: str) -> TaskResult | None:
        """Return one row, or None."""
        return self._table.get((setting, policy))

    @functools.cached_property
    def _table(self) -> dict[tuple[str, str], TaskResult]:
        """Rows by setting and policy."""
        return {(row.setting, row.policy): row for row in self.rows}

    def scores(self, policy: str | None = None) -> dict[str, float]:
        """Return the points of a policy by setting, without disqualified settings."""
        wanted = self.policies[0] if policy is None and self.policies else policy
        rows = [row for row in self.rows if row.policy == wanted and row.score is not None]
        return {row.setting: row.score.estimate for row in rows if row.score is not None}

    def score_runs(self, policy: str) -> dict[str, list[list[float]]]:
        """Return the points of every episode by setting and run."""
        found = {}
        for row in self.rows:
            if row.policy != policy or row.score is None:
                continue
            runs = by_run(self.of(row.setting, policy))
            found[row.setting] = [[row.gap.score(v) or 0.0 for v in run] for run in runs]
        return found

    def overall(self, policy: str) -> Interval | None:
        """Return the interquartile mean of a policy's points over settings and runs."""
        runs = list(self.score_runs(policy).values())
        return aggregate(runs, iqm) if runs else None

    def of(self, setting: str, policy: str) -> list[EpisodeRecord]:
        """Return the finished episodes of one row, by run and seed."""
        return [
            record
            for record in self.episodes
            if (record.setting, record.policy) == (setting, policy) and record.fault is None
        ]

    def difference(self, setting: str, policy: str, other: str) -> Interval:
        """Return by how much a policy's values exceed another's on common seeds."""
        mine, theirs = (_by_seed(self.of(setting, name)) for name in (policy, other))
        common = sorted(set(mine) & set(theirs))
        return paired_difference([mine[s] for s in common], [theirs[s] for s in common])

    def evidence(self) -> list[dict[str, Any]]:
        """Return what must be equal whenever the same evaluation is made again."""
        return [record.evidence() for record in self.episodes]

    def to_json(self) -> dict[str, Any]:
        """Return the results as JSON-able values."""
        return {
            "protocol": PROTOCOL,
            **{name: getattr(self, name) for name in ("suite", "split", "versions")},
            "rows": [row_to_json(row) for row in self.rows],
            "episodes": [record.to_json() for record in self.episodes],
            "problems": [asdict(problem) for problem in self.problems],
            "skipped": [asdict(problem) for problem in self.skipped],
        }

    @classmethod
    def from_json(cls, data: Any, where: str = "these results") -> Results:
        """Read what `to_json` wrote.

        Raises:
            ProtocolError: If they are of another protocol version, or damaged.
        """
        if not isinstance(data, Mapping) or data.get("protocol") != PROTOCOL:
            found = data.get("protocol") if isinstance(data, Mapping) else None
            raise ProtocolError(
                f"{where} are of protocol {found!r}; allowed here: {PROTOCOL}. Numbers of "
                "different protocols cannot be compared; evaluate anew"
            )
        try:
            return cls(
                **{name: data[name] for name in ("suite", "split", "versions")},
                rows=tuple(row_from_json(row) for row in data["rows"]),
                episodes=tuple(EpisodeRecord.from_json(item) for item in data["episodes"]),
                problems=tuple(Problem(**item) for item in data["problems"]),
                skipped=tuple(Problem(**item) for item in data["skipped"]),
            )
        except (KeyError, TypeError) as error:
            raise ProtocolError(f"{where} are damaged: {error!r}") from None

    def save(self, path: str | Path) -> None:
        """Write the results to a JSON file, atomically; a throughput in it is kept.

        Raises:
            StorageError: If that fails; the old file is as it was.
        """
        kept = read_sections(Path(path))
        extra = {"throughput": kept["throughput"]} if "throughput" in kept else {}
        write_json(Path(path), {**self.to_json(), **extra})

    @classmethod
    def load(cls, path: str | Path) -> Results:
        """Read results from a file.

        Raises:
            ProtocolError: If they cannot be read, or are of another protocol version.
        """
        try:
            data = json.loads(Path(path).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ProtocolError(f"{path}: the results cannot be read: {error}") from None
        return cls.from_json(data, str(path))

    def __str__(self) -> str:
        """Return a table for people."""
        from piase_gym.benchmarks.tables import plain_table

        return plain_table(self)


def read_sections(path: Path) -> dict[str, Any]:
    """Return what a file of results holds, if it is one of this protocol; else nothing."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) and data.get("protocol") == PROTOCOL else {}


def _by_seed(records: Iterable[EpisodeRecord]) -> dict[int, float]:
    """Return values by seed, the mean over runs."""
    found: dict[int, list[float]] = {}
    for record in records:
        assert record.value is not None
        found.setdefault(record.seed, []).append(record.value)
    return {seed: float(np.mean(values)) for seed, values in found.items()}
