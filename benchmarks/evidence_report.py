"""The tables of the evidence on curricula, from the lines of finished trainings.

``python -m piase_gym.benchmarks.evidence_report`` prints what `docs/evidence_curricula.md` promises
to report; trainings that are not there yet are left out and counted.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from piase_gym.benchmarks import statistics
from piase_gym.benchmarks.evidence import ARMS, OUT, PLAN, TARGETS, Scale, jobs, read_lines
from piase_gym.benchmarks.statistics import Interval
from piase_gym.errors import ConfigError, StorageError

MARGIN = 0.05
"""A difference that counts, of shares; see the plan."""
Found = Mapping[tuple[str, str], Mapping[int, Sequence[float]]]
"""(arm, target) -> seed -> the episodes of its test."""


def gather(lines: Sequence[Mapping[str, Any]], keys: set[str]) -> Found:
    """Return the tests of the trainings that belong to the plan."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for line in lines:
        if line["plan"] == PLAN and line["key"] in keys:
            tests = found.setdefault((line["arm"], line["target"]), {})
            tests[line["seed"]] = [float(sign) for sign in line["won"]]
    return found


def verdict(difference: Interval) -> str:
    """Return what a paired difference counts as."""
    if difference.low > 0.0 and difference.estimate >= MARGIN:
        return "better"
    if difference.high < 0.0 and difference.estimate <= -MARGIN:
        return "worse"
    return "no difference shown"


def shares(found: Found) -> list[str]:
    """Return a row for each arm and target: trainings, mean, interval, interquartile mean."""
    rows = ["| target | arm | trainings | won | interquartile mean |", "|---|---|---|---|---|"]
    for target in TARGETS:
        for arm in ARMS:
            runs = list(found.get((arm, target), {}).values())
            if runs:
                mean = statistics.mean_interval(runs)
                middle = statistics.iqm([sum(run) / len(run) for run in runs])
                told = f"{mean.estimate:.1%} ({mean.low:.1%} to {mean.high:.1%})"
                rows.append(f"| `{target}` | `{arm}` | {len(runs)} | {told} | {middle:.1%} |")
    return rows


def overall(found: Found) -> list[str]:
    """Return a row for each arm that was trained on every target."""
    rows = ["| arm | interquartile mean over all targets |", "|---|---|"]
    for arm in ARMS:
        tasks = [list(found.get((arm, target), {}).values()) for target in TARGETS]
        if all(tasks):
            middle = statistics.aggregate(tasks)
            told = f"{middle.estimate:.1%} ({middle.low:.1%} to {middle.high:.1%})"
            rows.append(f"| `{arm}` | {told} |")
    return rows


def differences(found: Found) -> list[str]:
    """Return a row for each target and arm: `dse` minus it on common seeds."""
    rows = [
        "| target | `dse` minus | pairs | difference in points | improvement | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for target in TARGETS:
        mine = means(found.get(("dse", target), {}))
        for arm in (arm for arm in ARMS if arm != "dse"):
            other = means(found.get((arm, target), {}))
            common = sorted(set(mine) & set(other))
            if len(common) < 2:
                continue
            pairs = [mine[s] for s in common], [other[s] for s in common]
            gap = statistics.paired_difference(*pairs)
            chance = statistics.probability_of_improvement(*pairs)
            told = f"{100 * gap.estimate:+.1f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"
            rows.append(
                f"| `{target}` | `{arm}` | {len(common)} | {told} | {chance:.2f} | {verdict(gap)} |"
            )
    return rows


def means(runs: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """Return the share that each training has won, by seed."""
    return {seed: sum(run) / len(run) for seed, run in runs.items()}


def spent(lines: Sequence[Mapping[str, Any]], keys: set[str]) -> list[str]:
    """Return a row for each arm and target: how its budget was spent, on average."""
    rows = [
        "| target | arm | counted episodes by step | completed | failed | hints | CPU-seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for target in TARGETS:
        for arm in ARMS:
            mine = [
                x for x in lines if (x["arm"], x["target"]) == (arm, target) and x["key"] in keys
            ]
            if not mine:
                continue
            count = len(mine)
            orders = [
                f"{sum(x['episodes'][order] for x in mine) / count:,.0f}"
                for order in mine[0]["episodes"]
            ]
            done = sum(len(x["completed"]) for x in mine) / count
            failed = sum(x["outcome"] == "failed" for x in mine)
            hints = sum(x["hints"] for x in mine) / count
            cost = sum(x["cpu_seconds"]["training"] for x in mine) / count
            rows.append(
                f"| `{target}` | `{arm}` | {', '.join(orders)} | {done:.1f} | {failed} | "
                f"{hints:.1f} | {cost:.0f} |"
            )
    return rows


def report(path: Path, scale: Scale | None = None) -> list[str]:
    """Return the lines of the whole report, as Markdown."""
    every = jobs(scale or Scale())
    keys, lines = {job.key for job in every}, read_lines(path)
    found = gather(lines, keys)
    count = sum(len(runs) for runs in found.values())
    head = f"{count} of {len(every)} trainings."
    parts = (shares(found), overall(found), differences(found), spent(lines, keys))
    return [head, *(line for part in parts for line in ("", *part))]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--results", type=Path, default=OUT, help="the file of results")
    options = parser.parse_args(arguments)
    try:
        lines = report(options.results)
    except (ConfigError, StorageError) as error:
        parser.error(str(error))
    console = Console(markup=False, highlight=False)
    for line in lines:
        console.print(line, soft_wrap=True)


if __name__ == "__main__":
    main()
