"""``piase studio``: worlds, runs, curricula and scenarios in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from piase_gym.cli.console import say
from piase_gym.cli.options import Modules


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
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="The port to listen at.")] = 8080,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open it in a browser.")
    ] = True,
    module: Modules = None,
) -> None:
    """Open the studio: play and watch worlds, look at runs, write curricula and scenarios."""
    from piase_gym.studio.app import serve

    serve(
        folder,
        host=host,
        port=port,
        open_browser=browser,
        on_start=lambda address: say(f"The studio is at {address}; Ctrl-C ends it."),
    )
