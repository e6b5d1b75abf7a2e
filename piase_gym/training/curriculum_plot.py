"""Draws paths through curricula: steps over environment steps, and success."""

from __future__ import annotations

import itertools
import operator
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from piase_gym.benchmarks.evaluation.plots import COLOURS, new_figure
from piase_gym.core.files import replacing
from piase_gym.curricula.learning_path import LearningPath, short_name
from piase_gym.errors import ConfigError

BLUE, RED, GREEN = COLOURS[:3]
BINS = 60
"""The largest number of bins into which sampled steps are gathered."""
LEGEND = (
    ("attempt", "o", BLUE, "white"),
    ("hint", "^", COLOURS[4], COLOURS[4]),
    ("branch", "v", RED, RED),
    ("completed", "*", GREEN, GREEN),
    ("failed", "X", COLOURS[6], COLOURS[6]),
)
"""What each kind of decision looks like: its name, marker, edge colour and face colour."""


def plot_paths(paths: Sequence[LearningPath], path: str | Path) -> Path:
    """Draw paths into a picture, with two panels for each agent: its steps and its success.

    Args:
        paths: The paths.
        path: A file name that ends with ``.png``, ``.svg`` or ``.pdf``.

    Raises:
        ConfigError: If the name has another ending, or there is nothing to draw.
        MissingExtraError: If matplotlib is not installed.
        StorageError: If the file cannot be written.
    """
    place = picture_file(path)
    drawable = [j for j in paths if j.moves or any(s.played for s in j.episode_counts)]
    if not drawable:
        raise ConfigError("there is nothing to draw yet: no attempt is over")
    heights = [h for j in drawable for h in (0.9 + 0.42 * len(orders_of(j)), 1.5)]
    figure = new_figure(9.0, sum(heights) + 0.5)
    grid = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for number, learning_path in enumerate(drawable):
        draw(learning_path, grid[2 * number], grid[2 * number + 1])
    return save_figure(figure, place)


def save_figure(figure: Any, place: Path) -> Path:
    """Write a figure in which a dollar sign, as in the name of a step, is one and no formula's."""
    for text in figure.findobj(lambda part: hasattr(part, "set_parse_math")):
        text.set_parse_math(False)
    with replacing(place) as new:
        figure.savefig(new, dpi=150)
    return place


def picture_file(path: str | Path) -> Path:
    """Return where a picture goes.

    Raises:
        ConfigError: If the name has another ending than those of pictures, or is no file's.
    """
    place = Path(path)
    if place.suffix not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"a plot is a .png, .svg or .pdf file, not {place.name!r}")
    if place.exists() and not place.is_file():
        raise ConfigError(f"{str(place)!r} is no file; give another name")
    return place


def orders_of(learning_path: LearningPath) -> list[int]:
    """Return the orders of all steps that are known."""
    seen = {move.decision.step for move in learning_path.moves} | set(learning_path.names)
    return sorted(seen | {order for s in learning_path.episode_counts for order in s.played})


def draw(learning_path: LearningPath, upper: Any, lower: Any) -> None:
    """Draw one learning path into two panels."""
    orders = orders_of(learning_path)
    rows = {order: row for row, order in enumerate(orders)}
    if learning_path.moves:
        draw_moves(learning_path, upper, rows)
    else:
        draw_drawn(learning_path, upper, rows)
    names = [learning_path.names.get(order, "") for order in orders]
    labels = [f"{order}  {name}" for order, name in zip(orders, names, strict=True)]
    upper.set_yticks(range(len(orders)), labels)
    upper.set_ylim(-0.6, len(orders) - 0.4)
    upper.tick_params(axis="x", labelbottom=False)
    upper.set_title(f"{learning_path.curriculum}: {learning_path.agent}", loc="left", fontsize=11)
    lower.set_ylabel(draw_success(learning_path, lower, rows))
    lower.set_xlabel(learning_path.counted)
    lower.set_ylim(-0.04, 1.04)
    lower.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    for axes in (upper, lower):
        axes.set_xlim(0, 1.02 * max(learning_path.end, 1))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.92")
        axes.set_axisbelow(True)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")


