"""Puts the command line together and turns a user's mistakes into one line."""

from __future__ import annotations

import sys

import typer

from piase_gym.cli import worlds
from piase_gym.cli.console import console
from piase_gym.errors import PiaseError

GROUPS = (worlds,)
"""Modules with a function `register`, which adds their commands; one module a group."""

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)


@app.callback()
def root() -> None:
    """Multi-agent worlds, each readable as a vector and as text."""


for group in GROUPS:
    group.register(app)


def main() -> None:
    """Run the command line; a user's mistake is one line, not a traceback."""
    try:
        app()
    except PiaseError as error:
        console.print(f"[red]error:[/] {error}", soft_wrap=True)
        sys.exit(2)
