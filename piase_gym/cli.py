"""The command line: ``piase worlds`` and ``piase check``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import piase_gym
from piase_gym.errors import PiaseError
from piase_gym.registry import world_spec

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)
console = Console()
STYLES = {"passed": "green", "failed": "bold red", "skipped": "yellow", "not claimed": "dim"}


@app.callback()
def root() -> None:
    """Multi-agent worlds, each readable as a vector and as text."""


@app.command()
def worlds() -> None:
    """List the worlds and their ids."""
    table = Table("world", "what it is", "ids")
    for name in piase_gym.worlds():
        table.add_row(name, world_spec(name).summary, "\n".join(piase_gym.tasks(name)))
    console.print(table)


@app.command()
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


def main() -> None:
    """Run the command line; a user's mistake is one line, not a traceback."""
    try:
        app()
    except PiaseError as error:
        console.print(f"[red]error:[/] {error}", soft_wrap=True)
        sys.exit(2)
