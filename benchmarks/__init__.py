"""Benchmarks: the protocol that every number uses, its statistics, references and reports.

`evaluate` plays a policy on a suite and returns `Results`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.benchmarks.evaluation.evaluate import evaluate
    from piase_gym.benchmarks.evaluation.results import Results, TaskResult
    from piase_gym.benchmarks.evaluation.settings import Row
    from piase_gym.benchmarks.evaluation.suites import Suite

__all__ = ["Results", "Row", "Suite", "TaskResult", "evaluate"]

__getattr__, __dir__ = lazy(__name__)
