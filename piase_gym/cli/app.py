"""Puts the command line together and turns a user's mistakes into one line."""

from __future__ import annotations

import errno
import inspect
import os
import re
import sys
from typing import Annotated

import typer

from piase_gym import __version__
from piase_gym.cli import bench, curriculum, curriculum_search, runs, scenarios, train
from piase_gym.cli.check import check
from piase_gym.cli.collect import collect
from piase_gym.cli.console import console, print_error, show_log
from piase_gym.cli.demo import demo
from piase_gym.cli.explore import explore
from piase_gym.cli.info import info
from piase_gym.cli.play import play
from piase_gym.cli.plugins import list_plugins
from piase_gym.cli.studio import studio
from piase_gym.cli.worlds import worlds
from piase_gym.errors import PiaseError, StoppedError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, a quota, a limit of the size of files


def _print_version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        console.print(f"piase_gym {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Multi-agent worlds, each readable as a vector and as text."""


for command in (worlds, info, play, check, *runs.COMMANDS, demo, scenarios.run, explore, collect):
    app.command()(command)
app.command("plugins")(list_plugins)
app.command()(train.train)
app.command()(studio)
app.add_typer(bench.bench, name="bench")
scenarios.scenario.command("play")(play)
app.add_typer(scenarios.scenario, name="scenario")
app.add_typer(scenarios.scenario, name="scenarios", hidden=True)
curriculum.curriculum.command()(curriculum_search.search)
app.add_typer(curriculum.curriculum, name="curriculum")


def _as_option(message: str) -> str:
    """Name an argument of Python as this command's option, or leave it out if there is none."""
    takes = {c.__name__ for c in runs.COMMANDS if "overwrite" in inspect.signature(c).parameters}
    option = ", or --overwrite" if takes & set(sys.argv[1:2]) else ""
    return re.sub(r", or overwrite=True\Z", option, message)


def _with_module(message: str) -> str:
    """Add to an unknown world's error that worlds of one's own are imported by an option."""
    unknown = re.search(r"\bunknown (world|id)\b", message) and "did you mean" not in message
    given = any(re.match("-m|--module", word) for word in sys.argv[1:])
    return f"{message}; one of your own needs --module" if unknown and not given else message


def main() -> None:
    """Run the command line; a user's mistake is one line, not a traceback."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an encoding error is no reason to crash
    show_log()
    try:
        try:
            app(prog_name="piase")
        finally:
            _flush()  # an error of what is still waiting is told of as any other
    except StoppedError as error:
        print_error(error)
        sys.exit(130)
    except PiaseError as error:
        print_error(_with_module(_as_option(str(error))))
        sys.exit(2)
    except BrokenPipeError:  # whoever reads has seen enough
        _drop_output()
        sys.exit(1)
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            raise
        print_error(": ".join(filter(None, (error.strerror, error.filename))))
        _drop_output()
        sys.exit(2)


def _flush() -> None:
    """Print what is waiting; Typer puts another stream in the place of a closed `sys.stdout`."""
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()


def _drop_output() -> None:
    """Print what is waiting; what is refused is dropped without another error."""
    try:
        _flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
