"""The commands that measure: what they read, print and store."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from piase_gym.benchmarks.speed import commands
from piase_gym.benchmarks.speed.shown import Section, Table
from piase_gym.errors import ConfigError
from tests.paths import ROOT

FILES = [path for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__"]


@pytest.mark.parametrize("name", sorted(path.stem for path in FILES))
def test_a_command_measures_only_where_it_is_run(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(commands, "run", asked.append)
    module = f"piase_gym.benchmarks.{name}"
    runpy.run_module(module, run_name="imported")
    assert asked == []
    runpy.run_module(module, run_name="__main__")
    (found,) = asked
    assert (ROOT / "benchmarks" / "speed" / f"{found}.py").is_file()


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A command that tells what it was given."""
    made: Any = ModuleType("piase_gym.benchmarks.speed.made_up", "Measures nothing.\n\nReally.")

    def measure_all(steps: int = 3, share: float = 0.5, name: str | None = None) -> Any:
        return {"steps": steps, "share": share, "name": name}

    def sections(found: Any) -> dict[str, Section]:
        words = [f"the share is {found['share']}", "the " + "long " * 40 + "end"]
        return {"one": Section([Table([("a", "b"), ("1", str(found["steps"]))], "T")], words)}

    made.measure_all, made.sections = measure_all, sections
    made.OPTIONS = {"steps": "How many.", "share": "Of what.", "name": "Whose."}
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], {"steps": 3, "share": 0.5, "name": None}),
        (["--steps", "7", "--share", "0.25"], {"steps": 7, "share": 0.25, "name": None}),
        (["--name", "12"], {"steps": 3, "share": 0.5, "name": "12"}),
    ],
)
@pytest.mark.parametrize("usual", [False, True])
def test_what_is_measured_is_printed_and_stored(
    words: list[str],
    found: Any,
    usual: bool,
    module: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "found.json"
    if usual:
        module.OUT = out
    monkeypatch.setattr(sys, "argv", ["made_up", *words])
    monkeypatch.setenv("COLUMNS", "80")
    commands.run("made_up")
    told = capsys.readouterr().out
    assert f"the share is {found['share']}\n" in told
    assert f"the {'long ' * 40}end\n" in told
    assert (f"stored in {out}\n" in told) == out.exists() == usual
    if usual:
        assert json.loads(out.read_text("utf-8")) == found
        module.FILE = out
        (text,) = commands.stored_sections("made_up").values()
        assert text == module.sections(found)["one"].markdown()


def test_another_file_can_be_named(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module.OUT = tmp_path / "usual.json"
    monkeypatch.setattr(sys, "argv", ["made_up", "--out", str(tmp_path / "other.json")])
    commands.run("made_up")
    assert [path.name for path in tmp_path.iterdir()] == ["other.json"]


def test_what_cannot_be_measured_is_said_in_a_sentence(
    module: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure_all(steps: int = 3, share: float = 0.5, name: str | None = None) -> Any:
        raise ConfigError(f"there is no part {name!r}")

    module.measure_all = measure_all
    monkeypatch.setattr(sys, "argv", ["made_up", "--name", "jbos"])
    with pytest.raises(SystemExit) as ended:
        commands.run("made_up")
    assert ended.value.code == 2
    assert "made_up: error: there is no part 'jbos'\n" in capsys.readouterr().err


def test_sections_are_tables_then_words() -> None:
    tables = [Table([("a", "b"), ("1", "2")], "First"), Table([("c",), ("3",)])]
    first, second = "| a | b |\n| --- | --- |\n| 1 | 2 |\n", "| c |\n| --- |\n| 3 |\n"
    text = Section(tables, ["Words.", "More."]).markdown()
    assert text == f"**First**\n\n{first}\n{second}\nWords.\n\nMore.\n"
    assert Section().markdown() == ""
