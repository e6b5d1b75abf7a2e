"""Plots of results, as PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.benchmarks.evaluation.cross_play import CrossPlayTable
from piase_gym.benchmarks.evaluation.results import Results
from piase_gym.core.files import replacing
from piase_gym.errors import MissingExtraError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, drawn without a screen.

    Raises:
        MissingExtraError: If Matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtraError("a plot", "bench") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _figure(width: float, height: float) -> tuple[Any, Any]:
    """Return a figure and its axes."""
    figure = new_figure(width, height)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save_figure(figure: Any, path: Path) -> Path:
    """Write a figure."""
    with replacing(path) as new:
        figure.savefig(new, dpi=110)
    return path


def short(label: str) -> str:
    """Return a label without the prefix that all labels share."""
    return label.removeprefix("piase/")


def plot_scores(results: Results, path: Path) -> Path | None:
    """Draw each policy's score on each task with its interval; draw nothing without scores.

    Scores below -100 are drawn at the edge, with an arrow, so that they do not hide the others.
    """
    rows = [row for row in results.rows if row.score is not None]
    tasks = list(dict.fromkeys(row.setting for row in rows))
    if not rows:
        return None
    longest = max(len(short(task)) for task in tasks)
    figure, axes = _figure(6.0 + 0.06 * longest, 1.2 + 0.36 * len(tasks))
    policies = [p for p in results.policies if any(row.policy == p for row in rows)]
    for number, policy in enumerate(policies):
        colour = COLOURS[number % len(COLOURS)]
        shift = 0.5 * (number - (len(policies) - 1) / 2) / len(policies)
        for row in rows:
            if row.policy != policy or row.score is None:
                continue
            height = tasks.index(row.setting) + shift
            middle, low, high = (max(-100.0, end) for end in row.score)
            axes.plot([low, high], [height, height], color=colour, linewidth=1.5)
            sign = "<" if row.score.estimate < -100.0 else "o"
            axes.plot([middle], [height], sign, color=colour, markersize=4.5)
        axes.plot([], [], "o-", color=colour, label=policy)
    axes.axvline(0, color="0.8", zorder=0)
    axes.axvline(100, color="0.8", zorder=0)
    axes.set_yticks(range(len(tasks)), [short(task) for task in tasks], fontsize=8)
    axes.set_ylim(len(tasks) - 0.5, -0.5)
    axes.set_xlim(-106, 112)
    axes.set_xlabel("score (0: does not look, 100: best known)")
    figure.legend(loc="outside upper right", ncol=len(policies), frameon=False)
    return save_figure(figure, path)


def plot_profiles(results: Results, path: Path) -> Path | None:
    """Draw the share of runs that score above each threshold, with pointwise bands."""
    taus = np.linspace(-100, 110, 106)
    bands = {policy: results.profile(policy, taus, resamples=500) for policy in results.policies}
    bands = {policy: band for policy, band in bands.items() if band is not None}
    if not bands:
        return None
    figure, axes = _figure(6.5, 3.6)
    for number, (policy, (middle, low, high)) in enumerate(bands.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(taus, middle, color=colour, label=policy)
        axes.fill_between(taus, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.set_xlabel("score τ")
    axes.set_ylabel("share of runs above τ")
    axes.set_ylim(-0.02, 1.02)
    axes.legend(loc="lower left", fontsize=8)
    return save_figure(figure, path)


def plot_improvement(results: Results, path: Path) -> Path | None:
    """Draw the probability that each policy beats each other one, over the tasks they share."""
    names = [policy for policy in results.policies if results.scores(policy)]
    if len(names) < 2:
        return None
    chances = np.full((len(names), len(names)), np.nan)
    for i, mine in enumerate(names):
        for j, other in enumerate(names):
            if i != j and (found := results.improvement(mine, other, resamples=1)):
                chances[i, j] = found.estimate
    return _matrix(chances, names, names, "P(line beats column)", (0.0, 1.0), path)


def plot_cross_play(table: CrossPlayTable, path: Path) -> Path:
    """Draw the values of policies with partners."""
    values = np.array(
        [[np.nan if v is None else v.estimate for v in line] for line in table.values]
    )
    ends = (0.0, 1.0) if table.measure == "win_rate" else None
    what = "win rate" if table.measure == "win_rate" else "focal return per head"
    partners = [f"with {partner}" for partner in table.partners]
    return _matrix(values, list(table.policies), partners, what, ends, path)


def _matrix(
    values: Any,
    lines: Sequence[str],
    columns: Sequence[str],
    title: str,
    ends: tuple[float, float] | None,
    path: Path,
) -> Path:
    """Draw a table of numbers with colours."""
    figure, axes = _figure(1.8 + 0.95 * len(columns), 1.3 + 0.5 * len(lines))
    low, high = ends or (float(np.nanmin(values)), float(np.nanmax(values)))
    axes.imshow(values, cmap="cividis", vmin=low, vmax=high, aspect="auto")
    for i in range(len(lines)):
        for j in range(len(columns)):
            if not np.isnan(values[i, j]):
                dark = values[i, j] < (low + high) / 2
                colour = "white" if dark else "black"
                axes.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", color=colour)
    axes.set_xticks(range(len(columns)), columns, fontsize=8)
    axes.set_yticks(range(len(lines)), lines, fontsize=8)
    axes.set_title(title, fontsize=9)
    return save_figure(figure, path)


def plot_scaling(points: Sequence[Mapping[str, Any]], axis: str, path: Path) -> Path:
    """Draw the cost of an agent-step as one size grows.

    Args:
        points: One ``{axis: size, "rate": agent-steps per CPU-second}`` per size.
        axis: What grows, such as ``agents``.
        path: Where to write.
    """
    figure, axes = _figure(4.2, 3.0)
    sizes = [point[axis] for point in points]
    cost = [1e9 / point["rate"] for point in points]
    axes.plot(sizes, cost, "o-", color=COLOURS[0])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel(axis)
    axes.set_ylabel("ns of CPU an agent-step")
    axes.set_ylim(min(cost) / 2, max(cost) * 2)
    for size, value in zip(sizes, cost, strict=True):
        axes.annotate(
            f"{value:,.0f}",
            (size, value),
            (0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=7,
        )
    return save_figure(figure, path)


def plot_rates(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Draw the agent-steps per CPU-second of each environment."""
    figure, axes = _figure(8.0, 0.9 + 0.3 * len(rows))
    names = [row["name"] for row in rows]
    colours = [COLOURS[0] if row["own"] else "0.6" for row in rows]
    axes.barh(names, [row["rate"] for row in rows], color=colours, height=0.6)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=8)
    for row in rows:
        axes.text(row["rate"], row["name"], f" {row['rate']:,.0f}", va="center", fontsize=7)
    axes.set_xlabel("agent-steps per CPU-second (log scale)")
    axes.margins(x=0.12)
    return save_figure(figure, path)
