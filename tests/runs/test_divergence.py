"""What a replay reports where lines differ."""

from __future__ import annotations

from typing import Any

from piase_gym.runs.divergence import MISSING, Divergence, ReplayReport, differences
from piase_gym.runs.log_file import Problem
from piase_gym.runs.seal import Seal


def test_differences_are_found_at_any_depth() -> None:
    logged = {"a": [1, {"b": 2}], "c": 1, "d": None, "e": True, "f": [1], "g": "same"}
    now = {"a": [1, {"b": 3}], "c": 1.0, "e": 1, "f": [1, 2], "g": "same", "h": 0}
    assert list(differences(logged, now, "x")) == [
        ("x.a[1].b", 2, 3),
        ("x.c", 1, 1.0),
        ("x.d", None, MISSING),
        ("x.e", True, 1),
        ("x.f", [1], [1, 2]),
        ("x.h", MISSING, 0),
    ]
    assert list(differences({"a": 1}, {"a": 2}, "")) == [("a", 1, 2)]
    assert list(differences({"a": {}}, {"a": []}, "")) == [("a", {}, [])]
    assert list(differences({"a": 0}, {"a": {}}, "")) == [("a", 0, {})]


def differing(step: int, **more: Any) -> Divergence:
    """Return a difference."""
    return Divergence(step, 1, None, "digest", "x", MISSING, 9, **more)


def test_a_report_says_what_it_found_in_words() -> None:
    assert str(differing(4)) == "step 4 (episode 1, line 9): digest was 'x', is now missing"
    whose = Divergence(4, 1, "bob", "reward", 0.5, 1.0, 9, slot=0)
    said = "step 4 (episode 1 in slot 0, line 9): reward of bob was 0.5, is now 1.0"
    assert str(whose) == said
    sealed, broken = Seal("sealed", ""), Seal("broken", "")
    whole = ReplayReport(3, 2, complete=True, seal=sealed)
    assert (whole.ok, whole.sound, whole.verdict) == (True, True, "sound")
    assert str(whole) == f"3 steps in 2 episodes: equal\n  {sealed}"
    cut = ReplayReport(3, 2)
    assert (cut.ok, cut.sound, cut.verdict) == (True, False, "equal but unsealed")
    assert str(cut).startswith("3 steps in 2 episodes: equal; the run was cut short\n")
    assert str(ReplayReport(1, 1, complete=True)).startswith("1 step in 1 episode: equal\n")
    changed = ReplayReport(3, 2, seal=broken)
    assert (changed.ok, changed.verdict) == (False, "damaged")
    assert "are equal; the change is in what a replay cannot tell" in str(changed)
    warning, error = Problem(1, "odd", "warning"), Problem(2, "torn", "error")
    torn = ReplayReport(3, 2, problems=[warning, error], seal=sealed)
    assert (torn.broken, torn.ok, torn.verdict) == (error, False, "damaged")
    told = f"{error}; the 3 steps in 2 episodes before it are equal\n  {sealed}\n  {warning}"
    assert str(torn) == told
    assert ReplayReport(problems=[warning], seal=sealed).sound
    many = ReplayReport(complete=True, problems=[warning] * 12, seal=sealed)
    said = ["0 steps in 0 episodes: equal", str(sealed), *[str(warning)] * 10]
    assert str(many) == "\n  ".join(said)


def test_a_report_keeps_a_hundred_details_and_shows_ten() -> None:
    report = ReplayReport()
    for step in range(105):
        report.add(differing(step))
    assert report.verdict == "different"
    assert not report.ok
    assert report.first_divergence == differing(0)
    assert [detail.step for detail in report.details] == [*range(1, 101)]
    shown = [line for line in str(report).splitlines() if "digest was" in line]
    assert shown[0] == f"differs at {differing(0)}"
    assert shown[1:] == [f"  {differing(step)}" for step in range(1, 11)]
