"""The page on teachers and its example: they name options that there are."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from piase_gym.curricula.directors import DIRECTORS, make_director
from piase_gym.registry import load
from piase_gym.scenarios.reading import read_file
from tests.paths import DOCS

TEXT = (DOCS / "teachers.md").read_text("utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (.*) \|$", TEXT.split("## By name")[0], re.M)


def test_the_file_is_a_director(tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)
    (tmp_path / "plr.yaml").write_text(block)
    director = make_director(read_file(tmp_path / "plr.yaml").data)
    assert (director.replay, director.robust) == (0.8, True)  # type: ignore[attr-defined]


def test_the_table_names_options_that_there_are() -> None:
    assert {name for name, _ in ROWS} <= set(DIRECTORS)
    assert len(ROWS) == 5
    for name, row in ROWS:
        known = set(inspect.signature(load(DIRECTORS[name])).parameters)
        # the extra of the installation and the value of an option are no options
        named = {word.split(":")[0] for word in re.findall(r"`(\w+(?:: \w+)?)`", row)} - {
            "teachers"
        }
        assert named <= known, name


def test_the_options_are_those_of_the_code() -> None:
    shown = TEXT.split("<!-- directors: options -->")[1].split("<!-- end -->")[0]
    parts = re.split(r"^\*\*`(\w+)`\*\*$", shown, flags=re.M)[1:]
    found = {
        name: re.findall(r"^\| `(\w+)` \| `(.*?)` \| (?:.+) \|$", part, re.M)
        for name, part in zip(parts[::2], parts[1::2], strict=True)
    }
    for name, where in DIRECTORS.items():
        options = inspect.signature(load(where)).parameters.values()
        assert found.pop(name, []) == [(o.name, repr(o.default)) for o in options], name
    assert found == {}


def test_the_example_shows_levels(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    from piase_gym.examples import level_replay

    level_replay.main(["--steps", "12000"])
    said = capsys.readouterr().out
    assert sum(int(n) for n in re.findall(r"(\d+) of the 100 levels", said)) == 100
    assert len(re.findall(r"seed \d+, step [123]: score \d", said)) == 5
