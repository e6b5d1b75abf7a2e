"""What ``piase bench`` shows: progress, results, learners, where the report is, problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from piase_gym.cli.console import console, errors, print_error, say

if TYPE_CHECKING:
    from piase_gym.benchmarks.evaluation.protocol import EpisodeRecord
    from piase_gym.benchmarks.evaluation.results import Results
    from piase_gym.benchmarks.evaluation.suites import Problem


class EpisodeBar(Progress):
    """A progress bar of episodes, below the name of what was played last.

    Without a terminal, a line is printed after every tenth of the episodes.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        parts = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._name, self._told = "starting", 0
        super().__init__(*parts, console=errors, transient=True, disable=not errors.is_terminal)
        self._task = self.add_task("", total=None)

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield the name and the bar."""
        yield Text(self._name)
        yield self.make_tasks_table(self.tasks)

    def show(self, record: EpisodeRecord, done: int, whole: int) -> None:
        """Show one more episode."""
        self._name = f"{record.setting}, {record.policy}"
        self.update(self._task, completed=done, total=whole)
        tenth = 10 * done // whole
        if not errors.is_terminal and tenth > self._told:
            self._told = tenth
            errors.print(f"{done} of {whole} episodes", soft_wrap=True)


def show_results(results: Results) -> None:
    """Print the results of each task, below its full name, and who did not play what."""
    from piase_gym.benchmarks.evaluation import tables

    rows = tables.result_rows(results)
    raw = tables.HEAD.index("raw value")
    cells = [(*row[1:raw], *row[raw + 1 : -1]) for row in (tables.HEAD, *rows)]
    head, *lines = tables.aligned(cells).splitlines()
    console.print(f"  {head}", soft_wrap=True, markup=False)
    task = None
    for row, line in zip(rows, lines, strict=True):
        if row[0] != task:
            task = row[0]
            console.print(Text(task, "bold cyan"), soft_wrap=True)
        console.print(f"  {line}", soft_wrap=True, markup=False)
        parts = [f"{tables.HEAD[raw]} {row[raw]}", row[-1]]
        for part in filter(None, parts):
            console.print(Padding(Text(part, "dim"), (0, 0, 0, 4)))
    for note in tables.one_run_note(results):
        console.print(note, soft_wrap=True, markup=False)
    for why, names in tables.by_reason(results.skipped).items():
        console.print(f"not played: {', '.join(names)}: {why}", soft_wrap=True, markup=False)


def show_learned() -> None:
    """Show the result of the best learner in every setting of the standard suite."""
    from piase_gym.benchmarks.evaluation.suites import standard
    from piase_gym.benchmarks.evaluation.tables import aligned
    from piase_gym.benchmarks.references.learned import best, learned

    known = learned()
    lines = [("task", "learner", "runs", "gets", "wins", "random wins", "")]
    labels = [s.label for split in ("held_out", "dev") for s in standard().settings(split)[0]]
    for label in dict.fromkeys(labels):
        if label not in known:
            lines.append((label, "none", "", "", "", "", "not trained"))
            continue
        row = best(known[label])
        won = "" if row.success is None else f"{row.success.estimate:.0%}"
        random = "" if row.random_success is None else f"{row.random_success:.0%}"
        mark = "open" if row.at_random_level else ""
        gets = f"{row.value.estimate:.2f}"
        lines.append((label, row.learner, str(row.runs), gets, won, random, mark))
    typer.echo(aligned(lines))
    typer.echo("open: the best learner is at random level; see docs/open_problems.md")


def write(out: Path) -> None:
    """Write the report and say where it is."""
    from piase_gym.benchmarks.evaluation.report import write_report

    for path in write_report(out):
        say(f"wrote {path}")


def tell(problems: Sequence[Problem]) -> None:
    """Print problems; exit with an error if there are any."""
    for problem in problems:
        print_error(f"{problem.where}: {problem.what}", "problem")
    if problems:
        raise typer.Exit(1)


def conclude(results: Results) -> None:
    """Print an evaluation's problems; they and episodes without a result lead to an error."""
    tell(results.problems)
    if any(row.faults for row in results.rows):
        console.print("[bold red]some episodes have no result[/]; run again to play them")
        raise typer.Exit(1)
