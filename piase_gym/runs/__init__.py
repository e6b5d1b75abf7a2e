"""Runs are evidence: logs in the PiaAVT format, replay, forks, metrics, exports.

A run is a JSON Lines file, or of a batch a file of columns, which is read as the lines that it
expands to. `piase_gym.wrappers.AvtLogger` or `record` writes it; `read` opens it,
`validate` checks it, `replay` executes it again, `fork` cuts and continues it, `Metrics` measures
it, live or from the file, and `export` turns it into other formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy
from piase_gym.runs.schema import LEVELS, SCHEMA_VERSION

if TYPE_CHECKING:
    from piase_gym.runs.branches import Branch
    from piase_gym.runs.chat_export import preferences
    from piase_gym.runs.counterfactuals import ForkReport, fork
    from piase_gym.runs.demonstrations import demonstrate
    from piase_gym.runs.divergence import Divergence, ReplayReport
    from piase_gym.runs.exports import export
    from piase_gym.runs.live_sinks import CallbackSink, LiveSink, SqlSink
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


__all__ = [
    "LEVELS",
    "METRICS",
    "SCHEMA_VERSION",
    "Branch",
    "CallbackSink",
    "ConsoleSink",
    "Divergence",
    "EventSink",
    "FileSink",
    "ForkReport",
    "LiveSink",
    "LoggerInterface",
    "MemorySink",
    "MetricSpec",
    "Metrics",
    "PiaAVTInterface",
    "ReplayReport",
    "Run",
    "SqlSink",
    "Stats",
    "ValidationReport",
    "View",
    "declare_curriculum",
    "demonstrate",
    "export",
    "fork",
    "frames",
    "log",
    "metric_types",
    "plot",
    "preferences",
    "read",
    "record",
    "render",
    "replay",
    "stats",
    "validate",
]

__getattr__, __dir__ = lazy(__name__)
