"""What `piase curriculum run` shows of a training: how it goes, a table, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from piase_gym.cli.console import console, errors, make_table, say
from piase_gym.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from piase_gym.curricula.learning_path import LearningPath
    from piase_gym.training.curriculum_run import CurriculumTraining, TrainingStatus


def told(look: TrainingStatus, drawn: bool) -> str:
    """Say which attempt is under way, and what the last one came to, as the table has it.

    Where steps are drawn, say how well it goes.
    """
    from piase_gym.curricula.learning_path import judged_by, short_name

    if drawn:
        return f"steps are drawn, {look.won:.0%} of the last {look.episodes:,} episodes won"
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
