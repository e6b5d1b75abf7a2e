"""Studies are jobs like all others: side by side, on a cluster, and not done again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from piase_gym.benchmarks.studies import physics_reach, sample_efficiency
from piase_gym.benchmarks.studies.jobs import read_lines, report_errors
from piase_gym.errors import ConfigError, StoppedError, StorageError, TrainingError

RUN = {"won": [1.0, 0.0], "values": [1.0], "cpu_seconds": 1.0}
FIRST, SECOND, THIRD = sample_efficiency.LEARNERS


@pytest.mark.parametrize(
    ("error", "status"), [(StoppedError("stopped: 1 of 2"), 130), (ConfigError("no such"), 2)]
)
def test_a_study_ends_with_a_sentence(
    capsys: pytest.CaptureFixture[str], error: Exception, status: int
) -> None:
    with pytest.raises(SystemExit) as ended, report_errors(argparse.ArgumentParser()):
        raise error
    assert ended.value.code == status
    assert str(error) in capsys.readouterr().err


def test_lines_that_are_whole_are_read_and_others_are_told(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    whole = '{"name":"one\u2028two"}\n'.encode()
    path.write_bytes(whole + '{"name":"é'.encode()[:-1])  # cut off within a letter
    assert read_lines(path) == [{"name": "one\u2028two"}]
    path.write_bytes(b"\xc3\n" + whole)
    with pytest.raises(StorageError, match="line 1 is damaged"):
        read_lines(path)
    with pytest.raises(StorageError, match="cannot be read: Is a directory"):
        read_lines(tmp_path)


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
    monkeypatch.delenv(sample_efficiency.CHECKOUT, raising=False)
    with pytest.raises(SystemExit) as ended:
        sample_efficiency.main(["--out", str(out), "--seeds", "2"])
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert "seed 0: ZeroDivisionError: lost my way" in said.err
    assert f"left out: {THIRD}; CLEANRL names no checkout" in said.out
    assert len(asked) == 4  # one that fails does not keep the others from ending
    sample_efficiency.main(["--out", str(out), "--seeds", "2"])
    assert asked[4:] == [(SECOND, 0)]
    runs = json.loads(out.read_text("utf-8"))["runs"]
    assert [(run["seed"], run["learner"]) for run in runs] == sorted(
        (seed, learner) for seed in range(2) for learner in (FIRST, SECOND)
    )


CLEANRL = """
import argparse
import gymnasium
import torch

parser = argparse.ArgumentParser()
for name in ("--env-id", "--total-timesteps", "--seed"):
    parser.add_argument(name)
parser.add_argument("--no-cuda", action="store_true")
options = parser.parse_args()
assert options.total_timesteps == "64", options
if __name__ == "__main__":
    env = gymnasium.make(options.env_id)
    env.reset(seed=int(options.seed))
    assert env.unwrapped.runner.admits is not None  # levels for training alone

    class Agent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.actor = torch.nn.Linear(env.observation_space.shape[0], int(env.action_space.n))
            torch.nn.init.zeros_(self.actor.weight)
            self.actor.bias.data = torch.tensor([90.0] + [0.0] * 5)  # north, always

    agent = Agent()
"""
"""What stands where CleanRL has its PPO; it takes the same arguments, and leaves the same name."""


def test_cleanrls_script_runs_as_it_is_where_a_checkout_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "cleanrl").mkdir()
    script = tmp_path / "cleanrl" / "ppo.py"
    script.write_text(CLEANRL)
    monkeypatch.setenv(sample_efficiency.CHECKOUT, str(tmp_path))
    monkeypatch.setattr(sample_efficiency, "BUDGET", 64)
    monkeypatch.setattr(sample_efficiency, "EPISODES", 3)
    assert sample_efficiency.learners() == [FIRST, SECOND, THIRD]
    found = sample_efficiency.measure(THIRD, 0)
    assert found["won"] == [0.0] * 3
    assert found["cpu_seconds"] > 0.5  # of the process that trained
    script.write_text("raise SystemExit('no tyro here')")
    with pytest.raises(TrainingError, match="no tyro here"):
        sample_efficiency.measure(THIRD, 0)


def commands() -> list[Callable[..., None]]:
    """Return the commands of all studies that are many jobs, as functions of words."""
    pytest.importorskip("torch")
    from piase_gym.benchmarks.studies import curriculum_summary, solve
    from piase_gym.benchmarks.studies.dilemmas import train as dilemmas
    from piase_gym.benchmarks.studies.evidence import study

    def of_dilemmas(words: list[str]) -> None:
        dilemmas.main(["harvest", "--steps", "1", *words])

    def of_a_curriculum(words: list[str]) -> None:
        curriculum_summary.main(["speak_up", *words])

    return [
        sample_efficiency.main,
        study.main,
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


def test_a_policy_is_judged_on_seeds_of_the_dev_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Episodes of 3, 4 and 5 steps, of which the second is lost by time."""
    seeds, closed = [], []

    class Timed:
        def reset(self, seed: int) -> tuple[int, dict[str, Any]]:
            seeds.append(seed)
            self.left = 2 + len(seeds)
            return self.left, {}

        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
            assert action == self.left > 0  # it acts on what it is shown, until the end
            self.left -= 1
            lost = len(seeds) == 2
            over = self.left == 0
            return self.left, 0.0, over and not lost, over and lost, {
                "result": ("lost" if lost else "won") if over else ""
            }  # fmt: skip

        def close(self) -> None:
            closed.append(True)

    class Policy:
        def predict(self, observation: int, deterministic: bool) -> tuple[int, None]:
            assert deterministic
            return observation, None

    monkeypatch.setattr(physics_reach.gymnasium, "make", lambda *args, **options: Timed())
    assert physics_reach.judge(Policy(), 3) == (2 / 3, 4.0)
    assert (seeds, closed) == ([1_000_000, 1_000_001, 1_000_002], [True])


def test_what_is_shown_of_sample_efficiency_is_over_runs(tmp_path: Path) -> None:
    out, runs = tmp_path / "runs.json", []
    assert sample_efficiency.stored_sections(out) == {"samples": "Not measured yet.\n"}
    for seed, share in enumerate((0.2, 0.6)):
        won = [1.0] * int(10 * share) + [0.0] * (10 - int(10 * share))
        values = [10.0 * one for one in won]
        run = {"learner": SECOND, "seed": seed, "won": won, "values": values}
        runs.append({**run, "cpu_seconds": 3.0 + 4.0 * seed})
    out.write_text(json.dumps({"task": "a task", "runs": runs}), "utf-8")
    head, _, row = sample_efficiency.stored_sections(out)["samples"].splitlines()
    assert head == "| `a task` | runs | held-out levels won | return | CPU-seconds a run |"
    cells = row.strip("| ").split(" | ")
    assert cells[:2] == [SECOND, "2"]
    assert cells[2].startswith("40.0% (")
    assert cells[3].startswith("4.0 (")
    assert cells[4] == "5"
    low, high = (float(end.rstrip("%)")) for end in cells[2].partition("(")[2].split(" to "))
    assert low < 20.0 < 60.0 < high  # wider than either run
