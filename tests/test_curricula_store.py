"""Progress in files: whole or not at all, and never lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from piase_gym.curricula import (
    AdaptationDecisionModule,
    AgentProgress,
    CurriculumManager,
    ProgressStore,
)
from piase_gym.errors import ProgressError, StorageError
from tests.curricula_helpers import Table, curriculum

MADE = curriculum({"max_attempts": 900}, {})


def tried(attempts: int, agent: str = "a") -> CurriculumManager:
    """Return a manager whose agent has tried the first step so often."""
    manager = CurriculumManager(MADE)
    manager.start(agent)
    try_again(manager, agent, attempts)
    return manager


def try_again(manager: CurriculumManager, agent: str, attempts: int) -> None:
    module = AdaptationDecisionModule(Table())
    for _ in range(attempts):
        attempt = manager.progress(agent).attempt
        manager.apply(module.decide(agent, MADE, MADE.steps[0], attempt, env_steps=7, episodes=1))


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "progress.json"
    store = ProgressStore(path)
    assert store.load({"a": MADE}) == {}
    manager = tried(3)
    store.save(manager.agent_progress)
    loaded = ProgressStore(path).load({"a": MADE})
    assert loaded == manager.agent_progress
    assert loaded["a"].env_steps == 21
    text = json.loads(path.read_bytes())
    assert text["agents"]["a"] == json.loads(json.dumps(manager.progress("a").as_json()))
    try_again(manager, "a", 2)
    store.save(manager.agent_progress)
    assert ProgressStore(path).load({"a": MADE})["a"].attempt == 6
    assert [entry.name for entry in path.parent.iterdir()] == ["progress.json"]


def test_other_agents_stay_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    ProgressStore(path).save(tried(1, "a").agent_progress)
    store = ProgressStore(path)
    assert store.load({"b": MADE}) == {}
    store.save(tried(2, "b").agent_progress)
    assert sorted(ProgressStore(path).read()) == ["a", "b"]


def test_a_file_that_was_not_read_or_has_changed_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    store = ProgressStore(path)
    store.save(tried(1).agent_progress)
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"was not read.* is in .*progress.json.1$"):
        ProgressStore(path).save(tried(5).agent_progress)
    assert path.read_bytes() == before
    assert ProgressStore(tmp_path / "progress.json.1").read()["a"].attempt == 6
    other = ProgressStore(path)
    other.load({"a": MADE})
    other.save(tried(2).agent_progress)
    with pytest.raises(StorageError, match=r"has changed.* is in .*progress.json.2$"):
        store.save(tried(9).agent_progress)
    assert ProgressStore(path).read()["a"].attempt == 3
    assert ProgressStore(tmp_path / "progress.json.2").read()["a"].attempt == 10


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not even JSON"),
        ('{"format": "piase_gym progress", "schema": 1, "agents": {"a"', "not even JSON"),
        ("[]", "no progress of agents"),
        ('{"name": "Corner"}', "no progress of agents"),
        ('{"format": "piase_gym progress", "schema": 2, "agents": {}}', "version 2; this"),
        ('{"format": "piase_gym progress", "schema": 1}', "there are no agents"),
        (
            '{"format": "piase_gym progress", "schema": 1, "agents": {"a": {"schema": 9}}}',
            "a: this",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_and_kept(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    path.write_text(text)
    store = ProgressStore(path)
    with pytest.raises(ProgressError, match=told) as caught:
        store.load({"a": MADE})
    assert str(path) in str(caught.value)
    with pytest.raises(StorageError, match="was not read"):
        store.save(tried(1).agent_progress)
    assert path.read_text() == text


def test_progress_in_another_curriculum_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    ProgressStore(path).save(tried(4).agent_progress)
    before = path.read_bytes()
    other = curriculum({}, {}, version="2.0")
    with pytest.raises(ProgressError, match=r"progress of a is in 'Test' version 1.0, and the"):
        ProgressStore(path).load({"a": other})
    assert path.read_bytes() == before
    assert ProgressStore(path).load({"b": other}) == {}


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = ProgressStore(tmp_path / "file" / "progress.json")
    with pytest.raises(ProgressError, match="cannot be read"):
        store.load({})
    (tmp_path / "progress.json").mkdir()
    with pytest.raises(ProgressError, match="cannot be read"):
        ProgressStore(tmp_path / "progress.json").load({})


def test_a_save_that_is_cut_short_leaves_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "progress.json"
    store = ProgressStore(path)
    manager = tried(1)
    store.save(manager.agent_progress)
    before = path.read_bytes()

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    try_again(manager, "a", 1)
    with pytest.raises(StorageError, match="No space left on device; what was there before"):
        store.save(manager.agent_progress)
    assert path.read_bytes() == before
    monkeypatch.undo()
    store.save(manager.agent_progress)
    assert ProgressStore(path).read()["a"].attempt == 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["progress.json"]


KILLED = """
import os, sys
from pathlib import Path
from tests.test_curricula_store import ProgressStore, tried, try_again
store, manager = ProgressStore(sys.argv[1]), tried(1)
store.load({})
while True:
    try_again(manager, "a", 1)
    store.save(manager.agent_progress)
    print(manager.progress("a").attempt, flush=True)
"""


def test_a_killed_run_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(20)]
        process.kill()
    assert ProgressStore(path).load({"a": MADE})["a"].attempt >= told[-1]


def test_bytes_are_the_same_for_the_same_progress(tmp_path: Path) -> None:
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path in paths:
        ProgressStore(path).save({**tried(2, "a").agent_progress, **tried(1, "b").agent_progress})
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert AgentProgress.from_json(tried(2).progress("a").as_json()) == tried(2).progress("a")
