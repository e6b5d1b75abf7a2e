"""Collected episodes are what the environments give, however many workers wrote them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.collection import COLUMNS, collect, read_manifest
from piase_gym.collection import folder as folders
from piase_gym.collection import shard as shards
from piase_gym.errors import (
    ConfigError,
    JobError,
    MissingExtraError,
    PiaseError,
    StorageError,
    UnknownNameError,
    UnsupportedError,
)
from piase_gym.jobs import InProcess
from tests import probes
from tests.helpers.cli_runner import piase
from tests.paths import ROOT

parquet = pytest.importorskip("pyarrow.parquet")
duckdb = pytest.importorskip("duckdb")

probes.register()
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


@pytest.mark.parametrize("task", [QUEST, "piase/SqlQuery-Easy-v3"])
def test_texts_are_those_that_the_actions_answer(task: str, tmp_path: Path) -> None:
    collect(task, tmp_path, steps=40, num_envs=2, keep="text", policy="oracle")
    rows = rows_of(tmp_path)
    assert set(rows[0]) == set(COLUMNS)
    env = piase_gym.parallel_env(task, view="text", actions="text")
    for (_, seed), episode in episodes_of(rows).items():
        shown, _ = env.reset(seed=seed)
        for row in episode:
            assert shown[row["agent"]] == row["text"]
            command = env.world.command(0, row["action"])  # the oracle answers in commands
            assert env.world.write(command) == row["command"]
            shown, rewards, *_ = env.step({row["agent"]: row["command"]})
            assert rewards[row["agent"]] == row["reward"]


@pytest.mark.parametrize("keep", ["actions", "observations"])
def test_files_do_not_depend_on_the_workers(tmp_path: Path, keep: str) -> None:
    one = collect(TEAM, tmp_path / "one", **SMALL, keep=keep)
    two = collect(TEAM, tmp_path / "two", **SMALL, keep=keep, workers=2)
    assert one == two
    for shard in one["shards"]:
        [name] = shard["files"]
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_columns_of_actions_are_played_again(tmp_path: Path) -> None:
    manifest = collect(TEAM, tmp_path, **SMALL, keep="actions")
    for shard in manifest["shards"]:
        report = runs.replay(tmp_path / next(iter(shard["files"])))
        assert report.ok
        assert report.steps == 4 * 20


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    whole = collect(TEAM, tmp_path, **SMALL)
    path = tmp_path / "shard-00001.parquet"
    before, kept = path.read_bytes(), (tmp_path / "shard-00002.parquet").stat().st_mtime_ns
    path.write_bytes(before[:-7])
    with pytest.raises(StorageError, match=r"shard-00001.parquet has .* bytes; its manifest says"):
        read_manifest(tmp_path)
    made: list[Any] = []
    again = collect(TEAM, tmp_path, **SMALL, progress=lambda o, *of: made.append((o.name, *of)))
    assert made == [(f"shard 1 of {TEAM}", 1, 1)]
    journal = tmp_path / "shards.jsonl"
    rows = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(rows[0] + b'{"shard": 0}\n{"shard": 1, "files": 2}\n' + b"".join(rows[3:]))
    assert collect(TEAM, tmp_path, **SMALL) == whole
    assert again == whole == read_manifest(tmp_path)
    manifest = tmp_path / "manifest.json"
    for content, told in (("{", "cannot be read"), ("[]", "is no manifest"), ("{}", "of format")):
        manifest.write_text(content)
        with pytest.raises(StorageError, match=told):
            read_manifest(tmp_path)
    assert path.read_bytes() == before
    assert (tmp_path / "shard-00002.parquet").stat().st_mtime_ns == kept
    assert {p.name for p in tmp_path.iterdir()} == {
        "manifest.json",
        "shards.jsonl",
        *(name for shard in whole["shards"] for name in shard["files"]),
    }


def test_the_documented_queries_read_them(tmp_path: Path) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "scale.md").read_text("utf-8")
    block = "import duckdb" + page.split("```python\nimport duckdb")[1].split("```")[0]
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
        ({"num_envs": 10**12}, ConfigError),
        ({"keep": "everything"}, ConfigError),
        ({"format": "csv"}, ConfigError),
        ({"format": "minari", "keep": "text"}, ConfigError),
        ({"format": "minari", "keep": "actions"}, ConfigError),
        ({"seed": -1}, ConfigError),
        ({"shards": 2, "seed": (1 << 63) - 100}, ConfigError),  # the last ones would be too large
        ({"config": [3]}, ConfigError),
        (
            {"format": "minari", "config": {"agents": 2, "agent_ids": ["a.b", "a_b"]}},
            ConfigError,
        ),
        ({"others": ["random"]}, ConfigError),
        ({"policy": "nobody"}, UnknownNameError),
        ({"others": {"agent_9": "random"}}, ConfigError),
        ({"config": {"agentz": 2}}, PiaseError),
        ({"task": "piase/GridWorld-Emty-v1"}, PiaseError),
        ({"task": 5}, ConfigError),
        ({"task": "probe/Text-v0", "policy": "scripted"}, UnsupportedError),
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


def test_without_its_extra_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"collecting episodes.*piase-gym\[data\]"):
        collect(TEAM, tmp_path / "out", **SMALL)
    assert not (tmp_path / "out").exists()


def test_another_call_does_not_write_into_the_same_folder(tmp_path: Path) -> None:
    collect(TEAM, tmp_path, **SMALL)
    before = json.loads((tmp_path / "manifest.json").read_text())
    with pytest.raises(ConfigError, match="holds episodes of another call"):
        collect(TEAM, tmp_path, **{**SMALL, "steps": 480})
    assert read_manifest(tmp_path) == before


def test_a_policy_that_fails_leaves_no_half_shard(tmp_path: Path) -> None:
    from tests.benchmarks import bench_policies as own

    told = r"shard 0 of .*lost my way; 3 of 3 jobs failed; the same command tries them again"
    with pytest.raises(JobError, match=told):
        collect(TEAM, tmp_path, **{**SMALL, "steps": 4800}, policy=own.raises)
    assert not (tmp_path / "manifest.json").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_datasets_of_agents_with_dots_can_be_read(tmp_path: Path) -> None:
    minari = pytest.importorskip("minari.dataset.minari_storage")
    config = {"agents": 2, "agent_ids": ["a.b", "c"]}
    collect(TEAM, tmp_path, **{**SMALL, "shards": 1, "config": config}, format="minari")
    folder = tmp_path / "shard-00000"
    assert sorted(path.name for path in folder.iterdir()) == ["a_b-v0", "c-v0"]
    metadata = minari.MinariStorage.read(folder / "a_b-v0/data").metadata
    assert metadata["dataset_id"] == "shard-00000/a_b-v0"


def test_a_seed_may_be_of_numpy(tmp_path: Path) -> None:
    seed: Any = np.int64(5)
    found = collect(TEAM, tmp_path / "numpy", **SMALL, seed=seed)
    assert found == collect(TEAM, tmp_path / "own", **SMALL, seed=5)


def test_counts_may_be_of_numpy(tmp_path: Path) -> None:
    numbers: Any = {name: np.int64(SMALL[name]) for name in ("steps", "num_envs", "shards")}
    same = collect(TEAM, tmp_path / "numpy", **{**SMALL, **numbers})
    assert same == collect(TEAM, tmp_path / "own", **SMALL)
    for name, wrong in (("steps", 0), ("num_envs", True), ("shards", 1.0), ("steps", "9")):
        with pytest.raises(ConfigError, match=f"{name} is a positive integer, not {wrong!r}"):
            collect(TEAM, tmp_path / "c", **{**SMALL, name: wrong})


def test_workers_and_logs_are_left_where_something_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched(InProcess):
        def close(self) -> None:
            closed.append(True)

    def fail(*_: Any) -> Any:
        raise RuntimeError("no way")

    def keep(*args: Any) -> Any:
        logs.append(columns_of(*args))
        return logs[-1]

    closed, logs, columns_of = list[bool](), list[Any](), shards._columns_of
    monkeypatch.setattr(folders, "choose_backend", lambda *_, **__: Watched())
    with pytest.raises(RuntimeError, match="no way") as caught:
        collect(TEAM, tmp_path / "a", **SMALL, progress=fail)
    assert closed  # while the error is still known
    del caught
    monkeypatch.setattr(shards, "_columns_of", keep)
    monkeypatch.setattr(shards, "_steps", fail)
    with pytest.raises(JobError, match="no way"):
        collect(TEAM, tmp_path / "b", **SMALL, keep="actions")
    assert logs
    assert all(log.closed and log.env._closed for log in logs)


@pytest.mark.parametrize("kind", [{}, {"keep": "actions"}, {"format": "minari"}])
def test_what_is_half_written_is_in_nobodys_way(tmp_path: Path, kind: dict[str, str]) -> None:
    if kind.get("format") == "minari":
        pytest.importorskip("minari")
    code = (
        "import os, sys; import piase_gym.collection.shard as module\n"
        "module.digest_json = lambda *_: os.kill(os.getpid(), 9)\n"  # all is played, none is whole
        "from piase_gym.collection import collect\n"
        f"collect({TEAM!r}, sys.argv[1], **{SMALL | kind})"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=False)
    assert killed.returncode == -9
    [left] = tmp_path.glob(".driver-*")
    assert list(left.rglob("*shard-00000*"))
    assert {path.name for path in tmp_path.iterdir()} == {left.name, "shards.jsonl"}
    other = tmp_path / f".driver-{platform.node()}-{os.getpid()}-another"
    other.mkdir()
    manifest = collect(TEAM, tmp_path, **SMALL, **kind)
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    named = {name for shard in manifest["shards"] for name in shard["files"]}
    assert {name for name in found if name.startswith(".")} == {other.name}  # of one that lives
    assert named <= found


# -- as datasets of episodes --------------------------------------------------------------


def datasets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the datasets of a folder by their ids, as Minari itself finds and reads them."""
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    return {name: minari.load_dataset(name) for name in minari.list_local_datasets()}


