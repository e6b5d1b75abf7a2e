"""The runner of the evidence on curricula does what its plan says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym import curricula
from piase_gym.benchmarks.studies.evidence import train
from piase_gym.benchmarks.studies.jobs import read_lines
from piase_gym.curricula.directors import Randomisation
from piase_gym.errors import ConfigError, StorageError
from piase_gym.training.curriculum_evaluation import play_slots
from piase_gym.training.curriculum_run import PPO, import_ppo, make_curriculum_env
from tests.paths import DOCS, ROOT

WHOLE = (DOCS / "evidence_curricula.md").read_text("utf-8")
PAGE, RESULTS = WHOLE.split("## Results\n")


def test_the_runner_does_what_the_page_says() -> None:
    scale = train.Scale()
    assert f"{scale.steps:,} environment steps for each training" in PAGE
    assert scale.steps >= 500_000
    assert f"{scale.num_envs} environments, {scale.num_steps} steps between" in PAGE
    assert f"minibatches of {PPO['minibatch']}, {PPO['epochs']} epochs" in PAGE
    assert (len(scale.held_out), scale.held_out.start) == (200, 2_000_000)
    assert "200 held-out seeds 2,000,000 to 2,000,199" in PAGE
    told = re.findall(r"^\| `(\w+)` \|", PAGE, re.M)
    assert told == [*train.ARMS, *train.TARGETS]
    every = train.jobs(scale)
    assert len(every) == 150
    assert len({job.key for job in every}) == 150
    assert {job.seed for job in every[:15]} == {0}
    defaults = import_ppo().Settings()
    assert f"learning rate {defaults.learning_rate}" in PAGE
    assert f"width {defaults.width}" in PAGE


def test_arms_play_the_steps_that_they_are_named_for() -> None:
    plan = curricula.load("door_key")
    assert isinstance(train.ARMS["target_only"](5), Randomisation)
    env = make_curriculum_env(plan, num_envs=4, director=train.ARMS["target_only"](5))
    env.reset(0)
    assert env.unwrapped.batch.states["width"].tolist() == [10] * 4
    env = make_curriculum_env(plan, num_envs=64, director=train.ARMS["uniform"](5))
    env.reset(0)
    assert set(env.unwrapped.batch.states["width"].tolist()) == {6, 8, 10}
    for arm in ("sequential", "dse"):
        env = make_curriculum_env(plan, num_envs=4, director=train.ARMS[arm](5))
        env.reset(0)
        assert env.unwrapped.batch.states["width"].tolist() == [6] * 4


def test_a_run_is_resumed_and_repeats_itself(tmp_path: Path) -> None:
    out = tmp_path / "lines.jsonl"
    words = ["--smoke", "--out", str(out), "--only", "dse/door_key", "--only", "uniform/quest"]
    train.main(words)
    first = out.read_text("utf-8").splitlines()
    assert len(first) == 2
    for line in map(json.loads, first):
        assert 256 <= line["steps"] <= 256 + 64
        assert line["success"] == np.mean([int(sign) for sign in line["won"]])
        assert len(line["won"]) == 4
    out.write_text(first[0] + "\n" + first[1][:100], "utf-8")  # broken off in mid-line
    train.main(words)
    again = out.read_text("utf-8").splitlines()
    assert again[0] == first[0]
    lines = [{**json.loads(x), "cpu_seconds": 0} for x in (first[1], again[1])]
    assert lines[0] == lines[1]


def test_who_does_nothing_wins_no_test_and_who_does_anything_some() -> None:
    import torch
    from torch.distributions import Categorical

    plan = curricula.load("text_quest")
    env = make_curriculum_env(plan, num_envs=2)
    config = env.env.controller.setup.config({"agent_0": 1})
    seeds = range(2_000_000, 2_000_012)

    def lazy(shown: torch.Tensor, masks: torch.Tensor) -> tuple[Categorical, None]:
        logits = torch.full(masks.shape, -1e9)
        logits[:, 0] = 0.0  # the first command changes nothing
        return Categorical(logits=logits), None

    def legal(shown: torch.Tensor, masks: torch.Tensor) -> tuple[Categorical, None]:
        return Categorical(logits=torch.where(masks > 0, 0.0, -1e9)), None

    assert not play_slots(lazy, config, seeds)[0].any()
    chance = play_slots(legal, config, seeds)[0]
    assert 0 < chance.sum() < len(seeds)


def test_the_command_goes_on_with_the_results_that_ship(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(train, "do_all", lambda *given: asked.append(given))
    train.main(["--only", "dse/rooms", "--workers", "1"])
    train.main(["--smoke", "--out", str(tmp_path / "x.jsonl")])
    (every, perform, out, told, workers, ray), (small, _, other, *_) = asked
    assert out.samefile(ROOT / "benchmarks" / "studies" / "measured" / "evidence_curricula.jsonl")
    assert {(job.arm, job.target) for job in every} == {("dse", "rooms")}
    assert (len(every), perform, workers, ray) == (10, train.perform, 1, None)
    assert other == tmp_path / "x.jsonl"
    assert small == train.jobs(train.SMOKE)
    line = {"arm": "dse", "target": "rooms", "seed": 3, "steps": 500_000, "success": 0.125}
    words = "dse on rooms, seed 3: 12.5% on held-out seeds, 500,000 steps, 88 CPU-seconds"
    assert told({**line, "cpu_seconds": {"training": 87.6}}) == words


def test_mistakes_are_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="did you mean 'uniform'"):
        train.choice("unifrom/rooms")
    with pytest.raises(ConfigError, match="ARM/TARGET"):
        train.choice("dse")
    with pytest.raises(SystemExit):
        train.main(["--smoke"])
    assert "--out" in capsys.readouterr().err
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{\n{}\n", "utf-8")
    with pytest.raises(StorageError, match="line 1"):
        read_lines(bad)