def draw_moves(learning_path: LearningPath, axes: Any, rows: dict[int, int]) -> None:
    """Draw the steps that the agent was in, and every decision where it was made."""
    stays = [(move.at, rows[move.decision.step]) for move in learning_path.moves]
    last = learning_path.moves[-1].decision
    if learning_path.outcome == "running":
        order = last.step if last.next_step is None else last.next_step
        stays.append((learning_path.end, rows.get(order, rows[last.step])))
    before, row = 0, stays[0][1]
    for number, (at, now) in enumerate(stays):
        if now != row or number == len(learning_path.moves):
            axes.plot([before, before], [row, now], color="0.7", linewidth=1.2, zorder=1)
        axes.plot([before, at], [now, now], color=BLUE, linewidth=3, zorder=2, alpha=0.5)
        before, row = at, now
    looks = {kind: (marker, edge, face) for kind, marker, edge, face in LEGEND}
    kinds = [type_of(move.decision) for move in learning_path.moves]
    for kind, (at, row) in zip(kinds, stays, strict=False):
        marker, edge, face = looks[kind]
        size = {"completed": 13, "attempt": 4.5}.get(kind, 8)
        axes.plot([at], [row], marker, mec=edge, mfc=face, ms=size, zorder=3)
    used = [kind for kind in looks if kind in kinds]
    for kind in used:
        marker, edge, face = looks[kind]
        axes.plot([], [], marker, mec=edge, mfc=face, ms=8, linestyle="", label=kind)
    place_legend(axes, len(used))


def place_legend(axes: Any, columns: int = 1) -> None:
    """Put the legend above a panel."""
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
    axes.legend(**place, ncol=columns, frameon=False, fontsize=9)


def type_of(decision: Any) -> str:
    """Return the name in `LEGEND` under which a decision is drawn."""
    if decision.outcome == "failed":
        return "failed"
    if decision.completed:
        return "completed"
    if decision.hint is not None:
        return "hint"
    return "branch" if decision.decision.startswith("BRANCH_TO_") else "attempt"


def gathered(learning_path: LearningPath) -> tuple[list[int], list[dict[int, tuple[int, int]]]]:
    """Return the edges of bins, at most `BINS`, and for each: order -> (played, won)."""
    looks = sorted({counts.at for counts in learning_path.episode_counts})
    together = -(-len(looks) // BINS)
    edges = [0, *looks[together - 1 :: together]] if looks else [0]
    if looks and edges[-1] < looks[-1]:
        edges.append(looks[-1])
    found: list[dict[int, tuple[int, int]]] = [{} for _ in edges[1:]]
    for counts in learning_path.episode_counts:
        place = found[max(0, bisect_left(edges, counts.at) - 1)]
        for order, count in counts.played.items():
            played, won = place.get(order, (0, 0))
            place[order] = (played + count, won + counts.won.get(order, 0))
    return edges, found


def draw_drawn(learning_path: LearningPath, axes: Any, rows: dict[int, int]) -> None:
    """Draw each step's share of the episodes, where steps are sampled."""
    edges, found = gathered(learning_path)
    for left, right, place in zip(edges, edges[1:], found, strict=False):
        total = sum(played for played, _ in place.values())
        for order, (played, _) in place.items():
            size = {"height": 0.85 * played / total, "left": left, "linewidth": 0}
            axes.barh(rows[order], right - left, color=BLUE, **size)
    axes.plot([], [], "s", color=BLUE, label="share of the episodes")
    place_legend(axes)


def draw_success(learning_path: LearningPath, axes: Any, rows: dict[int, int]) -> str:
    """Draw the share that was won, at each attempt's end, or for each step if steps are sampled.

    Returns:
        What is drawn: ``won``, or the name of the metric by which attempts are judged instead.
    """
    points = [
        (move.at, move.decision.step, rate)
        for move, rate in zip(learning_path.moves, learning_path.rates, strict=True)
        if rate is not None
    ]
    if points:
        draw_rates(points, axes, rows)
        return short_name(learning_path.judged_by)
    edges, found = gathered(learning_path)
    for order, row in rows.items():
        curve = [
            ((edges[n] + edges[n + 1]) / 2, won / played)
            for n, place in enumerate(found)
            for played, won in [place.get(order, (0, 0))]
            if played and any(s.won for s in learning_path.episode_counts)
        ]
        if curve:
            xs, ys = zip(*curve, strict=True)
            axes.plot(
                xs, ys, color=COLOURS[row % len(COLOURS)], linewidth=1.5, label=f"step {order}"
            )
    if axes.lines:
        axes.legend(
            ncol=len(rows), fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.98)
        )
    return "won"


def draw_rates(points: Sequence[tuple[int, int, float]], axes: Any, rows: dict[int, int]) -> None:
    """Draw the success of each attempt, with one line for each stay in a step."""
    for order, group in itertools.groupby(points, key=operator.itemgetter(1)):
        xs, _, ys = zip(*group, strict=True)
        colour = COLOURS[rows[order] % len(COLOURS)]
        axes.plot(xs, ys, "o-", color=colour, markersize=3, linewidth=1.2)
        middle = (xs[0] + xs[-1]) / 2
        axes.annotate(
            str(order), (middle, 1.0), (0, 6), textcoords="offset points", color=colour,
            ha="center", fontsize=8, annotation_clip=False,
        )  # fmt: skip