def test_datasets_have_the_episodes_that_tables_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"agents": 2, "max_steps": 11, "start_pos": [(0, 0), (2, 2)], "goal_pos": (1, 0)}
    call = {**SMALL, "config": config}
    collect(TEAM, tmp_path / "tables", **call)
    collect(TEAM, tmp_path / "sets", **call, format="minari")
    found = datasets(tmp_path / "sets", monkeypatch)
    assert set(found) == {f"shard-0000{k}/agent_{a}-v0" for k in range(3) for a in range(2)}
    env = piase_gym.parallel_env(TEAM, view="vector", **config)
    ends = set()
    for k in range(3):
        table = episodes_of(rows_of(tmp_path / "tables", k))
        for agent in ("agent_0", "agent_1"):
            dataset = found[f"shard-0000{k}/{agent}-v0"]
            space = env.observation_space(agent)
            assert dataset.observation_space == space
            assert dataset.action_space == env.action_space(agent)
            for told in dataset.iterate_episodes():
                [seed] = dataset.storage.get_episode_metadata([told.id])
                [own] = [
                    [row for row in rows if row["agent"] == agent]
                    for (_, one), rows in table.items()
                    if one == seed["seed"]
                ]
                assert told.actions.tolist() == [row["action"] for row in own]
                assert told.rewards.tolist() == [row["reward"] for row in own]
                assert told.terminations.tolist() == [row["terminated"] for row in own]
                cut = [row["truncated"] for row in own]
                cut[-1] |= not own[-1]["terminated"]  # the shard ended before the episode
                assert told.truncations.tolist() == cut
                shown, _ = env.reset(seed=seed["seed"])
                np.testing.assert_array_equal(told.observations[0], shown[agent])
                for step, row in enumerate(own):
                    np.testing.assert_array_equal(told.observations[step], row["observation"])
                ends.add((told.terminations[-1], told.truncations[-1]))
            assert dataset.total_steps == sum(
                row["agent"] == agent for rows in table.values() for row in rows
            )
    assert ends == {(True, False), (False, True)}


