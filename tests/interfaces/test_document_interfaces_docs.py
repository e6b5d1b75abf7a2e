"""Every Python block of the page on the document interfaces runs, and its table names every env."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from piase_gym.interfaces import AbstractEnvironment, BaseEnv, Environment, PerceptionInterface
from piase_gym.worlds.own.faults import Reason
from tests.helpers.warm_python import run_python
from tests.paths import DOCS, ROOT

PAGE = DOCS / "document_interfaces.md"
TEXT = PAGE.read_text(encoding="utf-8")
OWN = (DOCS / "own_environments.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.S)
BLOCKS_OF_OWN = re.findall(r"```python\n(.*?)```", OWN, re.S)


@pytest.mark.parametrize("block", BLOCKS + BLOCKS_OF_OWN)
def test_blocks_run(block: str, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_python("-W", "error", "-c", block, cwd=tmp_path, env=env, warm="with_others")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "interface",
    "Environment AbstractEnvironment EnvironmentInterface PerceptionInterface BaseEnv".split(),
)
def test_every_interface_has_an_example(interface: str) -> None:
    assert f"| `{interface}` |" in TEXT
    assert any(f"{interface}(" in block for block in BLOCKS)


@pytest.mark.parametrize(
    "interface",
    [Environment, AbstractEnvironment, PerceptionInterface, BaseEnv],
    ids=lambda f: f.__name__,
)
def test_the_page_on_own_environments_lists_what_is_abstract(interface: type[Any]) -> None:
    (row,) = [line for line in OWN.splitlines() if line.startswith(f"| `{interface.__name__}` |")]
    needed = row.split("|")[3].split(";")[0]
    assert set(re.findall(r"`(\w+)`", needed)) == interface.__abstractmethods__


def test_the_page_on_own_environments_lists_every_reason() -> None:
    assert re.findall(r"^\| `(\w+)` \|", OWN.split("## When it fails")[1], re.M) == list(Reason)
