"""Draws when several runs have completed the steps of their curricula, with intervals over runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from piase_gym.benchmarks.evaluation.plots import COLOURS, new_figure
from piase_gym.benchmarks.evaluation.statistics import mean_interval
from piase_gym.curricula.learning_path import LearningPath
from piase_gym.errors import ConfigError
from piase_gym.training.curriculum_plot import picture_file, save_figure

Rows = dict[tuple[int, str], int]
"""Order and name of the steps, and the row in which each is drawn."""


def plot_comparison(paths: Sequence[LearningPath], path: str | Path) -> Path:
    """Draw after how many environment steps runs have completed each step for the first time.

    There is a dot for each run. Where all runs of one curriculum by one director have completed a
    step, there is also the mean, with its 95 % interval over runs; where only some have, their
    number, for a mean of these alone would be too early.

    Args:
        paths: The paths of the runs.
        path: A file name that ends with ``.png``, ``.svg`` or ``.pdf``.

    Raises:
        ConfigError: If the name has another ending, there is nothing to draw, or the paths cannot
            be compared.
        MissingExtraError: If matplotlib is not installed.
        StorageError: If the file cannot be written.
    """
    place = picture_file(path)
    counted = list(dict.fromkeys(each.counted for each in paths))
    if len(counted) > 1:
        raise ConfigError(
            f"some of these count {counted[0]} and some {counted[1]}; give folders of runs alone, "
            "or files of progress alone"
        )
    for each in paths:
        if each.drawn:
            raise ConfigError(
                f"the steps of {each.curriculum!r} were drawn episode by episode, so none of them "
                "was completed; 'piase curriculum search' compares such runs"
            )
    if not any(completions(each) for each in paths):
        raise ConfigError("there is nothing to draw yet: no step is completed")
    groups, known = groups_of(paths), sorted({s for each in paths for s in each.names.items()})
    rows = {step: row for row, step in enumerate(known)}
    figure = new_figure(9.0, 1.2 + 0.25 * len(groups) + len(rows) * (0.25 + 0.22 * len(groups)))
    axes = figure.add_subplot()
    for number, (label, runs) in enumerate(groups.items()):
        shift = 0.7 * (0.5 - (number + 0.5) / len(groups))
        draw_group(axes, label, runs, rows, shift, COLOURS[number % len(COLOURS)])
    axes.set_xlabel(f"{counted[0]} until a step was completed")
    axes.set_xlim(0, 1.05 * max(each.end for each in paths))
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.set_yticks(range(len(rows)), [f"{order}  {name}" for order, name in rows])
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="0.92")
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper left", frameon=False, fontsize=9)
    return save_figure(figure, place)


def groups_of(paths: Sequence[LearningPath]) -> dict[str, list[LearningPath]]:
    """Return the paths that belong together: by curriculum, by director and, of many, by agent."""
    many = len({path.agent for path in paths}) > 1
    found: dict[str, list[LearningPath]] = {}
    for path in paths:
        director = "" if path.director is None else f" by {path.director}"
        agent = f", {path.agent}" if many else ""
        found.setdefault(f"{path.curriculum}{director}{agent}", []).append(path)
    return found


def completions(path: LearningPath) -> dict[tuple[int, str], int]:
    """Return after how many environment steps each step was completed for the first time."""
    found: dict[tuple[int, str], int] = {}
    for move in path.moves:
        if move.decision.completed:
            order = move.decision.step
            found.setdefault((order, path.names[order]), move.at)
    return found


def draw_group(
    axes: Any, label: str, runs: Sequence[LearningPath], rows: Rows, shift: float, colour: str
) -> None:
    """Draw the runs that belong together, each step's row shifted upwards by `shift`."""
    finished = sum(run.outcome == "finished" for run in runs)
    axes.plot([], [], "o", color=colour, label=f"{label}: {finished} of {len(runs)} finished")
    times = [completions(run) for run in runs]
    for step, row in rows.items():
        found, height = [own[step] for own in times if step in own], row + shift
        pale = 1.0 if len(runs) == 1 else 0.4
        axes.plot(found, [height] * len(found), "o", color=colour, markersize=4.5, alpha=pale)
        if found and len(found) < len(runs):
            axes.annotate(
                f"{len(found)} of {len(runs)}", (max(found), height), (6, 0), color=colour,
                textcoords="offset points", va="center", fontsize=8,
            )  # fmt: skip
        elif len(found) > 1:
            mean, low, high = mean_interval([[float(at)] for at in found])
            axes.plot([max(low, 0), high], [height, height], color=colour, linewidth=1.5)
            axes.plot([mean], [height], "D", color=colour, markersize=5.5)
