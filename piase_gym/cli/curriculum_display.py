"""What `piase curriculum run` shows of a training: a bar, a table, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from piase_gym.cli.console import console, errors
from piase_gym.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from piase_gym.benchmarks.curriculum_run import CourseRun, CourseSettings, Look
    from piase_gym.curricula.journeys import Journey


class Display:
    """A progress bar with step, attempt and success; on no terminal, a line now and then."""

    def __init__(self, course: CourseRun) -> None:
        """Begin where the run is."""
        self.settings: CourseSettings = course.settings
        self._told = -1
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task(
            "compiling", total=self.settings.steps, completed=course.trainer.steps
        )
        self._drawn = course.course.director.per_slot

    def __enter__(self) -> Display:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._bar.stop()

    def update(self, look: Look) -> None:
        """Show where the run is."""
        where = f"step {look.order} '{look.name}', attempt {look.attempt}"
        if self._drawn:
            where = "steps are drawn"
        words = escape(f"{where}, {_told(look)}")
        steps = min(look.steps, self.settings.steps)
        self._bar.update(self._task, completed=steps, description=words)
        tenth = 10 * steps // self.settings.steps
        if not console.is_terminal and tenth > self._told:
            self._told = tenth
            line = f"{look.steps:,} of {self.settings.steps:,} steps: {words}"
            console.print(line, soft_wrap=True)


def _told(look: Look) -> str:
    """Say how well it goes: what is won, or what attempts are judged by instead."""
    from piase_gym.curricula.journeys import SUCCESS, short_name

    others = {n: v for n, v in look.values.items() if isinstance(v, float)}
    if not look.won and SUCCESS not in others and others:
        return ", ".join(f"{short_name(name)} {value:.2f}" for name, value in others.items())
    return f"{look.won:.0%} won"


def show_run(course: CourseRun, folder: Path) -> None:
    """Print what came of a run, and draw its path."""
    from piase_gym.curricula.journeys import read_journeys

    journeys = read_journeys(folder)
    for journey in journeys:
        console.print(table_of(journey, [step.order for step in course.curriculum.steps]))
    words = {"running": "goes on", "finished": "is finished", "failed": "is failed"}
    outcome = words[course.course.progress[course.agent].outcome]
    if course.course.director.per_slot:
        outcome = "has no end: its steps were drawn"
    spent = f"{course.trainer.steps:,} environment steps"
    console.print(f"The curriculum {outcome}, after {spent}.", soft_wrap=True)
    console.print(f"Everything is in {escape(str(folder))}", soft_wrap=True)
    try:
        from piase_gym.benchmarks.curriculum_plot import plot_journeys

        plot_journeys(journeys, folder / "path.png")
    except MissingExtraError as error:
        errors.print(f"no picture: {escape(str(error))}", soft_wrap=True)
    except ConfigError:
        return  # no attempt is over yet, so there is nothing to draw
    else:
        console.print(f"The path is drawn in {escape(str(folder / 'path.png'))}", soft_wrap=True)


def table_of(journey: Journey, orders: list[int] | None = None) -> Table:
    """Return the table of a journey's steps."""
    from piase_gym.curricula.journeys import headings, table_rows

    table = Table(title=escape(f"{journey.curriculum}: {journey.agent}"))
    for heading in headings(journey):
        left = heading in ("name", "done")
        table.add_column(heading, justify="left" if left else "right")
    for row in table_rows(journey, orders or ()):
        table.add_row(*(escape(cell) for cell in row))
    return table
