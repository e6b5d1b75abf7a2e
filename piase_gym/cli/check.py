"""``piase check``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

import piase_gym
from piase_gym.cli.console import console, errors
from piase_gym.cli.options import Modules, Settings, complete_worlds, import_modules
from piase_gym.cli.settings import read_settings
from piase_gym.errors import ConfigError
from piase_gym.names import look_up

if TYPE_CHECKING:
    from piase_gym.testing import Report

STYLES = {"passed": "green", "failed": "bold red", "skipped": "yellow", "not claimed": "dim"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORLD|ID...", help="Worlds or ids.", autocompletion=complete_worlds
        ),
    ] = None,
    ids: Annotated[
        bool,
        typer.Option("--ids", help="Check every id of these worlds (or of all), and sum up."),
    ] = False,
    config: Settings = None,
    module: Modules = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="Run this check; may be repeated.")
    ] = None,
) -> None:
    """Hold worlds to the contract and say in words what was proved."""
    from piase_gym.testing import run_checks

    import_modules(module)
    chosen = ids_of(names) if ids else names or []
    if not chosen:
        raise ConfigError("name a world or an id, or give --ids for every id there is")
    fields = {name: read_settings(name, config) for name in chosen}
    reports = {}
    for name in chosen:
        with errors.status(f"checking {name}"):
            report = run_checks(name, checks=only, modules=tuple(module or ()), **fields[name])
        reports[name] = report
        if ids:
            print_line(name, report)
        else:
            print_report(name, report)
    if ids:
        print_sum(reports.values())
    if not all(report.ok for report in reports.values()):
        raise typer.Exit(1)


def ids_of(names: Sequence[str] | None) -> list[str]:
    """Return the ids of worlds; an id stands for itself."""
    worlds = names or piase_gym.worlds()
    found: list[str] = []
    for name in worlds:
        named = look_up(name)
        bare = named.task is None and named.scenario is None
        found += piase_gym.tasks(named.spec.name) if bare else [name]
    return list(dict.fromkeys(found))


def print_report(name: str, report: Report) -> None:
    """Print what each check of one world found."""
    table = Table("", "what was checked", "", title=f"{name}: {len(report.findings)} checks")
    for finding in report.findings:
        style = STYLES[finding.status]
        table.add_row(finding.check, finding.sentence, Text(finding.verdict, style))
    console.print(table)
    console.print(counts_of(report))


def print_line(name: str, report: Report) -> None:
    """Print the counts of one id, and what failed."""
    seconds = Text(f"  {report.seconds:.0f} s", "dim")
    console.print(Text.assemble((name, "bold cyan"), "  ", counts_of(report), seconds))
    for finding in report.failures:
        console.print(Text(f"  {finding.check}: {finding.detail}", STYLES["failed"]))


def counts_of(report: Report) -> Text:
    """Return how many checks passed, failed, were skipped or not claimed."""
    counts: Counter[str] = Counter(finding.status for finding in report.findings)
    words = [(f"{counts[status]} {status}", STYLES[status]) for status in STYLES if counts[status]]
    return Text(", ").join(Text(*pair) for pair in words)


def print_sum(reports: Iterable[Report]) -> None:
    """Print what each check proved, of how many ids, and where it was not run, why."""
    every = list(reports)
    table = Table("", "what was proved", "of ids", "elsewhere", title=f"{len(every)} ids")
    for rows in zip(*(report.findings for report in every), strict=True):
        passed = [row for row in rows if row.status == "passed"]
        others = Counter(row.verdict for row in rows if row.status not in ("passed", "failed"))
        failed = len(rows) - len(passed) - others.total()
        why = [f"{count} {verdict}" for verdict, count in others.most_common(2)]
        if failed:
            why.insert(0, f"{failed} failed")
        style = STYLES["failed" if failed else "passed" if passed else "skipped"]
        first = rows[0]
        table.add_row(first.check, first.sentence, Text(str(len(passed)), style), "; ".join(why))
    console.print(table)
    wrong = sum(not report.ok for report in every)
    console.print(f"{len(every) - wrong} of {len(every)} ids keep the contract")
