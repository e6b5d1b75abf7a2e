"""What the finished trainings of the evidence on curricula say, and which of them may be compared.

A seed of a target is complete when all arms have a training with it. Only complete seeds are
compared, so no arm is judged by seeds that another arm was spared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import numpy as np

from piase_gym.benchmarks.evaluation import statistics
from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.studies.evidence.train import ARMS, OUT, PLAN, TARGETS, Scale, jobs
from piase_gym.benchmarks.studies.jobs import read_lines

MARGIN = 0.05
"""The least difference of shares that counts, and the least that counts as learnt; see the plan."""
SOLVED = 0.8
"""A training has solved its target if it wins this share of the test, as `sequential` asks."""
Line = Mapping[str, Any]
Value = Callable[[Line], float]


def success(line: Line) -> float:
    """Return the share of its test that a training has won."""
    return fmean(int(sign) for sign in line["won"])


def verdict(gap: Interval | None, margin: float) -> str:
    """Return the plan's name for a difference of shares; `margin` is the least that counts."""
    if gap is None:
        return "one pair only"
    if gap.low > 0.0 and gap.estimate >= margin:
        return "better"
    if gap.high < 0.0 and gap.estimate <= -margin:
        return "worse"
    return "no difference shown"


def overall(verdicts: Sequence[str]) -> str:
    """Return ``better`` or ``worse`` by the plans' rule for several targets; empty for neither."""
    better, worse = verdicts.count("better"), verdicts.count("worse")
    return "better" if better >= 2 and not worse else "worse" if worse >= 2 and not better else ""


@dataclass(frozen=True)
class Comparison:
    """`dse` minus another arm on common seeds.

    Attributes:
        arm: The other arm.
        pairs: Number of common seeds.
        gap: The mean difference of the shares won, with Student's 95 % interval; ``None`` for
            fewer than two pairs.
        chance: The probability of improvement.
    """

    arm: str
    pairs: int
    gap: Interval | None
    chance: float

    @property
    def verdict(self) -> str:
        """The plan's name for such a difference."""
        return verdict(self.gap, MARGIN)

    @property
    def small(self) -> bool:
        """Whether there is a difference that is smaller than what the plan counts."""
        there = self.gap is not None and (self.gap.low > 0 or self.gap.high < 0)
        return there and self.verdict == "no difference shown"


@dataclass(frozen=True)
class Trainings:
    """The finished trainings of a plan, each once.

    Attributes:
        lines: Their lines.
        every: All arms of the plan.
        optional: Arms that are not compared as long as they have no training.
        targets: All targets of the plan.
    """

    every: ClassVar[Collection[str]]
    optional: ClassVar[Collection[str]] = ()
    targets: ClassVar[Collection[str]]
    lines: Sequence[Line]

    @property
    def arms(self) -> list[str]:
        """The arms that are compared."""
        there = {line["arm"] for line in self.lines}
        return [name for name in self.every if name not in self.optional or name in there]

    def of(self, arm: str, target: str) -> dict[int, Line]:
        """Return the trainings of an arm on a target, by seed."""
        mine = [x for x in self.lines if (x["arm"], x["target"]) == (arm, target)]
        return {line["seed"]: line for line in mine}

    def complete(self, target: str) -> list[int]:
        """Return the seeds of a target that all arms have."""
        return sorted(set.intersection(*(set(self.of(arm, target)) for arm in self.arms)))

    def counted(self, arm: str, target: str) -> list[Line]:
        """Return the trainings of an arm on a target with complete seeds."""
        mine = self.of(arm, target)
        return [mine[seed] for seed in self.complete(target)]

    def values(self, arm: str, target: str, value: Value = success) -> list[float]:
        """Return a value of each of these trainings."""
        return [value(line) for line in self.counted(arm, target)]

    def tests(self, arm: str, target: str) -> list[list[float]]:
        """Return the test episodes of these trainings: 1 for a win, else 0."""
        return [[float(sign) for sign in line["won"]] for line in self.counted(arm, target)]

    def middle(self, arm: str, targets: Sequence[str]) -> Interval:
        """Return the interquartile mean of an arm over targets, with its interval."""
        return statistics.aggregate([self.tests(arm, target) for target in targets])

    def over_targets(self, mine: str, other: str, value: Value = success) -> Interval | None:
        """Return the difference of two arms over all targets, averaged within each seed.

        Returns:
            The mean with its interval, or ``None`` for fewer than two seeds.
        """
        seeds = set.intersection(*(set(self.complete(target)) for target in self.targets))
        if len(seeds) < 2:
            return None
        ours, theirs = (
            [fmean(value(run[seed]) for run in runs) for seed in sorted(seeds)]
            for runs in ([self.of(arm, target) for target in self.targets] for arm in (mine, other))
        )
        return statistics.paired_difference(ours, theirs)


