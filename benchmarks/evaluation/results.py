"""Results: episodes, their summaries per task and policy, and what could not be played."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from piase_gym.benchmarks.evaluation.protocol import PROTOCOL, EpisodeRecord
from piase_gym.benchmarks.evaluation.statistics import (
    Anchors,
    Interval,
    Runs,
    aggregate,
    difference_interval,
    improvement_interval,
    iqm,
    mean_interval,
    profile_band,
    share_interval,
)
from piase_gym.benchmarks.evaluation.suites import Problem, Setting
from piase_gym.benchmarks.references.references import ScoreRange
from piase_gym.core.commands import Result
from piase_gym.core.files import write_json
from piase_gym.core.snapshot import DAMAGE
from piase_gym.errors import ProtocolError, UnknownNameError
from piase_gym.worlds.texts.wording import counted


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """What one policy reached in one setting.

    Attributes:
        setting: Label of the setting.
        task: Id of the task.
        version: Version of the world.
        config_hash: Hash of the config.
        measure: What `value` is the mean of.
        partner: The policy in the other seats; empty if there were none.
        policy: Name of the policy.
        runs: Number of its training runs.
        episodes: Number of episodes that have a result.
        faults: Number of episodes without a result, for each reason.
        value: Mean of the runs' means, with a 95 % interval for other runs on other seeds
            (`mean_interval`); with one run, for other seeds only. Win rates have that of
            `share_interval`.
        score: The same in points, with the uncertainty of what 0 and 100 points are; ``None`` if
            the task is disqualified, or episodes are missing.
        gap: The references.
        success: Share of wins of focal agents, with an interval of the same kind
            (`share_interval`); ``None`` if nothing is won or lost.
        steps: Mean steps.
        milestones: Mean number of focal agents that reached each milestone.
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
    gap: ScoreRange
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
    setting: Setting, policy: str, records: Sequence[EpisodeRecord], gap: ScoreRange
) -> TaskResult:
    """Summarise the episodes of one policy in one setting.

    A policy that failed in some episodes gets no score: those that it finished may be the easy
    ones.
    """
    fine = [record for record in records if record.fault is None]
    faults = Counter(record.fault for record in records if record.fault is not None)
    runs = by_run(fine)
    interval = share_interval if setting.measure == "win_rate" else mean_interval
    value = interval(runs) if runs else None
    scored = runs and not faults and gap.disqualified is None
    outcomes = _total(record.outcomes for record in fine)
    return TaskResult(
        setting=setting.label,
        task=setting.task,
        version=setting.version,
        config_hash=setting.config_hash,
        measure=setting.measure,
        partner=setting.partner,
        policy=policy,
        runs=len({record.run for record in records}),
        episodes=len(fine),
        faults=dict(faults),
        value=value,
        score=mean_interval(gap.points(runs), anchors=gap.anchors) if scored else None,
        gap=gap,
        success=_success(fine),
        steps=_mean([record.steps for record in fine]),
        milestones=_shares(_total(record.milestones for record in fine), len(fine)),
        outcomes=_shares(outcomes, sum(outcomes.values())),
        messages=_mean([record.messages for record in fine]),
        hints=_mean([record.hints for record in fine]),
        seconds=float(sum(record.seconds for record in fine)),
    )


INTERVALS = ("value", "score", "success")


def by_run(
    records: Iterable[EpisodeRecord],
    what: Callable[[EpisodeRecord], float | None] = attrgetter("value"),
) -> list[list[float]]:
    """Return the episodes' values, or what `what` returns for each, by run and in seed order."""
    ordered = sorted(records, key=lambda record: (record.run, record.seed))
    runs = groupby(ordered, lambda record: record.run)
    return [[float(what(record) or 0.0) for record in run] for _, run in runs]


def _success(records: Sequence[EpisodeRecord]) -> Interval | None:
    """Return the share of wins; None if nothing is won or lost."""
    decided = {Result.WON, Result.LOST}
    if not any(decided & set(record.results.values()) for record in records):
        return None
    return share_interval(by_run(records, lambda record: record.won))


