"""What the finished trainings of the evidence on curricula say, by the rules of the plan.

A seed of a target is complete when all arms have a training with it. Only complete seeds are
compared, so no arm is judged by seeds that another arm was spared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from piase_gym.benchmarks.evaluation import statistics
from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.studies.evidence import plan, study
from piase_gym.benchmarks.studies.evidence.plan import ARMS, OPTIONAL, RIVALS, TARGETS

CORRECTED = 1.0 - 0.05 / len(TARGETS)
"""The level of the intervals on single targets."""
Line = Mapping[str, Any]
Value = Callable[[Line], float]


def success(line: Line) -> float:
    """Return the share of its test that a training has won."""
    won: str = line["won"]
    return won.count("1") / len(won)


def to_threshold(line: Line) -> float:
    """Return the share of its budget after which a training wins half of a mark's levels, or 1."""
    reached = [look["steps"] for look in line["curve"] if look["won"] >= plan.THRESHOLD]
    return min(1.0, reached[0] / line["steps"]) if reached else 1.0


def verdict(gap: Interval | None) -> str:
    """Return the plan's name for a difference of shares; without a gap there is one pair only."""
    if gap is None:
        return "one pair only"
    if gap.low > 0.0 and gap.estimate >= plan.SMALLEST:
        return "better"
    if gap.high < 0.0 and gap.estimate <= -plan.SMALLEST:
        return "worse"
    return "no difference shown"


@dataclass(frozen=True)
class Evidence:
    """The finished trainings of the plan, each once.

    Attributes:
        lines: Their lines.
        budgets: Steps of a training on each target that has a calibration.
        tried: For each target and budget, what `target_only` has won in the calibration.
        strange: Number of lines that belong to another plan, curriculum or budget.
    """

    lines: Sequence[Line]
    budgets: Mapping[str, int]
    tried: Mapping[str, Mapping[int, Sequence[float]]]
    strange: int

    @classmethod
    def read(cls, path: Path = study.OUT) -> Evidence:
        """Read a file of results; a missing file has none.

        Raises:
            StorageError: If it is damaged.
        """
        every, budgets = study.finished(path), study.budgets(path)
        keys = {job.key for job in study.jobs(budgets)}
        own = {line["key"]: line for line in every if line["key"] in keys}
        tried = {target: study.shares(every, target) for target in TARGETS}
        counted = len(own) + sum(len(won) for shares in tried.values() for won in shares.values())
        return cls(list(own.values()), budgets, tried, len(every) - counted)

    # -- which trainings there are -------------------------------------------------------------

    @property
    def planned(self) -> int:
        """Number of trainings in the plan."""
        return len(plan.SEEDS) * len(TARGETS) * len(ARMS)

    @property
    def hours(self) -> float:
        """CPU-hours of all finished trainings."""
        return sum(sum(line["cpu_seconds"].values()) for line in self.lines) / 3600

    @property
    def arms(self) -> list[str]:
        """The arms that are compared: optional ones only if they have a training."""
        there = {line["arm"] for line in self.lines}
        return [name for name in ARMS if name not in OPTIONAL or name in there]

    @property
    def compared(self) -> list[str]:
        """The targets that have a complete seed."""
        return [target for target in TARGETS if self.complete(target)]

    @cached_property
    def _sorted(self) -> dict[tuple[str, str], dict[int, Line]]:
        """The trainings by arm and target, then by seed."""
        found: dict[tuple[str, str], dict[int, Line]] = {}
        for line in self.lines:
            found.setdefault((line["arm"], line["target"]), {})[line["seed"]] = line
        return found

    def of(self, arm: str, target: str) -> Mapping[int, Line]:
        """Return the trainings of an arm on a target, by seed."""
        return self._sorted.get((arm, target), {})

    def complete(self, target: str) -> list[int]:
        """Return the seeds of a target that all arms have."""
        return sorted(set.intersection(*(set(self.of(arm, target)) for arm in self.arms)))

    def counted(self, arm: str, target: str) -> list[Line]:
        """Return the trainings of an arm on a target with complete seeds."""
        mine = self.of(arm, target)
        return [mine[seed] for seed in self.complete(target)]

    # -- what they came to ---------------------------------------------------------------------

    def values(self, arm: str, target: str, value: Value = success) -> list[float]:
        """Return a value of each counted training."""
        return [value(line) for line in self.counted(arm, target)]

    def middle(self, arm: str, targets: Sequence[str]) -> Interval:
        """Return the interquartile mean of an arm over targets, with its interval."""
        counted = [self.counted(arm, target) for target in targets]
        won = [[[float(sign) for sign in line["won"]] for line in lines] for lines in counted]
        return statistics.aggregate(won)

    def failed(self, arm: str, target: str) -> int:
        """Return how many counted trainings of an arm ended in FAIL."""
        return sum(line["outcome"] == "failed" for line in self.counted(arm, target))

    def gap(self, mine: str, other: str, target: str, value: Value = success) -> Interval | None:
        """Return the mean difference of two arms on a target, with the corrected interval.

        Returns:
            The difference, or ``None`` for fewer than two seeds.
        """
        pairs = self.values(mine, target, value), self.values(other, target, value)
        return statistics.paired_difference(*pairs, CORRECTED) if len(pairs[0]) > 1 else None

    def over_targets(self, mine: str, other: str, value: Value = success) -> Interval | None:
        """Return the difference of two arms over all targets, averaged within each seed.

        Returns:
            The mean with its interval, or ``None`` for fewer than two seeds.
        """
        seeds = set.intersection(*(set(self.complete(target)) for target in TARGETS))
        if len(seeds) < 2:
            return None
        ours, theirs = (
            [fmean(value(run[seed]) for run in runs) for seed in sorted(seeds)]
            for runs in ([self.of(arm, target) for target in TARGETS] for arm in (mine, other))
        )
        return statistics.paired_difference(ours, theirs)

    # -- what follows --------------------------------------------------------------------------

    @property
    def hard_enough(self) -> int:
        """Number of targets on which `target_only` learnt enough in the calibration."""
        return sum(
            plan.gain(self.tried[target], steps) >= plan.SMALLEST
            for target, steps in self.budgets.items()
        )

    def learnt(self, target: str) -> bool:
        """Return whether any arm wins enough more than an untrained policy to say something."""
        untrained = fmean(self.tried[target][0])
        won = [fmean(self.values(arm, target)) for arm in self.arms]
        return max(won) - untrained >= plan.SMALLEST

    def verdict(self, arm: str, target: str) -> str:
        """Return the verdict on `dse` against another arm on a target that is compared."""
        return verdict(self.gap("dse", arm, target)) if self.learnt(target) else "nothing learnt"

    def verdicts(self, rival: str) -> dict[str, str]:
        """Return the verdict on `dse` against a rival on each target that is compared."""
        return {target: self.verdict(rival, target) for target in self.compared}

    def conclusion(self, rival: str) -> str:
        """Return whether the DSE ``helps`` or ``hurts`` against a rival; empty for neither."""
        found = list(self.verdicts(rival).values())
        better, worse = found.count("better"), found.count("worse")
        if better and worse:
            return ""
        return "helps" if better >= 2 else "hurts" if worse >= 2 else ""

    @property
    def helps(self) -> bool:
        """Whether the conclusion is that the DSE helps: it does against both rivals."""
        return all(self.conclusion(rival) == "helps" for rival in RIVALS)
