"""Trainings and runs through a curriculum: where each agent is, and why."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from nicegui import ui

from piase_gym.curricula.learning_path import (
    LearningPath,
    describe_outcome,
    explain,
    headings,
    read_paths,
    short_name,
    table_rows,
)
from piase_gym.studio.layout import (
    PageThread,
    about,
    columns,
    frame,
    heading,
    remembered,
    section,
    telling,
    waiting,
)
from piase_gym.studio.workspace import Workspace

EVERY = 2.0
"""Seconds between two looks at a training."""


def add(workspace: Workspace) -> None:
    """Add the page."""

    @ui.page("/training")
    async def training(name: str = "") -> None:
        with frame(name or "Training", wide=True):
            heading(name or "Training")
            await ui.context.client.connected()
            await TrainingPage(workspace, name).open()


class TrainingPage:
    """One training, which may still go on."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        """Take the name of the folder or log."""
        self.workspace, self.name = workspace, name
        self.thread = PageThread()
        self.paths: list[LearningPath] = []
        self.seen = 0.0
        self.opened: dict[str, bool] = {}

    async def open(self) -> None:
        """Read the paths, show them, and look again from time to time."""
        async with waiting("reading the paths"):
            self.place = self.workspace.path(self.name)
            self.seen = changed(self.place)
            self.paths = await self.thread.do(read_paths, self.place)
            self._show()
            ui.timer(EVERY, self._look)

    async def _look(self) -> None:
        """Show what has happened since the last look."""
        now = changed(self.place)
        if now != self.seen:
            self.seen = now
            with telling():
                self.paths = await self.thread.do(read_paths, self.place)
                self._show.refresh()

    @ui.refreshable_method
    def _show(self) -> None:
        """Show the paths."""
        for path in self.paths:
            show_path(path, self.opened)


def changed(place: Path) -> float:
    """Return when a folder's files, or a file, last changed."""
    times = [0.0]
    with suppress(OSError):  # files come and go
        for file in place.iterdir() if place.is_dir() else [place]:
            times.append(file.stat().st_mtime)
    return max(times)


def show_path(path: LearningPath, opened: dict[str, bool]) -> None:
    """Show an agent's path: a chart, a table of the steps, and every decision.

    Args:
        path: The path.
        opened: Whether the decisions of an agent are unfolded; it is kept up to date.
    """
    with ui.card().classes("w-full"):
        section(f"{path.agent} in “{path.curriculum}”, which {describe_outcome(path.outcome)}")
        director = f"; the director is {path.director}" if path.director else ""
        about(f"{path.end:,} {path.counted}{director}")
        if path.moves:
            ui.echart(path_chart(path)).classes("w-full h-72")
        titles = headings(path)
        rows = [dict(zip(titles, row, strict=True)) for row in table_rows(path, sorted(path.names))]
        ui.table(rows=rows, columns=columns(titles), row_key=titles[0]).props("dense flat")
        with remembered("Every decision, and why", opened, path.agent):
            ui.label("\n".join(explain(path))).classes("piase-text")


def path_chart(path: LearningPath) -> dict[str, Any]:
    """Return the options of a chart: the step, and what attempts were judged by, over the steps."""
    metric = path.judged_by
    steps: list[list[Any]] = [[0, path.moves[0].decision.step]]
    rates: list[list[Any]] = []
    hints: list[list[Any]] = []
    for move, rate in zip(path.moves, path.rates, strict=True):
        decision = move.decision
        steps.append([move.at, decision.step])
        if decision.next_step is not None:
            steps.append([move.at, decision.next_step])
        if rate is not None:
            rates.append([move.at, rate])
        if decision.hint is not None:
            hints.append([move.at, decision.step])
    share = {"min": 0, "max": 1} if all(0 <= rate <= 1 for _, rate in rates) else {}
    return {
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0},
        "grid": {"left": 50, "right": 50, "top": 40, "bottom": 40},
        "xAxis": {"type": "value", "name": path.counted, "nameLocation": "middle", "nameGap": 25},
        "yAxis": [
            {"type": "value", "name": "step", "minInterval": 1},
            {"type": "value", "name": short_name(metric), **share},
        ],
        "series": [
            {"type": "line", "name": "step", "data": steps, "showSymbol": False},
            {"type": "scatter", "name": short_name(metric), "data": rates, "yAxisIndex": 1},
            {"type": "scatter", "name": "hint", "data": hints, "symbol": "triangle"},
        ],
    }
