"""The command line."""

from __future__ import annotations

import subprocess
import sys


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `piase` with some words."""
    command = [sys.executable, "-c", "from piase_gym.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_worlds_are_listed() -> None:
    done = run("worlds")
    assert done.returncode == 0
    assert "GridWorld" in done.stdout


def test_check_says_what_it_proved() -> None:
    done = run("check", "GridWorld", "--only", "masks_are_legality")
    assert done.returncode == 0, done.stderr
    assert "passed" in done.stdout


def test_a_mistake_is_one_line() -> None:
    done = run("check", "GridWrld")
    assert done.returncode == 2
    assert "did you mean 'GridWorld'?" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
