"""``piase studio``: worlds, runs, curricula and scenarios in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from piase_gym.cli.console import say
from piase_gym.cli.options import Modules
from piase_gym.studio.app import HOST, PORT, serve


def studio(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Where your runs, trainings, curricula and scenarios are."
        ),
    ] = Path(),
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="The address to listen at. Whoever reaches it can write into the folder.",
        ),
    ] = HOST,
    port: Annotated[int, typer.Option(metavar="N", help="The port to listen at.")] = PORT,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open it in a browser.")
    ] = True,
    module: Modules = None,
) -> None:
    """Open the studio: play and watch worlds, look at runs, write curricula and scenarios."""
    serve(
        folder,
        host=host,
        port=port,
        open_browser=browser,
        on_start=lambda address: say(f"The studio is at {address}; Ctrl-C ends it."),
    )
