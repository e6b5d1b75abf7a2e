"""Hands the events of a live environment to a function, exactly as a log would have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from piase_gym.runs.reader import Event
from piase_gym.runs.recorder import NEVER, Recorder
from piase_gym.runs.recording import record
from piase_gym.runs.sinks import EventSink


class _Feed(EventSink):
    """Passes events on."""

    def __init__(self, take: Callable[[Event], None]) -> None:
        self.take = take

    def log_event(self, event: Event) -> None:
        """Pass an event on."""
        self.take(event)


def follow(env: Any, take: Callable[[Event], None]) -> Recorder:
    """Call `take` with every event of an environment, some time after it happened.

    Returns:
        The recorder: its `flush` hands over what has happened, its `finish` ends it.
    """
    return record(env, sinks=[_Feed(take)], snapshot_every=NEVER, on_error="stop")
