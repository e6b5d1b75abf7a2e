"""What tests of commands share that run in this process: how they run, and what they printed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from piase_gym.cli.app import app

Said = Callable[[], list[str]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Returns the lines that were printed since the last call."""
    return lambda: capsys.readouterr().out.splitlines()


def run(*words: str) -> tuple[int, str]:
    """Run `piase` in this process; return its exit code and what it printed."""
    done = CliRunner().invoke(app, words, prog_name="piase")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout
