"""``piase worlds`` and ``piase check``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

import piase_gym
from piase_gym.cli.console import console
from piase_gym.registry import world_spec

STYLES = {"passed": "green", "failed": "bold red", "skipped": "yellow", "not claimed": "dim"}


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command()(worlds)
    app.command()(check)


def worlds() -> None:
    """List the worlds and their ids."""
    table = Table("world", "what it is", "ids")
    for name in piase_gym.worlds():
        table.add_row(name, world_spec(name).summary, "\n".join(piase_gym.tasks(name)))
    console.print(table)


def check(
    names: Annotated[list[str], typer.Argument(metavar="WORLD...", help="worlds or ids")],
    module: Annotated[
        list[str] | None, typer.Option(help="a module to import first, which registers worlds")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="the name of a check to run")] = None,
) -> None:
    """Hold worlds to the contract and say in words what was proved."""
    from piase_gym.testing import run_checks

    failed = 0
    for name in names:
        with console.status(f"checking {name}"):
            report = run_checks(name, checks=only, modules=tuple(module or ()))
        table = Table("", "what was checked", "", title=f"{name}: {len(report.findings)} checks")
        for finding in report.findings:
            style = STYLES[finding.status]
            table.add_row(finding.check, finding.sentence, f"[{style}]{finding.verdict}[/]")
        console.print(table)
        failed += len(report.failures)
    if failed:
        console.print(f"[bold red]{failed} checks failed[/]")
        raise typer.Exit(1)
