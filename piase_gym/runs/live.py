"""Lets a history follow a live environment: what is noted of steps goes there, not into text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from piase_gym.runs.bulk import BulkEncoder
from piase_gym.runs.history import History
from piase_gym.runs.lines import Group, Line, StepItem, data_of
from piase_gym.runs.options import Options
from piase_gym.runs.press import Block
from piase_gym.runs.recorder import NEVER, Recorder
from piase_gym.runs.recording import tap
from piase_gym.runs.schema import ATTEMPT, SYSTEM
from piase_gym.runs.stretch import Rows
from piase_gym.runs.writer import Writer

_HEARD = frozenset(
    {
        ATTEMPT,
        "ENVIRONMENT_EVENT_OCCURRED",
        "ENVIRONMENT_STATE_CHANGED",
        "LEARNING_EPISODE_END",
        "SIMULATION_CONTROL",
    }
)
"""The event types that a history has to understand at once."""


class LiveWriter(Writer):
    """Hands what is queued to a history."""

    final = False

    def __init__(self, history: History, encoder: BulkEncoder) -> None:
        """Feed `history`, whose later questions `encoder` puts into lines."""
        super().__init__(encoder, (), "stop")
        self.history = history
        history.recent.encoder, history.recent.prefix = encoder, encoder.prefix

    def take_blocks(self, blocks: Sequence[Block]) -> None:
        """Hand over plain steps of a batch."""
        for block in blocks:
            for item in block.items(self.encoder.agents):
                self.take(item)

    def take(self, item: Line | Group | StepItem | Rows) -> None:
        """Hand over one thing that happened."""
        history = self.history
        if type(item) is Rows:
            for part in item.sorts():
                if part.extras:
                    self.take(*self.encoder.items(part))
                else:
                    history.take_rows(part)
        elif type(item) is Group:
            history.step = item.step
            history.keep(item, len(item.parts))
            for agent, event_type, text in item.parts:
                if event_type in _HEARD:
                    line = Line(item.ns, agent, event_type, item.step, item.episode, text)
                    history.hear(_event(line))
        elif type(item) is Line:
            history.step = item.step
            history.keep(item)
            if item.event_type in _HEARD:
                history.hear(_event(item))
        else:
            step = int(item[1])  # type: ignore[index]
            history.step = step
            history.keep(item)
            data = {"kind": "step", **data_of(item)}  # type: ignore[arg-type]
            history.take_step({"step": step, "episode": item[2], "event_data": data}, data)  # type: ignore[index]


def _event(line: Line) -> dict[str, Any]:
    """Return as much of a line as a history looks at."""
    return {
        "event_type": line.event_type,
        "agent_id": line.agent or SYSTEM,
        "step": line.step,
        "episode": line.episode,
        "event_data": orjson.loads(line.data),
    }


def follow(env: Any, history: History) -> Recorder:
    """Feed a history with every event of an environment, some time after it happened.

    Returns:
        The recorder: its `flush` hands over what has happened, its `finish` ends it.
    """

    def make(encoder: BulkEncoder, _sinks: Any, _on_error: str) -> Writer:
        return LiveWriter(history, encoder)

    recorder: Recorder = tap(env)((), Options(snapshot_every=NEVER, writer=make))
    return recorder
