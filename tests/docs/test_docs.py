"""Every Python block of the README and the landing page runs; the generated pages are fresh."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym import registry
from piase_gym.core.events import OWN_KINDS
from piase_gym.play.session import play_oracle
from tests.helpers.needs import here
from tests.helpers.scripts import module_at
from tests.helpers.warm_python import run_python
from tests.paths import ROOT

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
LANDING = re.findall(r"```python\n(.*?)```", (ROOT / "docs/index.md").read_text("utf-8"), re.S)


@pytest.mark.parametrize("block", BLOCKS + LANDING, ids=range(len(BLOCKS + LANDING)))
def test_readme_blocks_run(block: str) -> None:
    if "stable_baselines3" in block:
        pytest.importorskip("stable_baselines3")
    warm = "with_torch" if "stable_baselines3" in block else "with_others"
    done = run_python("-c", block, warm=warm)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.stem)
def test_what_pages_show_is_python(page: Path) -> None:
    for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S):
        compile(block, page.name, "exec")


def test_the_readme_has_blocks_for_each_way_in() -> None:
    words = (
        "gymnasium.make",
        "pettingzoo.make",
        "PPO",
        'actions="text"',
        "parse_text",
        "snapshot",
        "CurriculumWrapper",
        "Simulation(",
    )
    for word in words:
        assert any(word in block for block in BLOCKS), word


SEEING = re.findall(
    r"## (.*?)\n.*?```python\n(.*?)```", (ROOT / "docs/seeing.md").read_text("utf-8"), re.S
)


@pytest.mark.parametrize(("title", "block"), SEEING, ids=[title for title, _ in SEEING])
def test_what_is_drawn_and_filmed(title: str, block: str, tmp_path: Path) -> None:
    for name in ("PIL", "moviepy", "stable_baselines3"):
        pytest.importorskip(name)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env, warm = {**os.environ, "PYTHONPATH": path}, "with_torch"
    done = run_python("-c", block, cwd=tmp_path, env=env, warm=warm)
    assert done.returncode == 0, done.stderr
    suffix = ".png" if title == "One picture" else ".mp4"
    made = [file for file in tmp_path.rglob("*") if file.suffix == suffix]
    assert made
    assert all(file.stat().st_size > 1000 for file in made)


def test_films_are_small_and_shown() -> None:
    films = sorted(path.name for path in (ROOT / "docs" / "images").glob("*.gif"))
    pages = [(ROOT / page).read_text("utf-8") for page in ("README.md", "docs/index.md")]
    assert len(films) == 8
    for film in films:
        assert (ROOT / "docs" / "images" / film).stat().st_size < 300_000
        assert all(f"images/{film}" in page for page in pages)


def make_pages() -> Any:
    """Return the module that writes the generated pages."""
    return module_at(ROOT / "docs" / "make_pages.py")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "worlds").glob("*.md")), ids=lambda path: path.stem
)
def test_pages_of_worlds_are_fresh(path: Path) -> None:
    names = [path.stem, *piase_gym.list_tasks(path.stem)]
    if here(names) != names:
        pytest.skip("its docstring stands beside its imports, or an id cannot be made")
    assert path.read_text("utf-8") == make_pages().page(path.stem), "run python docs/make_pages.py"


def test_generated_parts_of_the_readme_are_fresh() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert text == make_pages().readme(text), "run python docs/make_pages.py"


def test_the_page_about_fields_of_files_is_fresh() -> None:
    text = (ROOT / "docs" / "file_fields.md").read_text("utf-8")
    assert text == make_pages().formats(), "run python docs/make_pages.py"


def test_pages_of_worlds_show_how_they_read() -> None:
    rows = [registry.world_spec(name) for name in piase_gym.list_worlds()]
    own = [row for row in rows if row.world.startswith("piase_gym.") and row.outside is None]
    assert len(own) == 8
    for name in (row.name for row in own):
        page = (ROOT / "docs" / "worlds" / f"{name}.md").read_text("utf-8")
        prompt, _, played = page.partition("## In words")[2].partition(" observations in a row")
        assert f"You are agent_0 in {name} (version " in prompt
        assert played.partition("## ")[0].count("\nLast step: ") >= 2


def test_who_reads_the_words_alone_needs_few_more_steps_than_who_knows_all() -> None:
    pytest.importorskip("pybullet")
    words = make_pages().beside("transcripts")
    page = (ROOT / "docs" / "transcripts.md").read_text("utf-8")
    assert page == words.page(), "run python docs/make_pages.py"
    most = {"LostKey": 1.3, "Quest-Medium": 1.5, "Quest-Hard": 1.5, "DoorKey-8x8": 1.1}
    episodes = [*words.TRANSCRIPTS.values(), *words.OTHERS]
    played = [episode.world[:-3].partition("-")[2] for episode in episodes]
    assert {*played} == {*most, "Push", "Medium"}
    for name, episode in zip(played, episodes, strict=True):
        env = piase_gym.gym_env(episode.world, view="text", actions="text")
        env.reset(seed=episode.seed)
        lines = episode.lines.split("|")
        for line in lines:
            *_, info = env.step(line)
        assert info["result"] == "won", episode.world
        best = play_oracle(env, episode.seed)
        assert best is not None
        limit = most[name] * best.steps if name in most else 25
        assert len(lines) <= limit, episode.world


def test_the_contract_names_every_kind_of_event() -> None:
    page = (ROOT / "docs" / "contract.md").read_text("utf-8").split("## Events")[1]
    told = set(re.findall(r"`(\w+)`", page.split("Kinds:")[1].split("`subscribe")[0]))
    assert told == OWN_KINDS
