"""Replies that are kept, so that nothing is asked twice and runs can be played again offline.

A reply is found by a digest of all that it followed from: the model, the messages, the settings,
the repeat, the seed of the episode. The address that was asked, and the key, are not part of it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from piase_gym.agents.llm.client import Failure, Reply
from piase_gym.core.answers import MAX_REPLY
from piase_gym.core.commands import Outcome
from piase_gym.core.line_file import LineFile
from piase_gym.errors import StorageError

REPLY_EVENT = "LLM_REPLY_RECEIVED"
"""The event type of the lines for replies in logs."""
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "text": str,
    "tool_calls": (list, tuple),
    "thinking": str,
    "prompt_tokens": int,
    "completion_tokens": int,
    "estimated": bool,
    "seconds": (int, float),
    "model": str,
    "cut": bool,
}
"""The fields of a reply that are kept, and their types."""


class Replies:
    """Replies in memory.

    Attributes:
        offline: Whether no model may be asked for replies that are not here.
    """

    def __init__(self, offline: bool = False) -> None:
        """Start without replies."""
        self.offline = offline
        self._known: dict[str, Reply | Failure] = {}

    def __len__(self) -> int:
        """Return the number of replies."""
        return len(self._known)

    def find(self, key: str) -> Reply | Failure | None:
        """Return the reply to a request, or its failure, if that is known."""
        return self._known.get(key)

    def keep(self, key: str, reply: Reply) -> None:
        """Keep the reply to a request."""
        self._known[key] = reply

    def take(self, value: Mapping[str, Any]) -> None:
        """Keep a reply or a failure as logs have it; anything else is ignored."""
        key, found = value.get("request"), _reply_in(value) or _failure_in(value)
        if isinstance(key, str) and found is not None:
            self._known[key] = found


class ReplyFile(Replies):
    """Replies in a file, one JSON line each; a line that was cut off is ignored.

    Args:
        path: The file, created when the first reply is kept.
        offline: Whether no model may be asked for replies that are not there.

    Raises:
        StorageError: If it cannot be read, or its folder cannot be written to.
    """

    def __init__(self, path: str | os.PathLike[str], offline: bool = False) -> None:
        super().__init__(offline)
        self.path = Path(path)
        self._lock = threading.Lock()
        self._file = LineFile(self.path)
        for value in self._file.found:
            self.take(value)

    def keep(self, key: str, reply: Reply) -> None:
        """Keep a reply, in the file too.

        Raises:
            StorageError: If it cannot be written; the reply is kept in memory then.
        """
        super().keep(key, reply)
        with self._lock:  # threads write whole lines
            if not self._file.add({"request": key, **reply_value(reply)}):
                raise StorageError(str(self._file.error))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock; a copy adds to the same file."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restore the state, with a new lock."""
        vars(self).update(state)
        self._lock = threading.Lock()


def replies_of(events: Any) -> Replies:
    """Return the replies in the lines of a run; nothing else can be asked.

    Args:
        events: The events of a log, such as `piase_gym.runs.read(path)`.
    """
    found = Replies(offline=True)
    for event in events:
        if event["event_type"] == REPLY_EVENT:
            found.take(event["event_data"])
    return found


def _reply_in(value: Mapping[str, Any]) -> Reply | None:
    """Return the reply in a line, or ``None`` if there is none or it is malformed."""
    fields = {name: value[name] for name in _FIELDS if name in value}
    calls = fields.get("tool_calls", ())
    if "text" not in fields or not all(isinstance(fields[n], _FIELDS[n]) for n in fields):
        return None
    if not all(
        isinstance(c, list | tuple) and len(c) == 2 and isinstance(c[0], str) for c in calls
    ):
        return None
    return Reply(**{**fields, "tool_calls": tuple((name, given) for name, given in calls)})


def _failure_in(value: Mapping[str, Any]) -> Failure | None:
    """Return the failure in a line, or ``None``."""
    message, outcome, seconds = value.get("told"), value.get("outcome"), value.get("seconds", 0.0)
    known = next((each for each in Outcome if str(each) == outcome), None)
    if known is None or not isinstance(message, str) or "final" not in value:
        return None
    if not isinstance(seconds, int | float):
        return None
    return Failure(known, message, bool(value["final"]), seconds)


def failure_value(failure: Failure) -> dict[str, Any]:
    """Return a failure as JSON-able values."""
    fields = {"outcome": str(failure.outcome), "told": failure.message, "final": failure.final}
    return {**fields, "seconds": failure.seconds} if failure.seconds else fields


def reply_value(reply: Reply) -> dict[str, Any]:
    """Return a reply as JSON-able values; empty fields other than the text are left out."""
    found: dict[str, Any] = {"text": reply.text}
    found |= {name: value for name in _FIELDS if (value := getattr(reply, name))}
    return found


def bounded(reply: Reply) -> Reply:
    """Return a reply, cut if it is too long, but to a length that still shows that it is."""
    text, calls = reply.text, reply.tool_calls
    if len(str(calls)) > MAX_REPLY:
        text, calls = str(calls), ()
    thinking = reply.thinking[:MAX_REPLY]
    return replace(reply, text=text[: MAX_REPLY + 1], tool_calls=calls, thinking=thinking)
