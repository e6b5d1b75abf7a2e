"""What a training through a curriculum came to, in a few numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from piase_gym import curricula
from piase_gym.curricula.journeys import read_journeys
from tests.test_curriculum_run import run_of

ROOT = Path(__file__).parents[1]


def test_a_summary_says_when_each_step_was_completed(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", seed=2)
    run.train()
    run.close()
    from piase_gym.benchmarks.course_summary import main

    main([str(tmp_path / "run"), "--out", str(tmp_path / "x.json")])
    found = json.loads((tmp_path / "x.json").read_text("utf-8"))
    (journey,) = read_journeys(tmp_path / "run")
    assert found["outcome"] == journey.outcome
    assert found["env_steps"] == run.trainer.steps
    assert [row["order"] for row in found["steps"]] == [1, 2]
    for row in found["steps"]:
        moves = [move for move in journey.moves if move.decision.step == row["order"]]
        assert row["attempts"] == len(moves)
        done = [move.at for move in moves if move.decision.completed]
        assert row["completed_at"] == (done[0] if done else None)
    assert sum(row["attempts"] for row in found["steps"]) > 0


def test_what_is_no_run_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    from piase_gym.benchmarks.course_summary import main

    with pytest.raises(SystemExit):
        main([str(tmp_path), "--out", str(tmp_path / "x.json")])
    assert "there is no run" in capsys.readouterr().err


def test_the_page_tells_what_was_measured_of_speak_up() -> None:
    found = json.loads((ROOT / "benchmarks" / "measured" / "speak_up.json").read_text("utf-8"))
    page = (ROOT / "docs" / "curricula.md").read_text("utf-8")
    assert found["curriculum"]["sha256"] == curricula.load("speak_up").sha256
    assert found["outcome"] == "finished"
    assert all(row["completed_at"] for row in found["steps"])
    assert found["command"] in page
    for number in (found["env_steps"], found["steps"][6]["completed_at"]):
        assert f"{number:,}" in page
    assert f"{100 * found['tested']['won']['9']:.1f} %" in page
