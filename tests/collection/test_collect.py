"""Collected episodes are what the environments give, however many workers wrote them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.collection import COLUMNS, collect, read_manifest
from piase_gym.errors import (
    ConfigError,
    JobError,
    PiaseError,
    StorageError,
    UnknownNameError,
    UnsupportedError,
)

parquet = pytest.importorskip("pyarrow.parquet")
duckdb = pytest.importorskip("duckdb")

TEAM = "piase/GridWorld-Empty-5x5-v1"
QUEST = "piase/TextRoom-Quest-Easy-v3"
SMALL: dict[str, Any] = {"steps": 240, "num_envs": 4, "shards": 3, "config": {"max_steps": 11}}


def rows_of(folder: Path, number: int = 0) -> list[dict[str, Any]]:
    """Return the rows of a shard."""
    found: list[dict[str, Any]] = parquet.read_table(
        folder / f"shard-{number:05d}.parquet"
    ).to_pylist()
    return found


def episodes_of(rows: list[dict[str, Any]]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return rows by environment and seed."""
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["env"], row["seed"]), []).append(row)
    return found


def test_rows_are_what_a_parallel_env_gives_for_their_seeds_and_actions(tmp_path: Path) -> None:
    config = {"agents": 2, "max_steps": 11}
    collect(TEAM, tmp_path, **{**SMALL, "config": config})
    episodes = episodes_of(rows_of(tmp_path, 1))
    assert len(episodes) >= 8
    assert {seed for _, seed in list(episodes)} >= {4, 5, 6, 7}  # of the second shard
    env = piase_gym.parallel_env(TEAM, view="vector", **config)
    for (_, seed), rows in episodes.items():
        shown, _ = env.reset(seed=seed)
        for step in range(rows[-1]["step"] + 1):
            own = {row["agent"]: row for row in rows if row["step"] == step}
            assert set(own) == set(env.agents)
            for agent, row in own.items():
                np.testing.assert_array_equal(shown[agent], row["observation"])
            given = {agent: row["action"] for agent, row in own.items()}
            shown, rewards, terminated, truncated, _ = env.step(given)
            for agent, row in own.items():
                told = (row["reward"], row["terminated"], row["truncated"])
                assert told == (rewards[agent], terminated[agent], truncated[agent])


def test_batches_and_single_environments_write_the_same(tmp_path: Path) -> None:
    for keep in ("observations", "text"):
        collect(TEAM, tmp_path / keep, **SMALL, keep=keep)
    batch, single = (rows_of(tmp_path / keep, 2) for keep in ("observations", "text"))
    for row in single:
        assert row.pop("text")
        assert row.pop("command")
    by_place = lambda row: (row["env"], row["seed"], row["step"], row["agent"])  # noqa: E731
    assert sorted(batch, key=by_place) == sorted(single, key=by_place)


def test_texts_are_those_that_the_actions_answer(tmp_path: Path) -> None:
    collect(QUEST, tmp_path, steps=40, num_envs=2, keep="text", policy="oracle")
    rows = rows_of(tmp_path)
    assert set(rows[0]) == set(COLUMNS)
    env = piase_gym.parallel_env(QUEST, view="text", actions="text")
    for (_, seed), episode in episodes_of(rows).items():
        shown, _ = env.reset(seed=seed)
        for row in episode:
            assert shown[row["agent"]] == row["text"]
            shown, rewards, *_ = env.step({row["agent"]: row["command"]})
            assert rewards[row["agent"]] == row["reward"]


@pytest.mark.parametrize("keep", ["actions", "observations"])
def test_files_do_not_depend_on_the_workers(tmp_path: Path, keep: str) -> None:
    one = collect(TEAM, tmp_path / "one", **SMALL, keep=keep)
    two = collect(TEAM, tmp_path / "two", **SMALL, keep=keep, workers=2)
    assert one == two
    for shard in one["shards"]:
        name = shard["file"]
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_columns_of_actions_are_played_again(tmp_path: Path) -> None:
    manifest = collect(TEAM, tmp_path, **SMALL, keep="actions")
    for shard in manifest["shards"]:
        report = runs.replay(tmp_path / shard["file"])
        assert report.ok
        assert report.steps == 4 * 20


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    whole = collect(TEAM, tmp_path, **SMALL)
    path = tmp_path / "shard-00001.parquet"
    before, kept = path.read_bytes(), (tmp_path / "shard-00002.parquet").stat().st_mtime_ns
    path.write_bytes(before[:-7])
    with pytest.raises(StorageError, match=r"shard-00001.parquet has .* bytes; its manifest says"):
        read_manifest(tmp_path)
    made: list[str] = []
    again = collect(TEAM, tmp_path, **SMALL, progress=lambda o, *_: made.append(o.name))
    assert made == [f"shard 1 of {TEAM}"]
    assert again == whole == read_manifest(tmp_path)
    assert path.read_bytes() == before
    assert (tmp_path / "shard-00002.parquet").stat().st_mtime_ns == kept
    assert {p.name for p in tmp_path.iterdir()} == {
        "manifest.json",
        "shards.jsonl",
        *(shard["file"] for shard in whole["shards"]),
    }


def test_the_documented_queries_read_them(tmp_path: Path) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "scale.md").read_text("utf-8")
    block = page.split("```python\n# read back\n")[1].split("```")[0]
    collect(TEAM, tmp_path / "episodes", **SMALL, policy="scripted")
    collect(TEAM, tmp_path / "columns", **SMALL, keep="actions")
    done = subprocess.run(
        [sys.executable, "-c", block + "print(won.fetchall()); print(used.fetchall())"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    won, used = map(eval, done.stdout.splitlines())
    rows = [row for number in range(3) for row in rows_of(tmp_path / "episodes", number)]
    ends = [row for row in rows if row["terminated"] or row["truncated"]]
    assert won == [("agent_0", len(ends), sum(row["terminated"] for row in ends))]
    assert sum(count for _, count in used) == 80  # of the first shard


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"steps": 0}, ConfigError),
        ({"shards": 1.5}, ConfigError),
        ({"num_envs": True}, ConfigError),
        ({"keep": "everything"}, ConfigError),
        ({"seed": -1}, ConfigError),
        ({"policy": "nobody"}, UnknownNameError),
        ({"others": {"agent_9": "random"}}, ConfigError),
        ({"config": {"agentz": 2}}, PiaseError),
        ({"task": "piase/GridWorld-Emty-v1"}, PiaseError),
        ({"task": QUEST, "policy": "scripted"}, UnsupportedError),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_written(
    tmp_path: Path, wrong: dict[str, Any], error: type[Exception]
) -> None:
    task = wrong.get("task", TEAM)
    given = {name: value for name, value in wrong.items() if name != "task"}
    with pytest.raises(error):
        collect(task, tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_another_call_does_not_write_into_the_same_folder(tmp_path: Path) -> None:
    collect(TEAM, tmp_path, **SMALL)
    before = json.loads((tmp_path / "manifest.json").read_text())
    with pytest.raises(ConfigError, match="holds episodes of another call"):
        collect(TEAM, tmp_path, **{**SMALL, "steps": 480})
    assert read_manifest(tmp_path) == before


def test_a_policy_that_fails_leaves_no_half_shard(tmp_path: Path) -> None:
    from tests.benchmarks import bench_policies as own

    with pytest.raises(JobError, match=r"shard \d of .*lost my way"):
        collect(TEAM, tmp_path, **{**SMALL, "steps": 4800}, policy=own.raises)
    assert not (tmp_path / "manifest.json").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