def test_datasets_end_with_what_was_seen_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect(TEAM, tmp_path, **SMALL, format="minari")
    env = piase_gym.parallel_env(TEAM, view="vector", **SMALL["config"])
    seen = 0
    for dataset in datasets(tmp_path, monkeypatch).values():
        for told in dataset.iterate_episodes():
            [at] = dataset.storage.get_episode_metadata([told.id])
            env.reset(seed=at["seed"])
            for action, after in zip(told.actions, told.observations[1:], strict=True):
                shown, *_ = env.step({"agent_0": int(action)})
                np.testing.assert_array_equal(shown["agent_0"], after)
                seen += 1
    assert seen == SMALL["steps"]


def test_datasets_of_worlds_that_are_stepped_singly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect(QUEST, tmp_path, steps=40, num_envs=2, policy="oracle", format="minari")
    env = piase_gym.parallel_env(QUEST, view="vector")
    [(name, dataset)] = datasets(tmp_path, monkeypatch).items()
    assert name == "shard-00000/agent_0-v0"
    assert dataset.total_steps == 40
    for told in dataset.iterate_episodes():
        [at] = dataset.storage.get_episode_metadata([told.id])
        shown, _ = env.reset(seed=at["seed"])
        for number, action in enumerate(told.actions):
            np.testing.assert_array_equal(shown["agent_0"], told.observations[number])
            shown, rewards, terminated, *_ = env.step({"agent_0": int(action)})
            assert rewards["agent_0"] == told.rewards[number]
            assert terminated["agent_0"] == told.terminations[number]
        np.testing.assert_array_equal(shown["agent_0"], told.observations[-1])


