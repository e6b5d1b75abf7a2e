"""docs/speed.md: what it tells is what was measured and stored, by the command that it names."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from piase_gym.benchmarks.speed import measure, throughput
from piase_gym.benchmarks.speed.timing import rate_table
from tests.paths import ROOT

PAGE = ROOT / "docs" / "speed.md"


def stored(name: str) -> Any:
    """Return a stored result."""
    return json.loads((ROOT / "benchmarks" / "measured" / name).read_text("utf-8"))


def test_outside_of_what_is_stored_the_page_has_no_measured_numbers() -> None:
    text = re.sub(r"<!-- speed: .*?<!-- end -->", "", PAGE.read_text("utf-8"), flags=re.S)
    assert not re.findall(r"\d[\d.,]* (?:times|ms|µs|million|M)\b|\d %|\bx \d", text)


def test_every_promised_ratio_is_stored() -> None:
    found = stored("speed.json")
    titles = [table["title"] for table in found["grid_world"]["tables"]]
    assert titles[0].startswith("GridWorld's ParallelEnv")
    for number, envs in enumerate(throughput.BATCHES, 1):
        assert f"{envs} environments" in titles[number]
    names = [row["name"] for table in found["grid_world"]["tables"] for row in table["rates"]]
    assert any(throughput.EVERYTHING in name for name in names)
    for table in found["grid_world"]["tables"]:
        for row in table["rates"]:
            for base, ratio in row["ratios"].items():
                (first,) = (r["rate"] for r in table["rates"] if r["name"] == base)
                assert ratio == pytest.approx(row["rate"] / first)


def table_of(title: str) -> dict[str, Any]:
    """A table of two rows."""
    return rate_table(title, {"a": 200.0, "b": 3e6})


def test_everything_is_measured_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts that compile kernels for minutes are stood in for; the others are real."""
    pytest.importorskip("pybullet")
    monkeypatch.setattr(throughput, "tables", lambda *_: iter([table_of("first"), table_of("2nd")]))
    report: dict[str, Any] = {"table": table_of("the same"), "missing": ["Nowhere"]}
    report |= {"failed": {"Broken": "no licence"}, "peers": {"b": "B 1"}}
    monkeypatch.setattr(throughput.peers, "compare", lambda *_: report)
    monkeypatch.setattr(measure.text_room, "textworld_python", lambda: None)
    monkeypatch.setattr(measure.text_room, "STEPS", 40)
    found = json.loads(json.dumps(measure.measure_all(1, 0.001, quests=2, cycles=1)))
    parts = {name: part.markdown() for name, part in measure.sections(found).items()}
    assert set(parts) == {"machine", "grid_world", "text_room", "physics"}
    assert "| b | 3,000,000 | 15,000 |" in parts["grid_world"]
    for words in ("B 1 took part", "Nowhere", "Broken failed: no licence"):
        assert words in parts["grid_world"]
    assert found["text_room"]["certified"]["won"] == 2
    assert "won 2 of 2 quests" in parts["text_room"]
    assert "TextWorld was not measured" in parts["text_room"]
    for cost in found["physics"]["costs"].values():
        assert cost > 0.0
        assert f"| {cost:.0f} |" in parts["physics"]
    assert found["machine"] in parts["machine"]
