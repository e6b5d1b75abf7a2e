"""The results of the evidence on curricula, from the lines of finished trainings.

``python -m piase_gym.benchmarks.studies.evidence.report`` prints what `docs/evidence_curricula.md`
promises to report; missing trainings are left out and counted. ``--picture`` draws the success of
every training. ``docs/make_pages.py`` writes the same into the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.console import Console

from piase_gym.benchmarks.evaluation.plots import COLOURS, new_figure, save_figure
from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.evaluation.tables import percent, rounded
from piase_gym.benchmarks.studies.evidence.findings import (
    MARGIN,
    OTHERS,
    SOLVED,
    Findings,
    overall,
)
from piase_gym.benchmarks.studies.evidence.train import ARMS, OUT, TARGETS, Scale
from piase_gym.errors import PiaseError

PICTURE = "images/evidence_curricula.png"
"""The path of the page's picture, relative to the page."""
SAID = {
    "better": "the DSE beats it",
    "worse": "the DSE is beaten by it",
    "no difference shown": "no difference is shown",
    "one pair only": "one pair has no interval, so this is no verdict",
}
"""What a verdict on a target reads like in a sentence."""
GROUPS = {
    "better": "`dse` is better than `uniform` on",
    "worse": "`dse` is worse than `uniform` on",
    "no difference shown": "no difference is shown on",
    "nothing learnt": "nothing was learnt on",
    "one pair only": "there is one pair only on",
    "open": "no seed is complete on",
}
"""The words before the list of targets with a verdict."""


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
    shares = findings.values(arm, target)
    colour = COLOURS[place % len(COLOURS)]
    spread = [0.34 * (k / max(1, len(shares) - 1) - 0.5) for k in range(len(shares))]
    across = [place + shift for shift in spread]
    panel.plot(across, [100 * s for s in shares], "o", color=colour, alpha=0.6, markersize=4)
    middle = findings.middle(arm, [target])
    panel.plot([place - 0.3, place + 0.3], [100 * middle.estimate] * 2, color=colour, linewidth=2)
    if len(shares) > 1:
        ends = [100 * middle.low, 100 * middle.high]
        panel.plot([place, place], ends, color=colour, linewidth=1)


def told(interval: Interval, runs: int) -> str:
    """Write a share with its interval, if there are several trainings."""
    if runs < 2:
        return percent(interval.estimate)
    return f"{percent(interval.estimate)} ({percent(interval.low)} to {percent(interval.high)})"


def points(gap: Interval) -> str:
    """Write a difference of shares in points with its interval, all with their signs."""
    numbers = (rounded(100 * part, 1) for part in gap)
    middle, low, high = (n if n.startswith("-") else f"+{n}" for n in numbers)
    return f"{middle} ({low} to {high})"


def rule(findings: Findings) -> tuple[str, dict[str, list[str]]]:
    """Return whether the DSE is ``better`` or ``worse`` by the plan's rule, and the verdicts.

    The verdicts are verdict -> targets; the first part is empty if neither holds.
    """
    found = {verdict: [t for t in TARGETS if findings.verdict(t) == verdict] for verdict in GROUPS}
    common = overall([verdict for verdict, targets in found.items() for _ in targets])
    return common, {verdict: targets for verdict, targets in found.items() if targets}


def report(findings: Findings, picture: str | None = None) -> str:
    """Return the whole report, as Markdown.

    Args:
        findings: The finished trainings.
        picture: The path of the picture, if there is one.
    """
    folder = FileSystemLoader(Path(__file__).parent)
    pages = Environment(loader=folder, undefined=StrictUndefined, keep_trailing_newline=True)
    pages.filters |= {"percent": percent, "rounded": rounded, "told": told}
    common, by_verdict = rule(findings)
    order = findings.over_targets("dse", "sequential")
    return pages.get_template("report.md.jinja").render(
        findings=findings,
        arms=list(ARMS),
        others=OTHERS,
        targets=list(TARGETS),
        compared=[target for target in TARGETS if findings.complete(target)],
        several=all(len(findings.complete(target)) > 1 for target in TARGETS),
        rule=common,
        order=order,
        failed=findings.failed(),
        withdrawn=common == "better" and order is not None and order.low <= 0,
        by_verdict=by_verdict,
        said=SAID,
        groups=GROUPS,
        points=points,
        margin=MARGIN,
        solved=SOLVED,
        picture=picture,
    )


def stored() -> str:
    """Return the report of the shipped results, for the page."""
    return report(Findings.read(), PICTURE)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report, and draw the picture."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--results", type=Path, default=OUT, help="the file of results")
    parser.add_argument("--picture", type=Path, help="draw the picture into this file")
    options = parser.parse_args(arguments)
    try:
        findings = Findings.read(options.results, Scale())
        text = report(findings)
        if options.picture is not None:
            draw(findings, options.picture)
    except PiaseError as error:
        parser.error(str(error))
    Console(markup=False, highlight=False).print(text, soft_wrap=True, end="")


if __name__ == "__main__":
    main()
