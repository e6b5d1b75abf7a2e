"""The picture of the evidence on curricula: success of every training, by target and arm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from piase_gym.benchmarks.evaluation import statistics
from piase_gym.benchmarks.evaluation.plots import COLOURS, new_figure, save_figure
from piase_gym.benchmarks.studies.evidence.findings import Findings
from piase_gym.benchmarks.studies.evidence.train import ARMS, TARGETS


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
