"""The benchmarks' measuring, and the comparison with peers."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import piase_gym
from piase_gym.benchmarks.speed import peer_worker, peers, text_room, throughput
from piase_gym.benchmarks.speed.peers import Peer
from piase_gym.benchmarks.speed.timing import Row
from piase_gym.compiled.stepping import NEXT_STEP
from piase_gym.errors import ConfigError


def test_a_worker_answers_with_steps_a_second_of_all_agents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([10.0, 10.0, 10.2, 10.5, 10.5, 20.0, 20.0, 21.0, 21.0])
    done, answers = list[int](), io.StringIO()
    monkeypatch.setattr(peer_worker, "start", lambda *of: ((done.append, 4, 30), f"ready {of}"))
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    monkeypatch.setattr(os, "dup", lambda place: place)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(os, "fdopen", lambda *_: answers)
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(sys, "argv", ["worker", "name", "16"])
    monkeypatch.setattr(sys, "stdin", io.StringIO("0.5\n1\n"))
    peer_worker.main()
    told = answers.getvalue().splitlines()
    assert told[0] == "ready ('name', 16)"
    assert list(map(float, told[1:])) == [60 * 4 / 0.5, 30 * 4 / 1.0]
    assert done == [30] * 3


NOBODY = Peer("Nobody's suite", "nobody", "nobody, 1 environment")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look in this interpreter only, and measure small batches of ours."""
    monkeypatch.setenv("PIASE_PEERS_PYTHON", sys.executable)
    monkeypatch.setattr(peers, "ENVS", (4,))


def worker(tmp_path: Path, code: str) -> Path:
    """A worker script of one's own."""
    path = tmp_path / "worker.py"
    path.write_text(code, "utf-8")
    return path


@pytest.mark.usefixtures("small")
def test_peers_that_are_not_installed_are_named() -> None:
    report = peers.compare(rounds=1, seconds=0.001, peers=(NOBODY,))
    assert report["missing"] == ["Nobody's suite"]
    assert [row["name"] for row in report["table"]["rates"]] == [
        "GridWorld, gymnasium.make",
        "GridWorld, make_vec, 4 environments",
        "GridWorld, batch_env, 4 environments",
    ]
    assert all(row["rate"] > 0 for row in report["table"]["rates"])
    told = throughput.peer_words(report)
    assert told == "No peer took part. Not installed, so not measured: Nobody's suite."


@pytest.mark.usefixtures("small")
def test_a_peer_is_asked_and_compared(tmp_path: Path) -> None:
    code = "import sys\nprint('ready 1.2', flush=True)\nfor _ in sys.stdin: print(50.0, flush=True)"
    peer = Peer("Steady", "steady", "Steady, 1", worker=worker(tmp_path, code))
    report = peers.compare(rounds=1, seconds=0.001, peers=(peer, NOBODY))
    assert report["missing"] == ["Nobody's suite"]
    assert report["peers"] == {"Steady, 1": "Steady 1.2"}
    first, ours, *_ = report["table"]["rates"]
    assert first == {"name": "Steady, 1", "rate": 50.0, "ratios": {"Steady, 1": 1.0}}
    assert ours["ratios"]["Steady, 1"] == ours["rate"] / 50.0


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('failed RuntimeError: no licence')", "RuntimeError: no licence"),
        ("import sys; sys.exit(3)", "it ended without a word"),
        ("print('ready 1')", "it died while it was measured"),
        ("import os; print('ready 1', flush=True); input(); os.kill(os.getpid(), 9)", "it died"),
    ],
)
def test_a_peer_that_fails_is_told_and_the_rest_is_measured(
    tmp_path: Path, code: str, why: str
) -> None:
    peer = Peer("Broken", "broken", "Broken, 1", worker=worker(tmp_path, code))
    report = peers.compare(rounds=1, seconds=0.001, peers=(peer,))
    assert why in report["failed"]["Broken, 1"]
    assert report["missing"] == []
    assert len(report["table"]["rates"]) == 3


def test_several_interpreters_are_looked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIASE_PEERS_PYTHON", f"{sys.executable}{os.pathsep}{sys.executable}")
    assert peers.interpreters() == (sys.executable, sys.executable)
    monkeypatch.delenv("PIASE_PEERS_PYTHON")
    monkeypatch.chdir(tmp_path)
    assert peers.interpreters() == (sys.executable,)
    python = tmp_path / ".venv-peers" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert peers.interpreters() == (".venv-peers/bin/python", sys.executable)


def test_the_worker_knows_every_peer() -> None:
    listed = {peer.key for peer in (*peers.SAME_TASK, *peers.FIELD)}
    assert listed == set(peer_worker.MAKERS)
    names = {peer.name for peer in (*peers.SAME_TASK, *peers.FIELD)}
    assert {"MiniGrid", "EnvPool", "mpe2", "LBF", "RWARE", "TextWorld", "panda-gym"} <= names
    assert {"gymnax", "Jumanji", "XLand-MiniGrid", "JaxMARL"} <= names


def test_peers_are_missing_or_answer() -> None:
    """Those that this interpreter has do steps; the others say that they are not there."""
    for peer in (*peers.SAME_TASK, *peers.FIELD):
        with peers.open_in(sys.executable, peer) as found:
            if found.timer is None:
                assert (found.state, "is not installed" in found.words) == ("missing", True)
            else:
                assert found.timer(0.01) > 0


def test_an_interpreter_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIASE_PEERS_PYTHON", "/no/such/python")
    with pytest.raises(ConfigError, match="PIASE_PEERS_PYTHON: /no/such/python cannot be started"):
        peers.compare()


def test_tables_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        throughput, "measure", lambda rows, *_, **__: {row.name: 1.0 for row in rows}
    )
    monkeypatch.setattr(throughput.c_kernel, "available", lambda: False)
    monkeypatch.setattr(throughput, "BATCHES", (4,))
    monkeypatch.setattr(throughput, "task_row", lambda name, *_, **__: Row(name, 1, print))
    parallel, batch, rules, dilemmas = throughput.tables()
    for table in (parallel, batch, rules, dilemmas):
        assert table["rates"][0]["name"] == "no-op ParallelEnv, 8 agents"
    assert [row["name"] for row in batch["rates"][1:]] == [
        "GridWorld's kernel, 4 environments",
        "batch_env, 4 environments",
    ]
    assert throughput.EVERYTHING in rules["rates"][-1]["name"]
    assert [row["name"] for row in dilemmas["rates"][1:]] == [
        "batch_env, prisoners_dilemma",
        "batch_env, harvest",
        "batch_env, cleanup",
    ]


def test_the_bare_kernel_does_what_the_batch_does() -> None:
    """The row without the env steps the same batch, so its states are those of the environment."""
    config = {"width": 5, "height": 5, "agents": 2}
    ours, bare = (piase_gym.batch_env("GridWorld", num_envs=3, **config) for _ in range(2))
    ours.reset(seed=0)
    bare.reset(seed=0)
    acts = np.array([[2, 1], [0, 3], [1, 1]], np.int32)
    for _ in range(30):
        ours.step(acts)
        assert bare.world.step_batch(bare.batch, NEXT_STEP, -1, acts.reshape(-1)) == 0
    assert ours.batch.states.tobytes() == bare.batch.states.tobytes()


def test_an_interpreter_for_textworld_that_cannot_be_started_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^/nowhere/python cannot be started: "):
        text_room.measure_all("/nowhere/python")
