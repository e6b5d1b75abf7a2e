"""The folder of a studio: what is found in it, and that nothing outside of it is touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import piase_gym
from piase_gym import curricula, scenarios
from piase_gym.curricula.learning_path import PROGRESS
from piase_gym.errors import ConfigError, StorageError
from piase_gym.studio import workspace
from piase_gym.studio.workspace import Kind, Workspace
from piase_gym.wrappers import AvtLogger

CURRICULUM = '{"name": "One step", "steps": [{"order": 1, "name": "Walk"}]}'
SCENARIO = (
    "scenario_name: Mine\nenvironment_type: GridWorld\ninitial_state: {width: 5, height: 5}\n"
)


def put(folder: Path, name: str, text: str = "", age: int = 0) -> Path:
    """Write a file that was changed some seconds ago."""
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, "utf-8")
    os.utime(place, (1e9 - age, 1e9 - age))
    return place


def log(place: Path, age: int = 0) -> None:
    """Write a short log."""
    env = AvtLogger(piase_gym.parallel_env("GridWorld"), place)
    env.reset(seed=0)
    env.close()
    os.utime(place, (1e9 - age, 1e9 - age))


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../other.yaml", "a/../../other.json", "/etc/hostname", "a\0b.json"]
)
def test_nothing_outside_is_read_or_written(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    put(tmp_path, "other.yaml", SCENARIO)
    workspace = Workspace(folder)
    kinds: tuple[Kind, ...] = ("curriculum", "scenario")
    with pytest.raises(ConfigError, match=r"only what is in it|is no path"):
        workspace.path(name)
    for kind in kinds:
        with pytest.raises(ConfigError, match=r"only what is in it|is no path"):
            workspace.text(kind, name)
    with pytest.raises(ConfigError):
        workspace.save(name, "text")


def test_a_link_leads_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    put(tmp_path, "secret.yaml", SCENARIO)
    (folder / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    workspace = Workspace(folder)
    with pytest.raises(ConfigError, match="only what is in it"):
        workspace.text("scenario", "link.yaml")
    assert [source for source in workspace.sources("scenario") if not source.ships] == []


def test_logs_are_listed_newest_first(tmp_path: Path) -> None:
    for number, name in enumerate(("b.jsonl", "deep/a.jsonl.gz", "c.jsonl")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        log(tmp_path / name, age=number)
    put(tmp_path, "path.jsonl", '{"steps": 3}\n')
    put(tmp_path, "empty.jsonl")
    (tmp_path / ".hidden").mkdir()
    log(tmp_path / ".hidden" / "d.jsonl")
    found = Workspace(tmp_path).runs()
    assert [name for name, _ in found] == ["b.jsonl", "deep/a.jsonl.gz", "c.jsonl"]
    assert {run.manifest["world"] for _, run in found} == {"GridWorld"}


def test_trainings_are_the_folders_with_progress(tmp_path: Path) -> None:
    put(tmp_path, f"runs/one/{PROGRESS}", "{}", age=5)
    put(tmp_path, f"runs/two/{PROGRESS}", "{}")
    put(tmp_path, "runs/other/settings.json", "{}")
    assert Workspace(tmp_path).trainings() == ["runs/two", "runs/one"]


def test_policies_that_were_trained_are_named_as_they_are_loaded(tmp_path: Path) -> None:
    put(tmp_path, "runs/one/policy.pt", age=1)
    put(tmp_path, "runs/two of them/policy.zip")
    mine = Workspace(tmp_path)
    assert mine.policies() == ["ppo:runs/two of them/policy.zip", "ppo:runs/one/policy.pt"]
    assert mine.policy("sb3:runs/one/policy.pt") == f"sb3:{tmp_path}/runs/one/policy.pt"
    for name in ("oracle", "ppo:", "ppo:runs", f"ppo:{tmp_path}/none", f"llm:{'x' * 5000}", "a:\0"):
        assert mine.policy(name) == name


def test_curricula_and_scenarios_are_told_apart(tmp_path: Path) -> None:
    put(tmp_path, "own.json", CURRICULUM)
    put(tmp_path, "room.yaml", SCENARIO)
    put(tmp_path, "package.json", '{"name": "steps"}')
    put(tmp_path, "list.json", '[{"name": 1, "steps": []}]')
    put(tmp_path, "other.yaml", "scenario_name: {{")
    put(tmp_path, "broken.yaml", "environment_type: {{", age=10)
    put(tmp_path, "broken.json", '{"steps": [{"completion_criteria": [', age=10)
    put(tmp_path, "wrong.yml", "scenario_name: Wrong\nenvironment_type: Nowhere\n", age=9)
    workspace = Workspace(tmp_path)
    own = [source for source in workspace.sources("curriculum") if not source.ships]
    assert [(s.name, s.title, s.world) for s in own] == [
        ("own.json", "One step", "any"),
        ("broken.json", "broken", "?"),
    ]
    rooms = [source for source in workspace.sources("scenario") if not source.ships]
    assert [(s.name, s.title, s.world) for s in rooms] == [
        ("room.yaml", "Mine", "GridWorld"),
        ("wrong.yml", "wrong", "?"),
        ("broken.yaml", "broken", "?"),
    ]
    assert "Nowhere" in rooms[1].about


def test_what_ships_is_listed_and_read(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    shipped = [source.name for source in workspace.sources("curriculum")]
    assert shipped == list(curricula.names())
    made = curricula.loads(workspace.text("curriculum", "door_key"))
    assert made.name == curricula.load("door_key").name
    assert [source.name for source in workspace.sources("scenario")] == list(scenarios.names())
    assert scenarios.loads(workspace.text("scenario", "lost_key")).title == "The Lost Key"


def test_a_text_is_saved_once_unless_it_may_be_overwritten(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.save("deep/own.json", CURRICULUM) == tmp_path / "deep" / "own.json"
    with pytest.raises(StorageError, match="exists"):
        workspace.save("deep/own.json", "{}")
    assert workspace.text("curriculum", "deep/own.json") == CURRICULUM
    workspace.save("deep/own.json", "{}", overwrite=True)
    assert json.loads(workspace.text("curriculum", "deep/own.json")) == {}
    with pytest.raises(ConfigError, match="ends with"):
        workspace.save("own.py", CURRICULUM)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    put(tmp_path, "latin.yaml").write_bytes(b"scenario_name: \xe9")
    for name in ("latin.yaml", "missing.yaml"):
        with pytest.raises(StorageError, match=f"{name} cannot be read"):
            Workspace(tmp_path).text("scenario", name)


def test_files_that_cannot_be_reached_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "own.json", CURRICULUM)
    put(tmp_path, "locked.json", CURRICULUM)
    lstat = Path.lstat

    def stat(place: Path, **options: object) -> os.stat_result:
        if place.name == "locked.json":  # as in a folder whose files may not be looked at
            raise PermissionError(13, "Permission denied")
        return lstat(place)

    monkeypatch.setattr(Path, "lstat", stat)
    monkeypatch.setattr(Path, "is_symlink", lambda place: stat(place) is None)
    found = Workspace(tmp_path).sources("curriculum")
    assert [source.name for source in found if not source.ships] == ["own.json"]


def test_of_many_files_those_that_changed_last_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age, name in enumerate(("d", "a", "c", "b")):
        put(tmp_path, f"{name}/{PROGRESS}", "{}", age=age)
    monkeypatch.setattr(workspace, "MOST_FILES", 2)
    assert Workspace(tmp_path).trainings() == ["d", "a"]


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "large.json", CURRICULUM)
    monkeypatch.setattr(workspace, "MOST_BYTES", len(CURRICULUM) - 1)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("it was read"))
    found = Workspace(tmp_path).sources("curriculum")
    assert [source for source in found if not source.ships] == []
