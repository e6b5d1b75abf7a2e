"""The examples in the pages on scenarios and simulations are played as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from piase_gym import Simulation, scenarios
from tests.paths import DOCS


def blocks(language: str) -> list[tuple[str, str]]:
    pages = ("scenarios.md", "simulation.md")
    pattern = rf"```{language}\n(.*?)```"
    found = [(page, re.findall(pattern, (DOCS / page).read_text("utf-8"), re.S)) for page in pages]
    return [(page, block) for page, texts in found for block in texts]


@pytest.mark.parametrize(("page", "block"), blocks("python"))
def test_python_runs(page: str, block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, page, "exec"), {"__name__": page})
    capsys.readouterr()


@pytest.mark.parametrize(("page", "block"), blocks("yaml"))
def test_scenarios_are_won(page: str, block: str, tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(block, "utf-8")
    assert scenarios.load(path).warnings == ()
    assert Simulation(path, "oracle", seed=0).run().won


def test_the_complaint_on_the_page_is_real(tmp_path: Path) -> None:
    _, block = blocks("yaml")[0]
    path = tmp_path / "my_story.yaml"
    path.write_text(block.replace('{ east: "yard" }', '{ east: "yrad" }'), "utf-8")
    shown = re.search(r"my_story\.yaml:\d+:\d+: .*(?= \.\.\.)", (DOCS / "scenarios.md").read_text())
    assert shown
    with pytest.raises(Exception, match=re.escape(shown.group())):
        scenarios.load(path)


def test_the_library_is_on_the_page() -> None:
    text = (DOCS / "scenarios.md").read_text("utf-8")
    assert all(f"| `{name}` |" in text for name in scenarios.names())
