"""Runs as evidence: logs in the PiaAVT format, replay, forks, metrics, exports.

A run is a JSON Lines file or, for a batch, a file of columns, which is read as the lines that it
expands to. `piase_gym.wrappers.AvtLogger` or `record` writes it; `read` opens it,
`validate` checks it, `replay` executes it again, `fork` cuts and continues it, `Metrics` measures
it, live or from the file, and `export` turns it into other formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.runs.branches import Branch as Branch
    from piase_gym.runs.chat_export import preferences as preferences
    from piase_gym.runs.counterfactuals import ForkReport as ForkReport
    from piase_gym.runs.counterfactuals import fork as fork
    from piase_gym.runs.demonstrations import demonstrate as demonstrate
    from piase_gym.runs.divergence import Divergence as Divergence
    from piase_gym.runs.divergence import ReplayReport as ReplayReport
    from piase_gym.runs.exports import export as export
    from piase_gym.runs.live_sinks import CallbackSink as CallbackSink
    from piase_gym.runs.live_sinks import LiveSink as LiveSink
    from piase_gym.runs.live_sinks import SqlSink as SqlSink
    from piase_gym.runs.metric_definitions import METRICS as METRICS
    from piase_gym.runs.metric_definitions import MetricSpec as MetricSpec
    from piase_gym.runs.metric_definitions import metric_types as metric_types
    from piase_gym.runs.metrics import Metrics as Metrics
    from piase_gym.runs.metrics import PiaAVTInterface as PiaAVTInterface
    from piase_gym.runs.pictures import frames as frames
    from piase_gym.runs.pictures import plot as plot
    from piase_gym.runs.pictures import render as render
    from piase_gym.runs.reader import Run as Run
    from piase_gym.runs.reader import read as read
    from piase_gym.runs.recording import declare_curriculum as declare_curriculum
    from piase_gym.runs.recording import log as log
    from piase_gym.runs.recording import record as record
    from piase_gym.runs.replayer import replay as replay
    from piase_gym.runs.schema import LEVELS as LEVELS
    from piase_gym.runs.schema import SCHEMA_VERSION as SCHEMA_VERSION
    from piase_gym.runs.sinks import ConsoleSink as ConsoleSink
    from piase_gym.runs.sinks import EventSink as EventSink
    from piase_gym.runs.sinks import FileSink as FileSink
    from piase_gym.runs.sinks import LoggerInterface as LoggerInterface
    from piase_gym.runs.sinks import MemorySink as MemorySink
    from piase_gym.runs.statistics import Stats as Stats
    from piase_gym.runs.statistics import stats as stats
    from piase_gym.runs.validation import ValidationReport as ValidationReport
    from piase_gym.runs.validation import validate as validate
    from piase_gym.runs.windows import View as View

__getattr__, __dir__ = lazy(__name__)
