"""What the kit asks of other processes."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.testing import processes
from piase_gym.testing.kit import (
    Fault,
)


def test_a_process_that_does_not_answer_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("python", 1.0)

    monkeypatch.setattr(subprocess, "run", late)
    with pytest.raises(Fault, match=r"^another process did not answer within 300 seconds$"):
        processes._ask_one(b"{}", "1")


def test_a_process_that_breaks_tells_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def broken(command: Any, **given: Any) -> Any:
        asked.update(given)
        return SimpleNamespace(returncode=1, stderr=b"Traceback\nOSError: no\n", stdout=b"")

    monkeypatch.setattr(subprocess, "run", broken)
    with pytest.raises(Fault, match=r"^another process could not make it: OSError: no$"):
        processes._ask_one(b"{}", "42")
    assert (asked["input"], asked["env"]["PYTHONHASHSEED"]) == (b"{}", "42")
    told = {"record": [1]}
    done = SimpleNamespace(returncode=0, stderr=b"", stdout=json.dumps(told).encode())
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert processes._ask_one(b"{}", "1") == told
