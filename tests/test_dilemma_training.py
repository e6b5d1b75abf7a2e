"""What PPO comes to in dilemmas: the stored results keep what was promised, and can be made."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks import dilemma_report as report
from piase_gym.benchmarks.statistics import Interval

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")


# -- what is stored -----------------------------------------------------------------------


def test_the_page_shows_what_is_stored() -> None:
    shown = dict(re.findall(r"<!-- dilemmas: (\w+) -->\n(.*?)<!-- end -->", PAGE, re.S))
    assert shown == report.stored_sections(), "run python docs/make_pages.py"


@pytest.mark.parametrize("name", ["harvest", "tit_for_tat"])
def test_the_command_is_told_and_runs_are_several(name: str) -> None:
    found = report.read(name)
    command = found["command"].split(" --")[0]
    assert command == f"python -m piase_gym.benchmarks.dilemma_training {name}"
    assert command.removeprefix("python -m ") in PAGE.replace("\n", " ")
    assert {run["seed"] for run in found["runs"]} == set(range(len(found["runs"])))
    assert len(found["runs"]) >= 5
    assert {"torch", "numpy", "piase_gym"} <= set(found["versions"])


def test_against_tit_for_tat_ppo_gets_nine_tenths_of_what_is_best() -> None:
    assert report.share(report.read("tit_for_tat")).low >= 0.9


def test_ppo_comes_nine_times_in_ten() -> None:
    found = json.loads((report.FOLDER / "physics_reach.json").read_text("utf-8"))
    assert found["won"] / found["episodes"] >= 0.9
    assert found["episodes"] >= 100


def path(rows: dict[str, dict[str, Interval]], measure: str) -> list[Interval]:
    """Return a measure of PPO by how long it has learned."""
    return [row[measure] for name, row in rows.items() if name.startswith("PPO")]


def test_independent_learners_ruin_the_harvest() -> None:
    rows = report.harvest(report.read("harvest"))
    efficiency, lasts = path(rows, "efficiency"), path(rows, "sustainability")
    assert efficiency[-1].high < 0.5 * rows["oracle"]["efficiency"].low
    assert max(value.estimate for value in efficiency) > efficiency[-1].high
    assert lasts[-1].high < lasts[0].low
    assert lasts[-1].high < rows["oracle"]["sustainability"].low
    assert rows["scripted"]["sustainability"].high < 0.15


def test_every_run_ends_below_half_of_what_restraint_yields() -> None:
    found = report.read("harvest")
    restraint = np.mean(found["rules"]["oracle"]["efficiency"])
    whole = [run for run in found["runs"] if run["steps"] >= found["settings"]["total_steps"]]
    assert len(whole) >= 3
    for run in whole:
        assert np.mean(run["path"][-1]["episodes"]["efficiency"]) < 0.5 * restraint


# -- how it is made -----------------------------------------------------------------------


def training() -> Any:
    """Return the module that trains."""
    pytest.importorskip("torch")
    from piase_gym.benchmarks import dilemma_training

    return dilemma_training


def test_what_is_written_is_what_was_found(tmp_path: Path) -> None:
    made = training()
    short = made.Settings(num_envs=4, num_steps=10, total_steps=80, minibatch=20, width=8)
    out = tmp_path / "found.json"
    found = made.measure("tit_for_tat", short, [0, 1], 3, out)
    stored = json.loads(out.read_text("utf-8"))
    assert {**stored, "command": ""} == {**found, "command": ""}
    assert "[0." in out.read_text("utf-8")  # numbers of a list stand on one line
    shares = [run["episodes"]["share"] for run in found["runs"]]
    assert np.shape(shares) == (2, 3)
    assert 0.0 <= np.min(shares) <= np.max(shares) <= 50 / 32
    again = made.measure("tit_for_tat", short, [1], 3)
    assert again["runs"][0]["episodes"] == found["runs"][1]["episodes"]


def test_runs_that_are_stored_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = training()
    short, out, trained = made.Settings(total_steps=80), tmp_path / "found.json", []

    def train(settings: Any, seed: int, episodes: int) -> dict[str, Any]:
        trained.append(seed)
        steps = settings.total_steps if seed != 1 else 8
        return {"seed": seed, "steps": steps, "episodes": {"share": [1.0] * episodes}}

    monkeypatch.setattr(made, "TRAIN", {"tit_for_tat": train})
    made.measure("tit_for_tat", short, [0, 1], 3, out)
    found = made.measure("tit_for_tat", short, [0, 1, 2], 3, out)
    assert trained == [0, 1, 1, 2]  # the second was cut short
    assert [run["seed"] for run in found["runs"]] == [0, 1, 2]
    made.measure("tit_for_tat", short, [0], 4, out)
    made.measure("tit_for_tat", made.Settings(total_steps=90), [0], 4, out)
    assert trained[4:] == [0, 0]


def test_a_run_in_the_harvest_is_looked_at_on_the_way() -> None:
    made = training()
    short = made.Settings(num_envs=2, num_steps=8, total_steps=96, minibatch=32, width=8)
    run = made.train_in_harvest(short, 0, 1)
    assert [look["steps"] for look in run["path"]] == [16, 32, 48, 64, 80, 96]
    for look in run["path"]:
        assert set(report.MEASURES) <= set(look["episodes"])
        assert 0.0 <= look["episodes"]["efficiency"][0] <= 1.0
