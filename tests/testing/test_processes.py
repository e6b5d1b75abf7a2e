"""What the kit asks of other processes."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from piase_gym.testing import processes, run_env_checks
from piase_gym.testing.kit import Fault
from tests.testing import faulty_envs as zoo


class Meadow(zoo.Meadow):
    """An environment that does in other processes what a variable says."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        fate = os.environ.get("MEADOW", "")
        if fate == "late":
            time.sleep(60.0)
        elif fate == "dead":
            os._exit(7)
        elif fate == "loud":
            sys.stdout.write("not an answer\n")


def verdict() -> str:
    return run_env_checks(Meadow, checks=["other_processes_agree"]).findings[0].verdict


def request(**recipe: Any) -> dict[str, Any]:
    made = {"make": f"{__name__}:Meadow", "modules": (), **recipe}
    folder = str(Path.cwd())
    parts = {"path": [folder, *sys.path], "folder": folder, "own": "piase_gym"}
    return {"recipe": made, "questions": {"record": None}, **parts}


def waiting() -> list[int]:
    return sorted(server.pid for servers in processes._IDLE.values() for server in servers)


def test_processes_are_started_once() -> None:
    assert verdict().endswith("in 3 processes")
    before = waiting()
    assert len(before) >= 2
    assert verdict().endswith("in 3 processes")
    assert waiting() == before


def test_each_subject_is_asked_in_a_fresh_process_as_things_are_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = "import os\nfrom tests.testing.faulty_envs import Meadow\n"
    for count in ("1", "2"):
        folder = tmp_path / count
        folder.mkdir()
        expected = f"assert os.environ['COUNT'] == '{count}'\n"
        (folder / "fresh_meadow.py").write_text(source + expected)
        monkeypatch.setenv("COUNT", count)
        asked = {**request(make="fresh_meadow:Meadow"), "path": [str(folder), *sys.path]}
        (record,) = processes._ask_one(asked, "1").values()
        assert isinstance(record, list)


def test_what_a_subject_prints_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEADOW", "loud")
    assert verdict().endswith("in 3 processes")


def test_a_process_that_does_not_answer_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEADOW", "late")
    monkeypatch.setattr(processes, "TIMEOUT", 3.0)
    with pytest.raises(Fault, match=r"^another process did not answer within 3 seconds$"):
        processes._ask_one(request(), "1")
    monkeypatch.undo()
    assert verdict().endswith("in 3 processes")


def test_a_process_that_is_gone_is_a_fault_and_the_next_is_asked() -> None:
    assert verdict().endswith("in 3 processes")
    (server,) = processes._IDLE[os.getpid(), "1"]
    server.kill()
    server.wait()
    with pytest.raises(Fault, match=r"^another process ended without an answer$"):
        processes._ask_one(request(), "1")
    assert verdict().endswith("in 3 processes")
    assert server not in processes._IDLE[os.getpid(), "1"]


@pytest.mark.skipif(not processes.FORKS, reason="a system without forks")
def test_a_fork_of_this_process_leaves_its_processes_alone() -> None:
    assert verdict().endswith("in 3 processes")
    before = waiting()
    child = os.fork()
    if not child:
        processes._stop_all()
        os._exit(0 if verdict().endswith("in 3 processes") and waiting() != before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert verdict().endswith("in 3 processes")
    assert waiting() == before


@pytest.mark.parametrize(
    ("recipe", "fate", "words"),
    [
        ({}, "dead", "its exit status is 7"),
        ({"modules": ("no_such_module",)}, "", "ModuleNotFoundError: No module named 'no_such"),
    ],
)
def test_a_process_that_breaks_tells_why(
    monkeypatch: pytest.MonkeyPatch, recipe: dict[str, Any], fate: str, words: str
) -> None:
    monkeypatch.setenv("MEADOW", fate)
    with pytest.raises(Fault, match=f"^another process could not make it: {words}"):
        processes._ask_one(request(**recipe), "4242")
    monkeypatch.undo()
    assert verdict().endswith("in 3 processes")


def test_processes_differ_in_their_hashes() -> None:
    verdict()
    servers = {seed: processes._IDLE[os.getpid(), seed][0].pid for seed in processes.HASH_SEEDS}
    for seed, pid in servers.items():
        given = Path(f"/proc/{pid}/environ")
        if given.exists():
            assert f"PYTHONHASHSEED={seed}".encode() in given.read_bytes().split(b"\0")
