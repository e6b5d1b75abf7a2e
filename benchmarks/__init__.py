"""Benchmarks: the protocol that every number uses, its statistics, references and reports.

`evaluate` plays a policy on a suite and returns `Results`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from piase_gym.benchmarks.evaluation.evaluate import evaluate
    from piase_gym.benchmarks.evaluation.results import Results, TaskResult
    from piase_gym.benchmarks.evaluation.suites import Row, Suite

__all__ = ["Results", "Row", "Suite", "TaskResult", "evaluate"]

_LAZY = {
    "Results": "results",
    "Row": "suites",
    "Suite": "suites",
    "TaskResult": "results",
    "evaluate": "evaluate",
}


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for: modules of the folder are used on their own too."""
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(f"{__name__}.evaluation.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
