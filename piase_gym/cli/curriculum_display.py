"""What `piase curriculum run` shows of a training: a bar, a table, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from piase_gym.cli.console import console, errors, make_table, say
from piase_gym.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from piase_gym.curricula.learning_path import LearningPath
    from piase_gym.training.curriculum_run import (
        CurriculumTraining,
        CurriculumTrainingSettings,
        TrainingStatus,
    )


class Display:
    """A progress bar with step, attempt and success; on no terminal, a line now and then."""

    def __init__(self, training: CurriculumTraining) -> None:
        """Begin where the run is."""
        self.settings: CurriculumTrainingSettings = training.settings
        self._told = -1
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task(
            "compiling", total=self.settings.steps, completed=training.trainer.steps
        )
        self._drawn = training.controller.director.per_slot

    def __enter__(self) -> Display:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._bar.stop()

    def update(self, look: TrainingStatus) -> None:
        """Show where the run is."""
        words = told_drawn(look) if self._drawn else told(look)
        total = max(look.steps, self.settings.steps)  # updates are whole
        self._bar.update(self._task, completed=look.steps, total=total, description=words)
        tenth = 10 * look.steps // total
        if not console.is_terminal and tenth > self._told:
            self._told = tenth
            say(f"{look.steps:,} of {total:,} steps: {words}")


def told_drawn(look: TrainingStatus) -> str:
    """Say how well it goes where steps are drawn."""
    return f"steps are drawn, {look.won:.0%} of the last {look.episodes:,} episodes won"


def told(look: TrainingStatus) -> str:
    """Say which attempt is under way, and what the last one came to, as the table has it."""
    from piase_gym.curricula.learning_path import judged_by, short_name

    where = f"step {look.order} '{look.name}', attempt {look.attempt}"
    last = look.decided
    if look.outcome == "running":
        where += f": {look.ended} of {look.wanted} episodes"
    if last is None:
        return where
    metric = judged_by([last])
    if not isinstance(value := last.values.get(metric), int | float):
        return f"{where}, {look.won:.0%} of the last {look.episodes:,} won"
    before = "" if look.outcome != "running" else f"attempt {last.attempt} "
    if last.step != look.order:
        before = f"step {last.step} {before}"
    return f"{where}, {before}{value:.0%} {short_name(metric)}"


def show_run(training: CurriculumTraining, folder: Path) -> None:
    """Print what came of a run, and draw its path."""
    from piase_gym.curricula.learning_path import describe_open, describe_outcome, read_paths

    paths = read_paths(folder)
    for path in paths:
        console.print(table_of(path, [step.order for step in training.curriculum.steps]))
        for line in describe_open(path):
            say(line)
    outcome = describe_outcome(training.controller.progress[training.agent].outcome)
    if training.controller.director.per_slot:
        outcome = "has no end: its steps were drawn"
    spent = f"{training.trainer.steps:,} environment steps"
    if training.trainer.steps > training.settings.steps:
        spent += f" (a budget of {training.settings.steps:,}, rounded up to whole updates)"
    say(f"The curriculum {outcome}, after {spent}.")
    say(f"Everything is in {folder}")
    try:
        from piase_gym.training.curriculum_plot import plot_paths

        plot_paths(paths, folder / "path.png")
    except MissingExtraError as error:
        errors.print(f"no picture: {error}", markup=False, soft_wrap=True)
    except ConfigError:
        return  # no attempt is over yet, so there is nothing to draw
    else:
        say(f"The path is drawn in {folder / 'path.png'}")


def table_of(path: LearningPath, orders: list[int] | None = None) -> Table:
    """Return the table of a path's steps."""
    from piase_gym.curricula.learning_path import headings, table_rows

    columns = headings(path)
    numbers = set(columns) - {"name", "done"}
    title = f"{path.curriculum}: {path.agent}"
    return make_table(columns, table_rows(path, orders or ()), title, numbers)