def _total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add counts up."""
    found: Counter[str] = Counter()
    for part in counts:
        found.update(part)
    return dict(sorted(found.items()))


def _shares(counts: Mapping[str, int], whole: int) -> dict[str, float]:
    """Return counts as shares of a whole."""
    return {name: count / whole for name, count in counts.items()} if whole else {}


def _mean(values: Sequence[float]) -> float:
    """Return the mean, or 0 if there are no values."""
    return float(np.mean(values)) if values else 0.0


def row_to_json(row: TaskResult) -> dict[str, Any]:
    """Return a row as JSON-able values, without its time."""
    intervals = {name: getattr(row, name) for name in INTERVALS}
    gap = {**asdict(row.gap), "anchors": row.gap.anchors and list(row.gap.anchors)}
    intervals_by_name = {name: one and one._asdict() for name, one in intervals.items()}
    found = {**asdict(row), **intervals_by_name, "gap": gap}
    del found["seconds"]
    return found


def row_from_json(data: Mapping[str, Any]) -> TaskResult:
    """Read a row."""
    found = {name: data[name] and Interval(**data[name]) for name in INTERVALS}
    return TaskResult(**{**data, **found, "gap": ScoreRange.from_json(data["gap"])})


@dataclass(frozen=True, kw_only=True)
class Results:
    """The results of an evaluation.

    Attributes:
        suite: Manifest of the suite.
        split: The split of the seeds.
        rows: One `TaskResult` per setting and policy, in the order of the suite.
        episodes: Every episode, in a fixed order.
        problems: What could not be evaluated or stored.
        skipped: What was not played and why, such as a world without an oracle, or one that needs
            an optional part that is not installed.
        versions: Versions of the package and of the software that numbers depend on.
    """

    suite: Mapping[str, Any]
    split: str
    rows: tuple[TaskResult, ...]
    episodes: tuple[EpisodeRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Problem, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say what was evaluated; `str` has the table."""
        settings = counted(len(self.settings), "setting")
        episodes = counted(len(self.episodes), "episode")
        who = ", ".join(self.policies)
        return f"<Results of {self.suite['name']}: {settings}, {episodes} of {who:.80}>"

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
        wanted = self.policies[0] if policy is None and self.policies else str(policy)
        found = self.find(setting, wanted)
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
        return {r.setting: r.score.estimate for r in self.rows if r.policy == wanted and r.score}

    def score_runs(self, policy: str) -> dict[str, list[list[float]]]:
        """Return the points of every episode by setting and run."""
        return {
            row.setting: row.gap.points(by_run(self.of(row.setting, policy)))
            for row in self.rows
            if row.policy == policy and row.score is not None
        }

    def _tasks(self, policy: str) -> tuple[list[Runs], list[Anchors | None]]:
        """Return a policy's points by task and run, and the uncertainty of the tasks' scales."""
        found = self.score_runs(policy)
        gaps = [self.row(setting, policy).gap for setting in found]
        return list(found.values()), [gap.anchors for gap in gaps]

    def overall(self, policy: str) -> Interval | None:
        """Return the interquartile mean of a policy's points over settings and runs."""
        tasks, anchors = self._tasks(policy)
        return aggregate(tasks, iqm, anchors=anchors) if tasks else None

    def profile(self, policy: str, thresholds: ArrayLike, **options: Any) -> Any:
        """Return the share of a policy's runs above each threshold; see `profile_band`."""
        tasks, anchors = self._tasks(policy)
        return profile_band(tasks, thresholds, anchors=anchors, **options) if tasks else None

    def improvement(self, policy: str, other: str, **options: Any) -> Interval | None:
        """Return the probability that a run of one policy outscores one of another on a task."""
        mine, theirs = self.score_runs(policy), self.score_runs(other)
        common = [setting for setting in mine if setting in theirs]
        pair = [mine[setting] for setting in common], [theirs[setting] for setting in common]
        return improvement_interval(*pair, **options) if common else None

    def runs_of(self, policy: str) -> int:
        """Return a policy's number of training runs, the fewest on any task."""
        return min(row.runs for row in self.rows if row.policy == policy)

    def of(self, setting: str, policy: str) -> list[EpisodeRecord]:
        """Return the finished episodes of one row, by run and seed."""
        return [
            record
            for record in self.episodes
            if (record.setting, record.policy) == (setting, policy) and record.fault is None
        ]

    def difference(self, setting: str, policy: str, other: str) -> Interval:
        """Return by how much a policy's values exceed another's (`difference_interval`).

        They are compared on the seeds that every run of both has finished.

        Raises:
            UnknownNameError: If one of them has no row.
            ConfigError: If they have fewer than two such seeds.
        """
        both = [self.of(setting, self.row(setting, name).policy) for name in (policy, other)]
        seeds = _common_seeds([*both[0], *both[1]])
        mine, theirs = (by_run(one for one in own if one.seed in seeds) for own in both)
        return difference_interval(mine, theirs)

    def evidence(self) -> list[dict[str, Any]]:
        """Return what must be equal whenever the same evaluation is repeated."""
        return [record.evidence() for record in self.episodes]

    def to_json(self) -> dict[str, Any]:
        """Return the results as JSON-able values, the same wherever they were played."""
        return {
            "protocol": PROTOCOL,
            "suite": self.suite,
            "split": self.split,
            "rows": [row_to_json(row) for row in self.rows],
            "episodes": self.evidence(),
            "problems": [asdict(problem) for problem in self.problems],
            "skipped": [asdict(problem) for problem in self.skipped],
        }

    def timings(self) -> dict[str, Any]:
        """Return what differs on another machine: versions, and seconds of episodes."""
        seconds = [record.seconds for record in self.episodes]
        return {"protocol": PROTOCOL, "versions": self.versions, "seconds": seconds}

    @classmethod
    def from_json(
        cls, data: Any, where: str = "these results", timings: Mapping[str, Any] | None = None
    ) -> Results:
        """Read what `to_json` and `timings` returned.

        Raises:
            ProtocolError: If they are of another protocol version, or damaged.
        """
        found = data.get("protocol") if isinstance(data, Mapping) else None
        if found != PROTOCOL:
            raise ProtocolError(
                f"{where} are of protocol {found!r}; allowed here: {PROTOCOL}. Numbers of "
                "different protocols cannot be compared; evaluate anew"
            )
        try:
            episodes = _timed(data["episodes"], timings or {})
            return cls(
                suite=data["suite"],
                split=data["split"],
                versions=data.get("versions") or (timings or {}).get("versions", {}),
                rows=tuple(_row_with_time(row, episodes) for row in data["rows"]),
                episodes=episodes,
                problems=tuple(Problem(**item) for item in data["problems"]),
                skipped=tuple(Problem(**item) for item in data["skipped"]),
            )
        except ProtocolError as error:
            raise ProtocolError(f"{where}: {error}") from None
        except DAMAGE as error:
            raise ProtocolError(f"{where} are damaged: {error!r}") from None

    def save(self, path: str | Path) -> None:
        """Write the results to a JSON file, and timings to one next to it, each atomically.

        The section ``llm`` of the former and all other sections of the latter are kept.

        Raises:
            StorageError: If that fails; the old file is left as it was.
        """
        beside, kept = timings_beside(Path(path)), read_sections(Path(path))
        extra = {"llm": kept["llm"]} if "llm" in kept else {}
        write_json(Path(path), {**self.to_json(), **extra})
        write_json(beside, {**read_sections(beside), **self.timings()})

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
        return cls.from_json(data, str(path), read_sections(timings_beside(Path(path))))

    def __str__(self) -> str:
        """Return a table for people."""
        from piase_gym.benchmarks.evaluation.tables import plain_table

        return plain_table(self)


