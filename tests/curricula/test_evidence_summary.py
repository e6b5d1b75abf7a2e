"""What trainings through a curriculum came to, and what the page tells of it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from piase_gym import curricula
from piase_gym.benchmarks.studies import curriculum_report as report
from piase_gym.benchmarks.studies.jobs import read_lines
from piase_gym.curricula.learning_path import read_paths
from tests.curricula.example_curricula import CORNER
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "curricula.md").read_text("utf-8")
SMALL = ["--world", "GridWorld", "--steps", "1024", "--num-envs", "8", "--episodes", "20"]


def made() -> Any:
    """Return the module that trains and tests."""
    pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    from piase_gym.benchmarks.studies import curriculum_summary

    return curriculum_summary


def command(tmp_path: Path, *more: str) -> list[str]:
    """Return the words of a small training."""
    folder = ["--folder", str(tmp_path), "--out", str(tmp_path / "x.jsonl")]
    return [str(CORNER), *SMALL, *folder, *more]


def test_a_training_is_summed_up_and_tested_and_not_done_again(tmp_path: Path) -> None:
    summary, words = made(), command(tmp_path, "--seeds", "2", "3")
    summary.main(words)
    lines = read_lines(tmp_path / "x.jsonl")
    assert [line["settings"]["seed"] for line in lines] == [2, 3]
    for line in lines:
        folder = tmp_path / f"corner-scripted-{line['settings']['seed']}"
        (learning_path,) = read_paths(folder)
        assert line["outcome"] == learning_path.outcome
        assert line["env_steps"] == learning_path.end
        assert [row["order"] for row in line["steps"]] == [1, 2]
        for row in line["steps"]:
            moves = [move for move in learning_path.moves if move.decision.step == row["order"]]
            assert row["attempts"] == len(moves)
            done = [move.at for move in moves if move.decision.completed]
            assert row["completed_at"] == (done[0] if done else None)
            assert row["tested"]["episodes"] == 20
        assert lines[0]["steps"][0]["tested"]["won"] > 0
    before = (tmp_path / "x.jsonl").read_bytes()
    summary.main(words)
    assert (tmp_path / "x.jsonl").read_bytes() == before
    (tmp_path / "x.jsonl").write_bytes(before[: before.index(b"\n") + 50])  # broken off
    policies = [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("*/policy.pt"))]
    summary.main(words)
    assert (tmp_path / "x.jsonl").read_bytes() == before
    # Only the test was done again.
    assert [p.stat().st_mtime_ns for p in sorted(tmp_path.glob("*/policy.pt"))] == policies


def test_a_training_that_was_broken_off_goes_on_to_the_same_end(tmp_path: Path) -> None:
    summary, lines = made(), []
    for name, cut in (("whole", 10**9), ("parts", 400)):
        given = summary.parsed(command(tmp_path / name))
        (job,) = given.jobs
        run = summary.CurriculumTraining(job.settings, job.folder)
        run.train(lambda look, run=run, cut=cut: setattr(run, "interrupted", look.steps >= cut))
        run.close()
        assert summary.is_over(job.folder, job.settings) == (name == "whole")
        lines.append(summary.perform(job))
    assert lines[0] == lines[1]


def test_what_cannot_be_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = made()
    given = summary.parsed(command(tmp_path))
    summary.CurriculumTraining(given.jobs[0].settings, given.jobs[0].folder).close()
    for words, told in (
        (command(tmp_path, "--steps", "2048"), "name another --folder"),
        (["nowhere", "--out", str(tmp_path / "x.jsonl")], "nowhere"),
        (command(tmp_path, "--episodes", "0"), "--episodes"),
    ):
        with pytest.raises(SystemExit):
            summary.main(words)
        assert told in capsys.readouterr().err


def test_where_nobody_wins_nothing_is_tested(tmp_path: Path) -> None:
    summary = made()
    words = ["give_and_take", "--steps", "256", "--num-envs", "4", "--folder", str(tmp_path)]
    summary.main([*words, "--out", str(tmp_path / "x.jsonl")])
    (line,) = read_lines(tmp_path / "x.jsonl")
    assert {row["tested"] for row in line["steps"]} == {None}


# -- what is stored ------------------------------------------------------------------------------


def test_the_page_shows_what_is_stored() -> None:
    shown = dict(re.findall(r"<!-- training: (\w+) -->\n(.*?)<!-- end -->", PAGE, re.S))
    assert shown == report.stored_sections(), "run python docs/make_pages.py"
    lines = report.read("speak_up")
    assert {line["curriculum"]["sha256"] for line in lines} == {curricula.load("speak_up").sha256}
    for line in lines:
        assert f"| {line['settings']['seed']} |" in shown["speak_up"]
        for order in (7, 9):
            tested = line["steps"][order - 1]["tested"]
            assert f"{tested['won'] / tested['episodes']:.1%} (" in shown["speak_up"]


def test_the_command_on_the_page_finds_all_that_is_stored_and_nothing_else() -> None:
    name = r"piase_gym\.benchmarks\.studies\.curriculum_summary"
    (words,) = re.findall(rf"python -m {name} (.*)", PAGE)
    given = made().parsed(shlex.split(words))
    lines = read_lines(ROOT / given.out)
    assert len(lines) >= 5
    assert {line["key"] for line in lines} == {job.key for job in given.jobs}
    assert json.dumps(lines).count('"torch"') == len(lines)