@dataclass(frozen=True)
class Findings(Trainings):
    """The finished trainings of the first plan.

    Attributes:
        planned: Number of trainings that there will be.
        seeds: Number of seeds that each arm will have on each target.
        strange: Number of lines that belong to another plan, curriculum or scale.
    """

    every, targets = ARMS, TARGETS
    planned: int
    seeds: int
    strange: int

    @classmethod
    def read(cls, path: Path = OUT, scale: Scale | None = None) -> Findings:
        """Read a file of results; a missing file has none.

        Raises:
            StorageError: If it is damaged.
        """
        scale = scale or Scale()
        keys = {job.key for job in jobs(scale)}
        every = read_lines(path)
        own = {x["key"]: x for x in every if x.get("plan") == PLAN and x.get("key") in keys}
        strange = sum(x.get("key") not in own for x in every)
        return cls(list(own.values()), len(keys), scale.seeds, strange)

    def compare(self, arm: str, target: str) -> Comparison:
        """Compare `dse` with another arm; there must be a complete seed."""
        mine, other = self.values("dse", target), self.values(arm, target)
        gap = statistics.paired_difference(mine, other) if len(mine) > 1 else None
        chance = statistics.probability_of_improvement(mine, other)
        return Comparison(arm, len(mine), gap, chance)

    def failed(self) -> tuple[int, int]:
        """Return how many trainings with `dse` ended in FAIL, and how many there are."""
        mine = [x for x in self.lines if x["arm"] == "dse"]
        return sum(x["outcome"] == "failed" for x in mine), len(mine)

    def verdict(self, target: str) -> str:
        """Return the verdict on `dse` against `uniform` on a target."""
        if not self.complete(target):
            return "open"
        if not any(self.mean(arm, target) >= MARGIN for arm in ARMS):
            return "nothing learnt"
        return self.compare("uniform", target).verdict

    def mean(self, arm: str, target: str) -> float:
        """Return the mean share of the tests that an arm has won."""
        return fmean(self.values(arm, target))

    def interval(self, arm: str, target: str) -> Interval:
        """Return that mean with its interval."""
        return statistics.share_interval(self.tests(arm, target))

    def median(self, arm: str, target: str) -> float:
        """Return the median share of the tests that an arm has won."""
        return float(np.median(self.values(arm, target)))

    def solved(self, arm: str, target: str) -> int:
        """Return how many trainings of an arm have solved their target."""
        return sum(share >= SOLVED for share in self.values(arm, target))

    def spent(self, arm: str, target: str) -> dict[str, Any]:
        """Return how an arm's budget was spent, on average."""
        mine = self.counted(arm, target)
        steps = [[x["episodes"][order] for x in mine] for order in mine[0]["episodes"]]
        return {
            "episodes": [fmean(counts) for counts in steps],
            "completed": fmean(len(x["completed"]) for x in mine),
            "failed": sum(x["outcome"] == "failed" for x in mine),
            "hints": fmean(x["hints"] for x in mine),
            "seconds": fmean(x["cpu_seconds"]["training"] for x in mine),
        }


OTHERS = tuple(arm for arm in ARMS if arm != "dse")
"""The arms that `dse` is compared with."""
