"""Runs are evidence: logs in the PiaAVT format, replay, forks, metrics, exports.

A run is a JSON Lines file. `piase_gym.wrappers.AvtLogger` or `record` writes it; `read` opens it,
`validate` checks it, `replay` executes it again, `fork` cuts and continues it, `Metrics` measures
it, live or from the file, and `export` turns it into other formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from piase_gym.runs.schema import LEVELS, SCHEMA_VERSION

if TYPE_CHECKING:
    from piase_gym.runs.branches import Branch
    from piase_gym.runs.counterfactuals import ForkReport, fork
    from piase_gym.runs.divergence import Divergence, ReplayReport
    from piase_gym.runs.exports import export
    from piase_gym.runs.metric_definitions import METRICS, MetricSpec, metric_types
    from piase_gym.runs.metrics import Metrics, PiaAVTInterface
    from piase_gym.runs.pictures import frames, plot, render
    from piase_gym.runs.reader import Run, read
    from piase_gym.runs.recording import declare_curriculum, log, record
    from piase_gym.runs.replayer import replay
    from piase_gym.runs.sinks import (
        ConsoleSink,
        EventSink,
        FileSink,
        LoggerInterface,
        MemorySink,
    )
    from piase_gym.runs.statistics import Stats, stats
    from piase_gym.runs.validation import ValidationReport, validate
    from piase_gym.runs.windows import View

_LAZY = {
    "ConsoleSink": "sinks",
    "Divergence": "divergence",
    "EventSink": "sinks",
    "FileSink": "sinks",
    "LoggerInterface": "sinks",
    "METRICS": "metric_definitions",
    "MemorySink": "sinks",
    "MetricSpec": "metric_definitions",
    "Metrics": "metrics",
    "PiaAVTInterface": "metrics",
    "ReplayReport": "divergence",
    "Run": "reader",
    "ValidationReport": "validation",
    "View": "windows",
    "metric_types": "metric_definitions",
    "ForkReport": "counterfactuals",
    "Branch": "branches",
    "fork": "counterfactuals",
    "declare_curriculum": "recording",
    "export": "exports",
    "Stats": "statistics",
    "stats": "statistics",
    "frames": "pictures",
    "plot": "pictures",
    "render": "pictures",
    "log": "recording",
    "read": "reader",
    "record": "recording",
    "replay": "replayer",
    "validate": "validation",
}

__all__ = [
    "LEVELS",
    "METRICS",
    "SCHEMA_VERSION",
    "Branch",
    "ConsoleSink",
    "Divergence",
    "EventSink",
    "FileSink",
    "ForkReport",
    "LoggerInterface",
    "MemorySink",
    "MetricSpec",
    "Metrics",
    "PiaAVTInterface",
    "ReplayReport",
    "Run",
    "Stats",
    "ValidationReport",
    "View",
    "declare_curriculum",
    "export",
    "fork",
    "frames",
    "log",
    "metric_types",
    "plot",
    "read",
    "record",
    "render",
    "replay",
    "stats",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for."""
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
