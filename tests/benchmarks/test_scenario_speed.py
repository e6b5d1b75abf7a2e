"""How fast batches play with scripts is measured of all that can, and told as shares."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pybullet")


from piase_gym.benchmarks.speed import scenarios


def test_all_scripts_that_play_in_batches_were_measured() -> None:
    names = [name for name, _ in scenarios.scripted()]
    assert {"the_truce", "side_effects", "the_drought"} <= set(names)
    assert not {"the_ferryman", "two_cells", "lost_key", "side_by_side"} & set(names)
    stored = json.loads(scenarios.FILE.read_text("utf-8"))["scenarios"]
    assert sorted(stored) == sorted(names)
    for sizes in stored.values():
        assert sorted(map(int, sizes)) == list(scenarios.BATCHES)


def test_rates_are_measured_and_told_as_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenarios, "BATCHES", (8,))
    found = [entry for entry in scenarios.scripted() if entry[0] == "the_truce"]
    monkeypatch.setattr(scenarios, "scripted", lambda: iter(found))
    measured = json.loads(json.dumps(scenarios.measure_all(rounds=1, seconds=0.01)))
    rates = measured["scenarios"]["the_truce"]["8"]
    assert 0 < rates["with"] < rates["without"]
    rates["with"], rates["without"] = 30.0, 200.0
    assert "| `the_truce` | 0.15 |" in scenarios.sections(measured)["batches"].markdown()
