"""Our aggregates, profiles and improvements beside those of the package rliable."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks.evaluation import statistics as s
from tests.benchmarks import rliable_numbers
from tests.benchmarks.rliable_numbers import FILE, REPS, SHAPES, TAUS

STORED: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
SPAN = 0.05
"""By how much of an interval its ends may differ, as two bootstraps of 20,000 do."""


def tasks(scores: list[list[float]]) -> list[list[float]]:
    """Turn an array (runs, tasks) around, as our functions take it."""
    return np.transpose(scores).tolist()  # type: ignore[no-any-return]


def agree(ours: Any, theirs: Any, grain: float = 0.0) -> None:
    """Hold an estimate and its interval to theirs; ends may also be a grain of the scores off."""
    assert ours[0] == pytest.approx(theirs[0], abs=1e-9)
    for mine, other in zip(ours[1:], theirs[1:], strict=True):
        assert mine == pytest.approx(other, abs=SPAN * (theirs[2] - theirs[1]) + grain)


@pytest.mark.parametrize("case", STORED, ids=[f"{n}x{m}" for n, m in SHAPES])
def test_ours_are_what_rliable_says(case: dict[str, Any]) -> None:
    x, y, says = tasks(case["x"]), tasks(case["y"]), case["says"]
    agree(s.aggregate(x, s.iqm, resamples=REPS), says["iqm"])
    agree(s.aggregate(x, np.mean, resamples=REPS), says["mean"])
    agree(s.improvement_interval(x, y, resamples=REPS), says["improvement"])
    runs = len(case["x"]) * len(x)
    band = np.transpose(s.profile_band(x, TAUS, resamples=REPS))
    for mine, theirs in zip(band, np.transpose(says["profile"]), strict=True):
        agree(mine, theirs, 1.01 / runs)  # a share of so many runs goes in steps


def test_stored_arrays_are_those_that_are_made() -> None:
    for case, shape in zip(STORED, SHAPES, strict=True):
        for name, made in zip("xy", rliable_numbers.arrays(*shape), strict=True):
            assert case[name] == made.tolist()


def test_stored_numbers_are_rliables() -> None:
    pytest.importorskip("rliable", reason="make test-rliable has it")
    for case in STORED:
        found = rliable_numbers.measure(np.array(case["x"]), np.array(case["y"]))
        for name, wanted in case["says"].items():
            assert np.array(found[name]) == pytest.approx(np.array(wanted), abs=1e-9)
