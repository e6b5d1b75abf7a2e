"""Studies are jobs like all others: side by side, on a cluster, and not done again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from piase_gym.benchmarks.studies import sample_efficiency
from piase_gym.benchmarks.studies.jobs import errors_told
from piase_gym.errors import ConfigError, StoppedError

RUN = {"won": [1.0, 0.0], "values": [1.0], "cpu_seconds": 1.0}
FIRST, SECOND = sample_efficiency.LEARNERS


@pytest.mark.parametrize(
    ("error", "status"), [(StoppedError("stopped: 1 of 2"), 130), (ConfigError("no such"), 2)]
)
def test_a_study_ends_with_a_sentence(
    capsys: pytest.CaptureFixture[str], error: Exception, status: int
) -> None:
    with pytest.raises(SystemExit) as ended, errors_told(argparse.ArgumentParser()):
        raise error
    assert ended.value.code == status
    assert str(error) in capsys.readouterr().err


def test_runs_are_kept_as_they_end_and_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, asked = tmp_path / "runs.json", list[tuple[str, int]]()

    def measure(learner: str, seed: int) -> dict[str, Any]:
        asked.append((learner, seed))
        if asked == [(FIRST, 0), (SECOND, 0)]:
            raise ZeroDivisionError("lost my way")
        return {"learner": learner, "seed": seed, **RUN}

    monkeypatch.setattr(sample_efficiency, "measure", measure)
    with pytest.raises(SystemExit) as ended:
        sample_efficiency.main(["--out", str(out), "--seeds", "2"])
    assert ended.value.code == 2
    assert "seed 0: ZeroDivisionError: lost my way" in capsys.readouterr().err
    assert len(asked) == 4  # one that fails does not keep the others from ending
    sample_efficiency.main(["--out", str(out), "--seeds", "2"])
    assert asked[4:] == [(SECOND, 0)]
    runs = json.loads(out.read_text("utf-8"))["runs"]
    assert [(run["seed"], run["learner"]) for run in runs] == sorted(
        (seed, learner) for seed in range(2) for learner in (FIRST, SECOND)
    )


def commands() -> list[Callable[..., None]]:
    """Return the commands of all studies that are many jobs, as functions of words."""
    pytest.importorskip("torch")
    from piase_gym.benchmarks.studies import curriculum_summary, solve
    from piase_gym.benchmarks.studies.dilemmas import train as dilemmas
    from piase_gym.benchmarks.studies.evidence import study, train

    def of_dilemmas(words: list[str]) -> None:
        dilemmas.main(["harvest", "--steps", "1", *words])

    def of_a_curriculum(words: list[str]) -> None:
        curriculum_summary.main(["speak_up", *words])

    return [
        sample_efficiency.main,
        study.main,
        train.main,
        of_dilemmas,
        of_a_curriculum,
        solve.main,
    ]


def test_every_study_asks_for_the_cluster_that_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, main in enumerate(commands()):
        with pytest.raises(SystemExit) as ended:
            main(["--ray", "127.0.0.1:1", "--out", str(tmp_path / f"{number}.jsonl")])
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert "there is no Ray cluster at 127.0.0.1:1" in said or "piase-gym[ray]" in said
