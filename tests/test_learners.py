"""Every recipe of docs/learners.md runs, in a process of its own."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "learners.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^## (.*?)\n.*?```python\n(.*?)```", PAGE, re.M | re.S))
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


def missing(code: str) -> list[str]:
    """Return the libraries that a block imports and that are not installed."""
    names = set(re.findall(r"^(?:from|import) (\w+)", code, re.M))
    return sorted(name for name in names if importlib.util.find_spec(name) is None)


@pytest.mark.parametrize("title", RECIPES)
def test_recipes_run(title: str) -> None:
    lacking = missing(RECIPES[title])
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed")
    command = [sys.executable, "-c", RECIPES[title]]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr


def test_every_block_has_a_section_of_its_own() -> None:
    assert list(RECIPES.values()) == BLOCKS
