"""What PPO comes to in dilemmas: the stored results keep what was promised, and can be made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.studies.dilemmas import report
from piase_gym.benchmarks.studies.jobs import read_lines, read_once
from piase_gym.errors import StorageError
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")


# -- what is stored -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["harvest", "tit_for_tat"])
def test_the_command_on_the_page_finds_all_that_is_stored_and_nothing_else(name: str) -> None:
    assert f"piase_gym.benchmarks.studies.dilemmas.train {name}" in PAGE.replace("\n", " ")
    lines = read_lines(report.FOLDER / f"{name}.jsonl")
    for line in lines:
        assert {"torch", "numpy", "piase_gym"} <= set(line["versions"])
    assert len(report.read(name)["runs"]) >= 5
    assert {line["key"] for line in lines} == {job.key for job in training().jobs(name)}
    assert len(lines) == len(training().jobs(name))


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
    for run in found["runs"]:
        assert np.mean(run["path"][-1]["episodes"]["efficiency"]) < 0.5 * restraint


# -- how it is made -----------------------------------------------------------------------


def training() -> Any:
    """Return the module that trains."""
    pytest.importorskip("torch")
    from piase_gym.benchmarks.studies.dilemmas import train

    return train


def few(name: str, out: Path, seeds: str) -> None:
    """Train a little."""
    words = [name, "--out", str(out), "--steps", "80", "--episodes", "3", "--seeds", *seeds.split()]
    training().main(words)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with trainings of few and small environments."""
    made = training()
    small = made.Settings(num_envs=4, num_steps=10, total_steps=80, minibatch=20, width=8)
    monkeypatch.setattr(made, "SETTINGS", dict.fromkeys(made.SETTINGS, small))
    return made


def test_a_call_goes_on_where_the_one_before_was_broken_off(short: Any, tmp_path: Path) -> None:
    out, others = tmp_path / "found.jsonl", tmp_path / "others.jsonl"
    few("tit_for_tat", out, "0 1")
    first = out.read_text("utf-8").splitlines()
    assert np.shape([json.loads(line)["episodes"]["share"] for line in first]) == (2, 3)
    shares = json.loads(first[0])["episodes"]["share"]
    assert 0.0 <= min(shares) <= max(shares) <= 50 / 32
    out.write_text(first[0] + "\n" + first[1][:90], "utf-8")
    few("tit_for_tat", out, "0 1 2")
    again = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert out.read_text("utf-8").splitlines()[0] == first[0]
    assert again[1]["episodes"] == json.loads(first[1])["episodes"]
    few("tit_for_tat", others, "1 3")
    out.write_bytes(out.read_bytes() + others.read_bytes())  # as cat does
    assert [line["seed"] for line in read_once(out)] == [0, 1, 2, 3]
    few("tit_for_tat", out, "0 1 2 3")
    assert len(read_lines(out)) == 5


def test_other_settings_are_other_results(short: Any, tmp_path: Path) -> None:
    made = short.jobs("harvest", [0])
    assert [job.who for job in made] == ["random", "scripted", "oracle", 0]
    longer = short.jobs("harvest", [0], short.Settings(total_steps=90))
    assert [job.key for job in longer[:3]] == [job.key for job in made[:3]]  # nothing is learnt
    assert longer[3].key != made[3].key
    assert not {j.key for j in made} & {j.key for j in short.jobs("harvest", [0], episodes=4)}


def test_mistakes_are_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        training().main(["harvest", "--steps", "80"])
    assert "--out" in capsys.readouterr().err
    for name, words in (("empty", ""), ("strange", '{"seed": 0}\n'), ("broken", "{\n{}\n")):
        (tmp_path / name).write_text(words, "utf-8")
        with pytest.raises(StorageError, match=name):
            read_once(tmp_path / name)


def test_a_run_in_the_harvest_is_looked_at_on_the_way() -> None:
    made = training()
    short = made.Settings(num_envs=2, num_steps=8, total_steps=96, minibatch=32, width=8)
    run = made.train_in_harvest(short, 0, 1)
    assert [look["steps"] for look in run["path"]] == [16, 32, 48, 64, 80, 96]
    for look in run["path"]:
        assert set(report.MEASURES) <= set(look["episodes"])
        assert 0.0 <= look["episodes"]["efficiency"][0] <= 1.0
