"""Counts: whole numbers of any kind, NumPy's too; booleans are none."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import BaseEnv, runs
from piase_gym.benchmarks.evaluation.protocol import split_seeds
from piase_gym.curricula import DevelopmentalCurriculum
from piase_gym.curricula.options import CurriculumOptions
from piase_gym.curricula.parallel import ParallelCurricula
from piase_gym.errors import ConfigError, require_count, whole_number
from piase_gym.memory.embedders import CachedEmbedder, HashedEmbedder
from piase_gym.runs import recording
from piase_gym.runs.options import Options
from piase_gym.simulation.exploration import Exploration
from piase_gym.wrappers import AddMemory, AvtLogger

NONE = [True, np.True_, 1.0, np.float64(1), "1", None, [1], np.array([1]), np.array(True)]


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), np.array(3)])
def test_integers_of_any_kind_are_whole_numbers(value: Any) -> None:
    assert whole_number(value) == 3
    assert type(whole_number(value)) is int
    assert require_count("n is a number", value, 3) == 3


@pytest.mark.parametrize("value", NONE, ids=repr)
def test_others_are_none(value: Any) -> None:
    """No warning comes either, as NumPy before 2.3 gives of its booleans."""
    assert whole_number(value) is None
    with pytest.raises(ConfigError, match="n is a number, not "):
        require_count("n is a number", value, 0)


def log(path: Path, every: Any) -> bytes:
    """Return the log of a short run."""
    env = piase_gym.parallel_env("GridWorld", width=5, height=5)
    logger = AvtLogger(env, path, run_id="the run", snapshot_every=every, digest_every=every)
    logger.reset(seed=0)
    for _ in range(5):
        logger.step({"agent_0": 1})
    logger.close()
    return path.read_bytes()


def test_logs_take_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*given: Any) -> Options:
        return dataclasses.replace(Options(*given), clock=itertools.count().__next__, epoch=0)

    monkeypatch.setattr(recording, "Options", made)
    logs = [log(tmp_path / f"{every!r}.jsonl", every) for every in (2, np.int64(2))]
    assert logs[0] == logs[1]
    assert logs[0].count(b'"kind":"snapshot"') == 3  # after steps 2 and 4, and the last


def test_forks_take_them(tmp_path: Path) -> None:
    log(tmp_path / "run.jsonl", 100)
    reports = [
        runs.fork(
            tmp_path / "run.jsonl",
            kind(2),
            actions={"agent_0": 2},
            policies={"agent_0": "noop"},
            pairs=kind(2),
            steps=kind(1),
            slot=kind(0),
        )
        for kind in (int, np.int64)
    ]
    assert str(reports[0]) == str(reports[1])
    assert reports[0].branches[0][0].length == 1


@pytest.mark.parametrize(
    ("count", "told"),
    [
        ({"at": -1}, "a run is cut after a step, 0 or more, not -1"),
        ({"at": True}, "0 or more, not True"),
        ({"at": 1.0}, r"0 or more, not 1\.0"),
        ({"pairs": 0}, "pairs must be a positive number, not 0"),
        ({"pairs": True}, "pairs must be a positive number, not True"),
        ({"pairs": 2.0}, r"pairs must be a positive number, not 2\.0"),
        ({"steps": 0}, "steps must be a positive number, not 0"),
    ],
)
def test_forks_refuse_others(count: dict[str, Any], told: str, tmp_path: Path) -> None:
    log(tmp_path / "run.jsonl", 100)
    with pytest.raises(ConfigError, match=told):
        runs.fork(tmp_path / "run.jsonl", **{"at": 2, "actions": {"agent_0": 2}, **count})


@pytest.mark.parametrize(
    "make",
    [
        lambda n: AddMemory(piase_gym.parallel_env("GridWorld"), k=n).k,
        lambda n: CurriculumOptions(plan(), ("agent_0",), lag=n).lag,
        lambda n: ParallelCurricula("GridWorld", plan(), slots=n, workers=0 * n).num_envs,
        lambda n: BaseEnv("GridWorld", num_attempts=n).num_attempts,
        lambda n: HashedEmbedder(n).size,
        lambda n: CachedEmbedder(kept=n).kept,
        lambda n: Exploration(steps=n)._steps or 0,
        lambda n: len(split_seeds("dev", n)),
    ],
    ids=["AddMemory", "lag", "slots", "attempts", "size", "kept", "steps", "episodes"],
)
def test_others_take_them(make: Callable[[Any], int]) -> None:
    found = make(np.int64(2))
    assert found == 2
    assert type(found) is int
    with pytest.raises(ConfigError, match=r", not (np\.)?True"):
        make(np.True_)


def plan() -> DevelopmentalCurriculum:
    """Return a curriculum of one step."""
    return DevelopmentalCurriculum.model_validate(
        {"name": "c", "steps": [{"order": 1, "name": "a"}]}
    )
