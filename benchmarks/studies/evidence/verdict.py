"""What the trainings of the second plan say, by the plan's own rules: see `plan`.

``python -m piase_gym.benchmarks.studies.evidence.verdict`` prints what `docs/evidence_teachers.md`
promises to report; ``docs/make_pages.py`` writes the same into the page. Everything is computed
from the lines of finished trainings. A seed of a target is complete when all arms have it, and only
complete seeds are compared.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.console import Console

from piase_gym.benchmarks.evaluation import statistics
from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.evaluation.tables import percent, rounded
from piase_gym.benchmarks.studies.evidence import findings, plan, study
from piase_gym.benchmarks.studies.evidence.findings import Line, Value, success
from piase_gym.benchmarks.studies.evidence.plan import ABLATIONS, ARMS, RIVALS, TARGETS
from piase_gym.benchmarks.studies.evidence.report import points, told
from piase_gym.errors import PiaseError

CORRECTED = 1.0 - 0.05 / len(TARGETS)
"""The level of the intervals on single targets."""
verdict = functools.partial(findings.verdict, margin=plan.SMALLEST)
"""Returns the plan's name for a difference of shares."""


def to_threshold(line: Line) -> float:
    """Return the share of its budget after which a training wins half of a mark's levels, or 1."""
    reached = [look["steps"] for look in line["curve"] if look["won"] >= plan.THRESHOLD]
    return min(1.0, reached[0] / line["steps"]) if reached else 1.0


@dataclass(frozen=True)
class Evidence(findings.Trainings):
    """The finished trainings of the second plan.

    Attributes:
        budgets: Steps of a training on each target that has a calibration.
        tried: For each target and budget, what `target_only` has won in the calibration.
        strange: Number of lines that belong to another plan, curriculum or budget.
    """

    every, optional, targets = ARMS, plan.OPTIONAL, TARGETS
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

    @property
    def planned(self) -> int:
        """Number of trainings in the plan."""
        return len(plan.SEEDS) * len(TARGETS) * len(ARMS)

    @property
    def compared(self) -> list[str]:
        """The targets that have a complete seed."""
        return [target for target in TARGETS if self.complete(target)]

    def gap(self, mine: str, other: str, target: str, value: Value = success) -> Interval | None:
        """Return the mean difference of two arms on a target, with the corrected interval."""
        pairs = self.values(mine, target, value), self.values(other, target, value)
        return statistics.paired_difference(*pairs, CORRECTED) if len(pairs[0]) > 1 else None

    def learnt(self, target: str) -> bool:
        """Return whether any arm wins enough more than an untrained policy to say something."""
        untrained = fmean(self.tried[target][0])
        won = [fmean(self.values(arm, target)) for arm in self.arms]
        return max(won) - untrained >= plan.SMALLEST

    def verdicts(self, rival: str) -> dict[str, str]:
        """Return the verdict on `dse` against a rival on each target that is compared."""
        return {
            target: verdict(self.gap("dse", rival, target))
            if self.learnt(target)
            else "nothing learnt"
            for target in self.compared
        }

    def conclusion(self, rival: str) -> str:
        """Return whether the DSE ``helps`` or ``hurts`` against a rival; empty for neither."""
        common = findings.overall(list(self.verdicts(rival).values()))
        return {"better": "helps", "worse": "hurts"}.get(common, "")

    @property
    def helps(self) -> bool:
        """Whether the conclusion is that the DSE helps: it does against both rivals."""
        return all(self.conclusion(rival) == "helps" for rival in RIVALS)

    def failed(self, arm: str, target: str) -> int:
        """Return how many complete trainings of an arm ended in FAIL."""
        mine = self.of(arm, target)
        return sum(mine[seed]["outcome"] == "failed" for seed in self.complete(target))

    @property
    def hard_enough(self) -> int:
        """Number of targets on which `target_only` learnt enough in the calibration."""
        return sum(
            plan.gain(self.tried[target], steps) >= plan.SMALLEST
            for target, steps in self.budgets.items()
        )

    @property
    def hours(self) -> float:
        """CPU-hours of all finished trainings."""
        return sum(sum(line["cpu_seconds"].values()) for line in self.lines) / 3600


def report(evidence: Evidence) -> str:
    """Return the whole report, as Markdown."""
    folder = FileSystemLoader(Path(__file__).parent)
    pages = Environment(loader=folder, undefined=StrictUndefined, keep_trailing_newline=True)
    return pages.get_template("verdict.md.jinja").render(
        evidence=evidence,
        plan=plan,
        targets=TARGETS,
        rivals=RIVALS,
        ablations=ABLATIONS,
        fmean=fmean,
        percent=percent,
        points=points,
        rounded=rounded,
        share=told,
        success=success,
        to_threshold=to_threshold,
        verdict=verdict,
        corrected=CORRECTED,
    )


def arms() -> str:
    """Return the table of arms, for the page."""
    return "".join(f"| `{name}` | {arm.what} |\n" for name, arm in ARMS.items())


def stored() -> str:
    """Return the report of the shipped results, for the page."""
    return report(Evidence.read())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--results", type=Path, default=study.OUT, help="the file of results")
    options = parser.parse_args(arguments)
    try:
        text = report(Evidence.read(options.results))
    except PiaseError as error:
        parser.error(str(error))
    Console(soft_wrap=True).print(text, markup=False, highlight=False)


if __name__ == "__main__":
    main()
