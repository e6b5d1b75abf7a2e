"""Lets a history follow a live environment: lines go there, not into text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from piase_gym.runs.expand import goal_prefix
from piase_gym.runs.history import History
from piase_gym.runs.json_values import encode
from piase_gym.runs.lines import Encoder, Line
from piase_gym.runs.options import Options
from piase_gym.runs.recorder import NEVER, Recorder
from piase_gym.runs.recording import tap
from piase_gym.runs.schema import SCHEMA_VERSION


class Follower:
    """Hands lines to a history, as they would be read from a log."""

    final = full = False

    def __init__(self, history: History, encoder: Encoder) -> None:
        """Feed `history`, whose later questions `encoder` puts into lines."""
        self.history = history
        history.recent.encoder = encoder
        history.recent.prefix = goal_prefix(encoder.run_id, SCHEMA_VERSION)
        self.finish: Callable[[], Callable[[], None] | None] = lambda: None

    def take(self, line: Line) -> None:
        """Hand over a line; what users may change later is copied."""
        if line.data.get("kind") != "step":
            line = line._replace(data=orjson.loads(encode(line.data)))
        self.history.take(line)

    def flush(self) -> None:
        """Do nothing: everything was handed over."""

    def close(self, last: Line) -> None:
        """Do nothing: a summary says nothing new."""


def follow(env: Any, history: History) -> Recorder:
    """Feed a history with every event of an environment.

    Returns:
        The recorder; its `finish` ends it.
    """
    recorder: Recorder = tap(env)(
        lambda encoder: Follower(history, encoder), Options(snapshot_every=NEVER)
    )
    return recorder
