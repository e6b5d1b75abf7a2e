"""Checks and what they find."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from piase_gym.errors import UnknownNameError
from piase_gym.testing.kit import (
    Fault,
    Finding,
    Report,
    Skip,
    check,
    checks_of,
    choose_checks,
    require,
    require_refusal,
    run_all,
)


@check("digest", module="json", extra="none")
def is_fine(subject: Any) -> str:
    """It is fine.

    And this is not told.
    """
    subject.calls.append("fine")
    return "so it is"


@check("nothing_of_that_kind")
def is_claimed(subject: Any) -> None:
    """It is claimed."""


@check()
def is_wrong(subject: Any) -> None:
    """It is wrong."""
    require([], "it is empty")


@check()
def is_left_out(subject: Any) -> None:
    """It is left out."""
    raise Skip("there is none")


@check()
def crashes(subject: Any) -> None:
    """It crashes."""
    raise ValueError("x" * 400 + "\nmore")


@check(module="no_such_library", extra="train")
def needs_more(subject: Any) -> None:
    """It needs more."""


CHECKS = (is_fine, is_claimed, is_wrong, is_left_out, crashes, needs_more)


def test_checks_are_run_and_told() -> None:
    claims = SimpleNamespace(digest=True, nothing_of_that_kind=False)
    subject = SimpleNamespace(capabilities=claims, label="It()", calls=[], closed=0)

    def close() -> None:
        subject.closed += 1

    subject.close = close
    told: list[Finding] = []
    report = run_all(subject, CHECKS, told.append)
    assert [found.verdict for found in report.findings] == [
        "passed: so it is",
        "not claimed: nothing_of_that_kind",
        "failed: it is empty",
        "skipped: there is none",
        f"failed: crashes met ValueError: {'x' * 300}",
        "skipped: needs the extra train",
    ]
    assert told == list(report.findings)
    assert (subject.closed, subject.calls) == (6, ["fine"])
    assert [found.check for found in report.failures] == ["is_wrong", "crashes"]
    assert not report.ok
    assert str(report.findings[0]) == "is_fine: It is fine. passed: so it is"
    assert all(found.seconds >= 0 for found in report.findings)
    assert report.finding("is_wrong") is report.findings[2]
    assert str(Report("It()", report.findings[:3], 1.26)).split("\n")[-1] == (
        "It(): 3 checks, 1 failed, 1.3 s"
    )
    assert Finding("a", "b", "passed").verdict == "passed"
    sound = Report("It()", report.findings[:2], 0.0)
    assert sound.raise_failures() is sound


def test_checks_are_found_and_chosen() -> None:
    module = ModuleType("checks")
    vars(module).update(b=is_wrong, x=3, a=is_fine)
    assert checks_of(module, module) == (is_wrong, is_fine) * 2
    assert choose_checks(CHECKS, None) == list(CHECKS)
    assert choose_checks(CHECKS, ["crashes", "is_fine"]) == [is_fine, crashes]
    assert choose_checks(CHECKS, []) == []
    with pytest.raises(UnknownNameError, match="unknown check 'is_fin'"):
        choose_checks(CHECKS, ["is_fin"])


def test_a_refusal_is_the_error_that_is_asked_for() -> None:
    def fails() -> None:
        raise KeyError("k")

    assert isinstance(require_refusal(KeyError, fails, "it", "no"), KeyError)
    with pytest.raises(Fault, match=r"^it raises KeyError\('k'\), no ValueError$"):
        require_refusal(ValueError, fails, "it", "no")
    with pytest.raises(Fault, match=r"^it is taken$"):
        require_refusal(ValueError, lambda: None, "it", "it is taken")
