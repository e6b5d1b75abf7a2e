"""The results of the evidence on curricula, from the lines of finished trainings.

``python -m piase_gym.benchmarks.studies.evidence.report`` prints what `docs/evidence_curricula.md`
promises to report; trainings that are not there yet are left out and counted. ``--picture`` draws
the success of every training. ``docs/make_pages.py`` writes the same into the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from piase_gym.benchmarks.evaluation import statistics
from piase_gym.benchmarks.evaluation.plots import COLOURS, new_figure, save_figure
from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.evaluation.tables import percent, rounded
from piase_gym.benchmarks.studies.evidence.findings import FILE, OTHERS, SOLVED, Findings
from piase_gym.benchmarks.studies.evidence.train import ARMS, TARGETS, Scale
from piase_gym.benchmarks.studies.evidence.words import how_many, points, verdict
from piase_gym.errors import PiaseError


def draw(findings: Findings, path: Path) -> Path | None:
    """Draw a dot for each training, and the interquartile mean of each arm with its interval.

    Only trainings with complete seeds are drawn, and only targets that have some.

    Returns:
        The file, or ``None`` if there is nothing to draw.

    Raises:
        MissingExtraError: If Matplotlib is not installed.
    """
    targets = [target for target in TARGETS if findings.complete(target)]
    if not targets:
        return None
    figure = new_figure(1.2 + 3.2 * len(targets), 3.6)
    panels = figure.subplots(1, len(targets), sharey=True, squeeze=False)[0]
    for panel, target in zip(panels, targets, strict=True):
        for place, arm in enumerate(ARMS):
            _draw_arm(panel, place, findings, arm, target)
        seeds = len(findings.complete(target))
        panel.set_title(f"{target} ({seeds} seed{'s' if seeds > 1 else ''})", fontsize=10)
        names = [arm.replace("_", "\n") for arm in ARMS]
        panel.set_xticks(range(len(ARMS)), names, fontsize=8)
        panel.set_xlim(-0.6, len(ARMS) - 0.4)
        panel.set_ylim(-3, 103)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="0.9", zorder=0)
    panels[0].set_ylabel("won on held-out seeds, %")
    return save_figure(figure, path)


def _draw_arm(panel: Any, place: int, findings: Findings, arm: str, target: str) -> None:
    """Draw the trainings of one arm."""
    shares = findings.shares(arm, target)
    colour = COLOURS[place % len(COLOURS)]
    spread = [0.34 * (k / max(1, len(shares) - 1) - 0.5) for k in range(len(shares))]
    across = [place + shift for shift in spread]
    panel.plot(across, [100 * s for s in shares], "o", color=colour, alpha=0.6, markersize=4)
    middle = statistics.aggregate([findings.tests(arm, target)])
    panel.plot([place - 0.3, place + 0.3], [100 * middle.estimate] * 2, color=colour, linewidth=2)
    if len(shares) > 1:
        ends = [100 * middle.low, 100 * middle.high]
        panel.plot([place, place], ends, color=colour, linewidth=1)


__all__ = ["draw"]


PICTURE = "images/evidence_curricula.png"
"""Where the page has its picture, beside it."""
NOTE = (
    "Intervals hold 95 %: of the mean and the interquartile mean by the hierarchical bootstrap, of "
    "the differences by Student. With few trainings bootstrap intervals are too narrow; with one "
    "there is none. The median and the count of the solved (trainings that win at least "
    f"{SOLVED:.0%} of their test) were added to the plan's figures and decide nothing."
)


def told(interval: Interval, runs: int) -> str:
    """Write a share with its interval, if there are several trainings."""
    if runs < 2:
        return percent(interval.estimate)
    return f"{percent(interval.estimate)} ({percent(interval.low)} to {percent(interval.high)})"


def arms(findings: Findings, target: str) -> list[str]:
    """Return a table with a row for each arm: how much of their tests its trainings have won."""
    rows = [
        "| arm | trainings | won | interquartile mean | median | solved |",
        "|---|---|---|---|---|---|",
    ]
    for arm in ARMS:
        tests = findings.tests(arm, target)
        shares = sorted(findings.shares(arm, target))
        count, there = len(tests), len(findings.of(arm, target))
        number = f"{count}" if count == there else f"{count} of {there}"
        mean = told(statistics.mean_interval(tests), count)
        middle = told(statistics.aggregate([tests]), count)
        median = (shares[(count - 1) // 2] + shares[count // 2]) / 2
        solved = sum(share >= SOLVED for share in shares)
        rows.append(f"| `{arm}` | {number} | {mean} | {middle} | {percent(median)} | {solved} |")
    return rows


def differences(findings: Findings, target: str) -> list[str]:
    """Return a table with a row for each arm: `dse` minus it on common seeds."""
    rows = [
        "| `dse` minus | pairs | difference in points | improvement | verdict |",
        "|---|---|---|---|---|",
    ]
    for arm in OTHERS:
        one = findings.compare(arm, target)
        gap = "" if one.gap is None else points(one.gap)
        rows.append(f"| `{arm}` | {one.pairs} | {gap} | {rounded(one.chance, 2)} | {one.verdict} |")
    return rows


def spent(findings: Findings, target: str) -> list[str]:
    """Return a table with a row for each arm: how its budget was spent, on average."""
    rows = [
        "| arm | counted episodes by step | completed | failed | hints | CPU-seconds |",
        "|---|---|---|---|---|---|",
    ]
    for arm in ARMS:
        mine = findings.compared(arm, target)
        count = len(mine)
        orders = [sum(x["episodes"][order] for x in mine) / count for order in mine[0]["episodes"]]
        episodes = ", ".join(f"{int(rounded(number)):,}" for number in orders)
        done = sum(len(x["completed"]) for x in mine) / count
        failed = sum(x["outcome"] == "failed" for x in mine)
        hints = sum(x["hints"] for x in mine) / count
        cost = sum(x["cpu_seconds"]["training"] for x in mine) / count
        means = (rounded(done, 1), str(failed), rounded(hints, 1), rounded(cost))
        rows.append(f"| `{arm}` | {episodes} | {' | '.join(means)} |")
    return rows


def overall(findings: Findings) -> list[str]:
    """Return a table of the interquartile means over all targets, where all have two seeds."""
    if any(len(findings.complete(target)) < 2 for target in TARGETS):
        return []
    rows = ["### All targets", "", "| arm | interquartile mean |", "|---|---|"]
    for arm in ARMS:
        middle = statistics.aggregate([findings.tests(arm, target) for target in TARGETS])
        rows.append(f"| `{arm}` | {told(middle, 2)} |")
    return ["", *rows]


def report(findings: Findings, picture: str | None = None) -> list[str]:
    """Return the lines of the whole report, as Markdown.

    Args:
        findings: What is there.
        picture: Where the picture is, if there is one.
    """
    if not findings.lines:
        return [f"There are none yet: 0 of {findings.planned} trainings are in."]
    lines = [how_many(findings), "", *verdict(findings)]
    compared = [target for target in TARGETS if findings.complete(target)]
    if picture is not None and compared:
        lines += ["", f"![Success of every training, by target and arm]({picture})"]
    for target in compared:
        tables = (arms(findings, target), differences(findings, target), spent(findings, target))
        lines += ["", f"### `{target}`", *(row for table in tables for row in ("", *table))]
    lines += overall(findings)
    return [*lines, "", NOTE] if compared else lines


def stored() -> str:
    """Return the report of the results that ship, for the page."""
    return "\n".join(report(Findings.read(), PICTURE)) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report, and draw the picture."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--results", type=Path, default=FILE, help="the file of results")
    parser.add_argument("--picture", type=Path, help="draw the picture into this file")
    options = parser.parse_args(arguments)
    try:
        findings = Findings.read(options.results, Scale())
        lines = report(findings)
        if options.picture is not None:
            draw(findings, options.picture)
    except PiaseError as error:
        parser.error(str(error))
    console = Console(markup=False, highlight=False)
    for line in lines:
        console.print(line, soft_wrap=True)


if __name__ == "__main__":
    main()
