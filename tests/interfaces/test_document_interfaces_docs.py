"""Every Python block of the page on the document interfaces runs, and its table names every env."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.paths import DOCS

PAGE = DOCS / "document_interfaces.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.S)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_blocks_run(block: str) -> None:
    command = [sys.executable, "-W", "error", "-c", block]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "face",
    "Environment AbstractEnvironment EnvironmentInterface PerceptionInterface BaseEnv".split(),
)
def test_every_face_has_an_example(face: str) -> None:
    assert f"| `{face}` |" in TEXT
    assert any(f"{face}(" in block for block in BLOCKS)
