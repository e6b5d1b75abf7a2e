"""Options that the commands on curricula share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from piase_gym.cli.options import Completions, complete_worlds


def complete_curricula(incomplete: str) -> Completions:
    """Complete the names of the library."""
    from piase_gym import curricula

    return [(name, "") for name in curricula.names() if name.startswith(incomplete)]


def complete_directors(incomplete: str) -> Completions:
    """Complete the names of directors."""
    from piase_gym.curricula.directors import DIRECTORS

    return [(name, "") for name in DIRECTORS if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        metavar="CURRICULUM", help="A name or a file.", autocompletion=complete_curricula
    ),
]
World = Annotated[
    str | None,
    typer.Option(
        metavar="WORLD",
        help="The world or id to play in. Default: the curriculum's own.",
        autocompletion=complete_worlds,
    ),
]
Director = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What says which step comes next: scripted (the curriculum's own rules), threshold, "
        "randomisation or learning_progress. Default: scripted.",
        autocompletion=complete_directors,
    ),
]
Source = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|PROGRESS",
        help="The folder of a run, a log, or a file of progress.",
    ),
]
