"""``piase demo``: the main job on real input, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from piase_gym.core.files import require_folder
from piase_gym.errors import MissingExtraError


def demo(
    steps: Annotated[
        int, typer.Option(metavar="N", min=1, help="Environment steps of PPO.")
    ] = 150_000,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for pictures.")] = Path(
        "demo"
    ),
) -> None:
    """Play four agents, then train PPO and show what it learned."""
    require_folder(out)  # before the libraries are loaded
    try:
        from piase_gym.cli.demo_run import run
    except ModuleNotFoundError as error:
        raise MissingExtraError("piase demo", "train") from error
    run(steps, out)
