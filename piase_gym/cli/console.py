"""What every command prints with: one console for results, another one for errors."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.status import Status
from rich.table import Table
from rich.text import Text

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def say(words: object, style: str = "") -> None:
    """Print words as they are: no markup, and no line breaks but their own."""
    console.print(Text(str(words), style), soft_wrap=True)


def waiting(words: str, shown: Console = console) -> Status:
    """Return a spinner with words as they are, to be shown while something takes its time."""
    return shown.status(Text(words))


def make_table(
    columns: Iterable[str],
    rows: Iterable[Iterable[str | Text]],
    title: str | None = None,
    right: Container[str] = (),
) -> Table:
    """Return a table whose cells are shown as they are; columns of `right` are for numbers."""
    table = Table(title=Text(title) if title else None)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


class StepBar(Progress):
    """A progress bar of steps with words before it; without a terminal, a line per tenth."""

    def __init__(self, words: str, total: int, done: int = 0, unit: str = "steps") -> None:
        """Begin with `done` steps done, or as many of another `unit`."""
        text = TextColumn("{task.description}", markup=False)
        columns = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        super().__init__(*columns, console=console, disable=not console.is_terminal)
        self._task = self.add_task(words, total=total, completed=done)
        self._told, self._unit = -1, unit

    def show(self, steps: int, total: int, words: str) -> None:
        """Show how many steps are done, and words about them."""
        done = min(steps, total)
        super().update(self._task, completed=done, total=total, description=words)
        tenth = 10 * done // total
        if not console.is_terminal and tenth > self._told:
            self._told = tenth
            say(f"{steps:,} of {total:,} {self._unit}: {words}")


class _LogLines(logging.Handler):
    """Prints the lines of a log among the errors."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line, with the traceback if it has one."""
        style = "dim" if record.levelno < logging.WARNING else ""
        errors.print(Text(self.format(record), style), soft_wrap=True)


def show_log() -> None:
    """Show what the package logs, such as that it compiles, to whoever watches a terminal."""
    if errors.is_terminal:
        log = logging.getLogger("piase_gym")
        log.addHandler(_LogLines())
        log.setLevel(logging.INFO)


def print_error(message: object, label: str = "error", style: str = "bold red") -> None:
    """Print what is wrong, such as a user's mistake, in plain words behind a label."""
    errors.print(Text.assemble((f"{label}: ", style), str(message)), soft_wrap=True)
