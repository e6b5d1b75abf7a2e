"""The page on following curricula: its examples run, its tables are whole."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from piase_gym.curricula.automatic import DIRECTORS
from piase_gym.registry import load, world_spec

TEXT = (Path(__file__).parents[1] / "docs" / "following_curricula.md").read_text("utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.S)


def test_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "following_curricula.md"}
    for block in PYTHON:
        exec(compile(block, "following_curricula.md", "exec"), names)
    assert (tmp_path / "run.jsonl").exists()
    capsys.readouterr()


@pytest.mark.parametrize("world", ["GridWorld", "TextRoom", "PhysicsPlayground", "SocialDilemma"])
def test_the_tables_are_whole(world: str) -> None:
    if world == "PhysicsPlayground" and importlib.util.find_spec("pybullet") is None:
        pytest.skip("needs pybullet")
    spec = world_spec(world)
    kind = load(spec.world, spec)
    (row,) = re.findall(rf"^\| {world} \| (.*) \| (.*) \|$", TEXT, re.M)
    dials, elements = (re.findall(r"`(\w+)`", cell) for cell in row)
    assert dials == [dial.name for dial in kind.dials]
    assert elements == [element.name for element in kind.elements]


def test_every_director_is_named() -> None:
    assert [name for name in DIRECTORS if f'| `"{name}"` |' not in TEXT] == []
