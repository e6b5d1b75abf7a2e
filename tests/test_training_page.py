"""docs/training.md: its examples run, and its numbers are those of the stored results."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "training.md").read_text("utf-8")
MEASURED = ROOT / "benchmarks" / "measured"
RESULTS = sorted(path.name for path in MEASURED.glob("*.json") if f"`{path.name}`" in PAGE)


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE, re.S), ids=range(2))
def test_examples_run(block: str, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    words = [sys.executable, "-c", block]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr


def test_there_are_stored_results() -> None:
    assert "solve.json" in RESULTS


def table(name: str) -> list[str]:
    """The rows that a stored result stands for."""
    rows = []
    for run in json.loads((MEASURED / name).read_text("utf-8"))["runs"]:
        told: dict[str, Any] = {**run, **run.get("settings", {}), **run.get("sampled", {})}
        low, high = told["wilson95"]
        share = f"{told['success']:.1%} ({low:.1%} to {high:.1%})"
        cost = f"{run['steps'] / 1e6:.1f} M | {run['cpu_seconds']:.0f}"
        rows.append(f"| `{told['task']}` | {told['seed']} | {share} | {cost} |")
    return rows


@pytest.mark.parametrize("name", RESULTS)
def test_numbers_are_those_of_the_stored_results(name: str) -> None:
    rows = table(name)
    assert rows
    section = PAGE.split(f"`{name}`")[1]
    shown = [line for line in section.splitlines() if line.startswith("| `")]
    assert shown[: len(rows)] == rows


@pytest.mark.parametrize("name", RESULTS)
def test_the_tasks_are_solved_within_ten_million_steps(name: str) -> None:
    wanted = {"piase/GridWorld-FourRooms-8x8-v0": 0.95, "piase/GridWorld-DoorKey-6x6-v0": 0.9}
    runs = json.loads((MEASURED / name).read_text("utf-8"))["runs"]
    told = [{**run, **run.get("settings", {}), **run.get("sampled", {})} for run in runs]
    assert {run["task"] for run in told} == set(wanted)
    for run in told:
        assert run["success"] >= wanted[run["task"]]
        assert run["steps"] <= 10_000_000