def test_datasets_do_not_depend_on_workers_or_on_when_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from piase_gym.runs.minari_episodes import Datasets

    pytest.importorskip("minari")
    one = collect(TEAM, tmp_path / "one", **SMALL, format="minari")
    two = collect(TEAM, tmp_path / "two", **SMALL, format="minari", workers=2)
    assert one == two
    data = "shard-00001/agent_0-v0/data/main_data.hdf5"
    assert (tmp_path / "one" / data).read_bytes() == (tmp_path / "two" / data).read_bytes()
    before = (tmp_path / "two" / data).read_bytes()
    (tmp_path / "two" / data).write_bytes(before[:-7])
    again = collect(TEAM, tmp_path / "two", **SMALL, format="minari")
    assert again == one
    monkeypatch.setattr(Datasets, "WAITING", 1)
    collect(TEAM, tmp_path / "three", **SMALL, format="minari")
    ours, theirs = (
        [
            (told.id, told.actions.tolist(), told.rewards.tolist(), told.observations.tolist())
            for told in dataset.iterate_episodes()
        ]
        for folder in ("one", "three")
        for name, dataset in datasets(tmp_path / folder, monkeypatch).items()
        if name == "shard-00002/agent_0-v0"
    )
    assert ours == theirs


@pytest.mark.parametrize(
    ("kind", "few", "many"), [({}, 30_000, 120_000), ({"format": "minari"}, 80_000, 160_000)]
)
def test_memory_does_not_grow_with_the_steps(kind: dict[str, str], few: int, many: int) -> None:
    from piase_gym.benchmarks.speed.scale import peak_memory

    if kind:
        pytest.importorskip("minari")
    less, more = (peak_memory(steps, kind, 1 << 18, 16) for steps in (few, many))
    kept = (many - few) * 100  # bytes, if nothing but observations and their steps were kept
    assert more - less < kept / 2


def test_the_command_counts_shards(tmp_path: Path) -> None:
    words = ["--steps", "240", "--num-envs", "4", "--shards", "3", "--keep", "actions"]
    for _ in range(2):
        done = piase("collect", TEAM, "--out", str(tmp_path), *words)
        assert done.returncode == 0, done.stderr
        told = [line for line in done.stdout.splitlines() if " of " in line]
        assert told == [f"{n} of 3 shards: shard {n - 1} of {TEAM}" for n in (1, 2, 3)][: len(told)]
        assert "240 steps" in done.stdout
    assert not told  # all are there