def timings_beside(path: Path) -> Path:
    """Return the file with the timings of results: ``timings.json`` for ``results.json``."""
    stem = path.stem
    return path.with_name("timings.json" if stem == "results" else f"{stem}.timings.json")


def _timed(
    episodes: Sequence[Mapping[str, Any]], timings: Mapping[str, Any]
) -> tuple[EpisodeRecord, ...]:
    """Return stored episodes with their seconds, if these are known."""
    seconds = timings.get("seconds", ())
    if len(seconds) != len(episodes):  # those of other results
        seconds = [0.0] * len(episodes)
    pairs = zip(episodes, seconds, strict=True)
    return tuple(EpisodeRecord.from_json({"seconds": took, **one}) for one, took in pairs)


def _row_with_time(data: Mapping[str, Any], episodes: Iterable[EpisodeRecord]) -> TaskResult:
    """Read a row; its time is that of its episodes."""
    row = row_from_json({"seconds": 0.0, **data})
    place = (row.setting, row.policy)
    own = (e for e in episodes if (e.setting, e.policy) == place and e.fault is None)
    return replace(row, seconds=float(sum(record.seconds for record in own)))


def read_sections(path: Path) -> dict[str, Any]:
    """Return the contents of a results file, or nothing if it is not one of this protocol."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) and data.get("protocol") == PROTOCOL else {}


def _common_seeds(records: Iterable[EpisodeRecord]) -> set[int]:
    """Return the seeds that every run of every policy has."""
    found: dict[tuple[str, int], set[int]] = {}
    for record in records:
        found.setdefault((record.policy, record.run), set()).add(record.seed)
    return set.intersection(*found.values()) if found else set()
