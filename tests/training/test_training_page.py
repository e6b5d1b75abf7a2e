"""docs/training.md: its examples run, and its numbers are those of the stored results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from piase_gym.benchmarks.studies import training_report as report
from tests.helpers.warm_python import run_python
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "training.md").read_text("utf-8")


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE, re.S), ids=range(2))
def test_examples_run(block: str, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    done = run_python("-c", block, cwd=tmp_path, warm="with_torch")
    assert done.returncode == 0, done.stderr


def test_the_page_shows_what_is_stored() -> None:
    shown = dict(re.findall(r"<!-- training: (\w+) -->\n(.*?)<!-- end -->", PAGE, re.S))
    assert shown == report.stored_sections(), "run python docs/make_pages.py"
    for name in shown:
        stored = json.loads((report.FOLDER / f"{name}.json").read_text("utf-8"))
        words = " ".join(PAGE.replace("\\\n", " ").split())
        assert stored["command"] in words
        for told in runs(name):
            row = f"| {told['success']:.1%} ({told['wilson95'][0]:.1%} to "
            assert f"| `{told['task']}` | {told['seed']} {row}" in shown[name]


def runs(name: str) -> list[dict[str, Any]]:
    """The stored runs, with drawn actions."""
    return [
        {**run, **run.get("settings", {}), **run.get("sampled", {})} for run in report.read(name)
    ]


@pytest.mark.parametrize("name", ["ppo_batch", "solve"])
def test_the_tasks_are_solved_within_ten_million_steps(name: str) -> None:
    wanted = {"piase/GridWorld-FourRooms-8x8-v1": 0.95, "piase/GridWorld-DoorKey-6x6-v1": 0.9}
    assert {run["task"] for run in runs(name)} == set(wanted)
    for run in report.read(name):
        assert run["steps"] <= 10_000_000
    for run in runs(name):
        assert run["success"] >= wanted[run["task"]]
