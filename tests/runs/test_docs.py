"""Every Python block of the page on runs runs, one after the other; so do the examples in code."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from piase_gym.runs import metrics, recording
from tests.paths import ROOT

TEXT = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")


def test_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("duckdb", "pyarrow", "pandas"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        exec(compile(block, "runs.md", "exec"), {"__name__": "runs.md"})


def test_every_metric_is_on_the_page() -> None:
    assert [name for name in metrics.METRICS if f"`{name}`" not in TEXT] == []


@pytest.mark.parametrize("module", [metrics, recording])
def test_examples_in_code(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed
