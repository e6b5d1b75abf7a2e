"""Hands the lines of a run to its sinks, in bulk.

Lines are handed over at the end of each episode, when there are many, and by a thread once a
second, so a run that is killed loses at most its last second.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence

import xxhash

from piase_gym.errors import LogSinkWarning, LogWriteError, require_known
from piase_gym.runs.lines import Encoder, Fields, Line, Out
from piase_gym.runs.schema import UNSEALED, sealed
from piase_gym.runs.sinks import LoggerInterface

INTERVAL = 1.0
"""Seconds after which lines are handed over at the latest."""
MANY = 512
"""The number of waiting lines at which they are handed over without delay."""
ON_ERROR = ("warn", "stop")


class Sinks:
    """Several sinks; those that fail are left out, or stop the run.

    Args:
        sinks: The sinks.
        on_error: ``"warn"`` (a sink that fails is left out from then on, with a warning) or
            ``"stop"`` (the environment's next call raises `LogWriteError`).

    Raises:
        ConfigError: If `on_error` is neither.
    """

    def __init__(self, sinks: Sequence[LoggerInterface], on_error: str) -> None:
        """Start with no failures."""
        require_known("on_error", on_error, ON_ERROR)
        self.sinks, self.on_error = list(sinks), on_error
        self._failures: list[str] = []

    def write(self, data: bytes) -> None:
        """Hand bytes to all sinks; failures wait for `complain`."""
        for sink in tuple(self.sinks):
            try:
                sink.write(data)
                sink.flush()
            except Exception as error:
                self._lose(sink, error)

    def _lose(self, sink: LoggerInterface, error: Exception) -> None:
        """Go on without a sink that failed."""
        self.sinks.remove(sink)
        where = getattr(sink, "path", None) or type(sink).__name__
        self._failures.append(f"the log {where} can no longer be written: {error}")
        with contextlib.suppress(Exception):  # it has failed before; there is nothing to save
            sink.close()

    def close(self) -> None:
        """Close all sinks."""
        for sink in tuple(self.sinks):
            try:
                sink.close()
            except Exception as error:
                self._lose(sink, error)

    def complain(self) -> None:
        """Warn of the failures of sinks, or raise the first, once."""
        failures, self._failures = self._failures, []
        if failures and self.on_error == "stop":
            raise LogWriteError(failures[0])
        for message in failures:
            error = f"{message}; the run goes on without it"
            warnings.warn(error, LogSinkWarning, stacklevel=4)


class BackgroundWriter(ABC):
    """A writer whose lines the thread `writer_thread` writes in time.

    Attributes:
        sinks: Where it writes.
        finish: Returns the function to call if the process ends and nobody closed the run, or
            ``None`` when nobody can write to it any more.
    """

    def __init__(self, sinks: Sinks) -> None:
        """Start with nothing written."""
        self.sinks = sinks
        self.finish: Callable[[], Callable[[], None] | None] = lambda: None
        self._lock = threading.RLock()
        self._closed = False
        self._hash = xxhash.xxh3_64()

    @abstractmethod
    def drain(self) -> None:
        """Write what is waiting."""

    def shut(self) -> None:
        """Write the rest, and nothing after that."""
        with self._lock:
            self.drain()
            self._closed = True
            self.sinks.close()
        writer_thread.leave(self)

    def abandon(self) -> None:
        """Write nothing more, not even the rest: in a forked process the log is not our own."""
        self._closed, self._lock = True, threading.RLock()


class Writer(Out, BackgroundWriter):
    """Encodes lines and hands them to sinks.

    Args:
        sinks: Where they go.

    Attributes:
        count: How many lines there are.
    """

    encoder: Encoder

    def __init__(self, sinks: Sinks) -> None:
        """Start with no lines."""
        Out.__init__(self)
        BackgroundWriter.__init__(self, sinks)
        self.count = 0
        self._waiting: deque[bytes] = deque()

    def open(self, encoder: Encoder) -> None:
        """Take what encodes the lines."""
        self.encoder = encoder

    def take(self, fields: Fields) -> None:
        """Encode a line, and keep it until the next flush."""
        self.count += 1
        self._waiting.append(self.encoder.line(fields, self.count))
        self.full = len(self._waiting) >= MANY

    def flush(self) -> None:
        """Hand over all lines.

        Raises:
            LogWriteError: If a sink failed and `on_error` is ``"stop"``.
        """
        self.drain()
        self.sinks.complain()

    def drain(self) -> None:
        """Hand over all lines; failures of sinks wait for `flush`."""
        with self._lock:
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            data = b"".join(lines)
            if data and not self._closed:
                self._hash.update(data)
                self.sinks.write(data)

    def close(self, last: Line) -> None:
        """Write the summary, with the hash of all lines, and close the sinks."""
        with self._lock:
            self.drain()
            self.count += 1
            ends = {"lines": self.count, "checksum": self._hash.hexdigest(), "seal": UNSEALED}
            text = self.encoder.line(last._replace(data={**last.data, **ends}), self.count)
            everything = self._hash.copy()
            everything.update(text)
            self._waiting.append(sealed(text, UNSEALED, everything.hexdigest()))
        self.shut()
        self.sinks.complain()


class _WriterThread:
    """The one thread that, once a second, writes what is waiting, for all writers."""

    def __init__(self) -> None:
        self._writers: set[BackgroundWriter] = set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def take(self, writer: BackgroundWriter) -> None:
        """Look after a writer until it is closed."""
        with self._lock:
            self._writers.add(writer)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="piase-runs", daemon=True)
                self._thread.start()

    def leave(self, writer: BackgroundWriter) -> None:
        """Forget a writer."""
        with self._lock:
            self._writers.discard(writer)

    def _run(self) -> None:
        """Write once a second, as long as there are writers."""
        rest = threading.Event()
        while True:
            rest.wait(INTERVAL)
            with self._lock:
                writers = tuple(self._writers)
                if not writers:
                    self._thread = None
                    return
            self.sweep()
            for writer in writers:
                writer.drain()

    def sweep(self) -> None:
        """Close the logs of environments that are gone, though nobody closed them."""
        with self._lock:
            writers = tuple(self._writers)
        for writer in writers:
            if writer.finish() is None:
                writer.shut()

    def end(self) -> None:
        """Complete the runs that nobody closed, as the process ends; all, if one of them fails."""
        with contextlib.ExitStack() as ends:
            for writer in tuple(self._writers):
                ends.callback(writer.shut)
                if finish := writer.finish():
                    ends.callback(finish)

    def forked(self) -> None:
        """Leave all logs to the parent process."""
        self._lock, self._thread = threading.Lock(), None
        for writer in self._writers:
            writer.abandon()
        self._writers = set()


writer_thread = _WriterThread()
atexit.register(writer_thread.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=writer_thread.forked)
