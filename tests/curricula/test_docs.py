"""The pages on curricula: examples run, the complaint is real, tables are whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from piase_gym import curricula
from piase_gym.curricula import CurriculumStep, DevelopmentalCurriculum
from piase_gym.curricula.actions import WORDS
from piase_gym.curricula.lint import lint
from piase_gym.errors import CurriculumError
from tests.paths import DOCS

TEXT = (DOCS / "curricula.md").read_text("utf-8")
JSON = re.findall(r"```json\n(.*?)```", TEXT, re.S)


@pytest.mark.parametrize("page", ["curricula.md", "following_curricula.md", "teachers.md"])
def test_python_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.S):
        exec(compile(block, page, "exec"), names)
    assert (tmp_path / "run.jsonl").exists() or page != "following_curricula.md"
    capsys.readouterr()


@pytest.mark.parametrize("block", JSON)
def test_curricula_on_the_page_are_sound(block: str, tmp_path: Path) -> None:
    path = tmp_path / "corner.json"
    path.write_text(block)
    made = curricula.load(path)
    assert [finding for finding in lint(made) if finding.level != "note"] == []
    for _, config in made.configs():
        config.fixed_envelope()


def test_the_complaint_on_the_page_is_real(tmp_path: Path) -> None:
    path = tmp_path / "corner.json"
    path.write_text(JSON[0].replace("&& lately", "&& latly"))
    shown = re.search(r"corner\.json:\d+:\d+: .*(?= \.\.\.)", TEXT)
    assert shown
    with pytest.raises(CurriculumError) as caught:
        curricula.load(path)
    assert shown.group() in str(caught.value)


def test_every_field_decision_and_name_is_on_the_page() -> None:
    fields = {*CurriculumStep.model_fields, *DevelopmentalCurriculum.model_fields}
    assert [name for name in fields if f"`{name}`" not in TEXT] == []
    assert [word for word in WORDS if f"`{word}`" not in TEXT] == []
    assert [name for name in curricula.names() if f"| `{name}` |" not in TEXT] == []
