"""The results of the evidence on curricula, as `docs/evidence_teachers.md` shows them.

``python -m piase_gym.benchmarks.studies.evidence.verdict`` prints what the page promises to report;
``--picture`` draws the success of every training. ``docs/make_pages.py`` writes both into the page.
Everything is computed from the lines of finished trainings.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.console import Console

from piase_gym.benchmarks.evaluation.plots import COLOURS, new_figure, save_figure
from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.evaluation.tables import percent, rounded
from piase_gym.benchmarks.studies.evidence import findings, plan, study
from piase_gym.benchmarks.studies.evidence.findings import Evidence
from piase_gym.benchmarks.studies.evidence.plan import ABLATIONS, ARMS, RIVALS, TARGETS
from piase_gym.errors import PiaseError

PICTURE = "images/evidence_teachers.png"
"""The path of the page's picture, relative to the page."""


def report(evidence: Evidence, picture: str | None = None) -> str:
    """Return the whole report, as Markdown.

    Args:
        evidence: The finished trainings.
        picture: The path of the picture, if there is one.
    """
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
        share=share,
        to_threshold=findings.to_threshold,
        corrected=findings.CORRECTED,
        picture=picture,
    )


def share(interval: Interval, runs: int) -> str:
    """Write a share with its interval, if there are several trainings."""
    if runs < 2:
        return percent(interval.estimate)
    return f"{percent(interval.estimate)} ({percent(interval.low)} to {percent(interval.high)})"


def points(gap: Interval) -> str:
    """Write a difference of shares in points with its interval, all with their signs."""
    numbers = (rounded(100 * part, 1) for part in gap)
    middle, low, high = (n if n.startswith("-") else f"+{n}" for n in numbers)
    return f"{middle} ({low} to {high})"


def draw(evidence: Evidence, path: Path) -> Path | None:
    """Draw a dot for each training, and the interquartile mean of each arm with its interval.

    Only trainings with complete seeds are drawn, and only targets that have some; each target has a
    scale of its own.

    Returns:
        The file, or ``None`` if there is nothing to draw.

    Raises:
        MissingExtraError: If Matplotlib is not installed.
    """
    targets, arms = evidence.compared, evidence.arms
    if not targets:
        return None
    figure = new_figure(1.8 + 2.0 * len(targets), 1.0 + 0.3 * len(arms))
    panels = figure.subplots(1, len(targets), sharey=True, squeeze=False)[0]
    for panel, target in zip(panels, targets, strict=True):
        for place, arm in enumerate(arms):
            _draw_arm(panel, place, evidence, arm, target)
        seeds = len(evidence.complete(target))
        panel.set_title(f"{target} ({seeds} seed{'s' if seeds > 1 else ''})", fontsize=9)
        panel.set_xlim(left=-0.04 * panel.get_xlim()[1])
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="x", color="0.9", zorder=0)
    panels[0].set_yticks(range(len(arms)), arms, fontsize=8)
    panels[0].set_ylim(len(arms) - 0.4, -0.6)
    figure.supxlabel("won of the held-out levels, %", fontsize=9)
    return save_figure(figure, path)


def _draw_arm(panel: Any, place: int, evidence: Evidence, arm: str, target: str) -> None:
    """Draw the trainings of one arm."""
    shares = evidence.values(arm, target)
    colour = COLOURS[0 if arm == "dse" else 1]
    spread = [0.4 * (k / max(1, len(shares) - 1) - 0.5) for k in range(len(shares))]
    along = [place + shift for shift in spread]
    panel.plot([100 * s for s in shares], along, "o", color=colour, alpha=0.6, markersize=3)
    middle = evidence.middle(arm, [target])
    panel.plot([100 * middle.estimate] * 2, [place - 0.35, place + 0.35], color=colour, linewidth=2)
    if len(shares) > 1:
        ends = [100 * middle.low, 100 * middle.high]
        panel.plot(ends, [place, place], color=colour, linewidth=1)


def arms() -> str:
    """Return the table of arms, for the page."""
    return "".join(f"| `{name}` | {arm.what} |\n" for name, arm in ARMS.items())


def stored() -> str:
    """Return the report of the shipped results, for the page."""
    return report(Evidence.read(), PICTURE)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report, and draw the picture."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--results", type=Path, default=study.OUT, help="the file of results")
    parser.add_argument("--picture", type=Path, help="draw the picture into this file")
    options = parser.parse_args(arguments)
    try:
        evidence = Evidence.read(options.results)
        text = report(evidence)
        if options.picture is not None:
            draw(evidence, options.picture)
    except PiaseError as error:
        parser.error(str(error))
    Console(soft_wrap=True).print(text, markup=False, highlight=False)


if __name__ == "__main__":
    main()
