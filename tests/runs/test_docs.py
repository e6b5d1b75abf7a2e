"""Every Python block of the page on runs runs, one after the other; so do the examples in code."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from piase_gym.runs import metrics, recording
from tests.paths import ROOT

TEXT = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")


def test_blocks_run(tmp_path: Path) -> None:
    for library in ("duckdb", "pyarrow", "pandas"):
        pytest.importorskip(library)
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        command = [sys.executable, "-W", "error", "-c", block]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_every_metric_is_on_the_page() -> None:
    assert [name for name in metrics.METRICS if f"`{name}`" not in TEXT] == []


@pytest.mark.parametrize("module", [metrics, recording])
def test_examples_in_code(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed
