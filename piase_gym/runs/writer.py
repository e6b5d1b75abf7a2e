"""The queue between what happens and the sinks: cheap to fill, emptied in bulk.

It is emptied at the end of each episode, when it is long, and by a thread once a second, so a run
that is killed loses at most its last second.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Sequence

import xxhash

from piase_gym.errors import ConfigError, LogWriteError, PiaseError, suggest
from piase_gym.runs.bulk import BulkEncoder
from piase_gym.runs.lines import Group, Line, StepItem
from piase_gym.runs.press import FEW, Block, Press
from piase_gym.runs.press_records import RecordPress
from piase_gym.runs.schema import UNSEALED, sealed
from piase_gym.runs.sinks import LoggerInterface
from piase_gym.runs.stretch import Rows, Stretch

INTERVAL = 1.0
"""Seconds after which what happened is written at the latest."""
LONG = 512
"""The queue is emptied when it has so many entries, or so many plain steps."""
MANY = 4096
"""After so many plain steps of a single environment it is worth to load the compiled code."""
BUFFER = 1 << 18
"""Bytes that are handed over at once, if there are so many."""
ON_ERROR = ("warn", "stop")


class Writer:
    """Turns queued events into lines and hands them to sinks.

    Attributes:
        queue: What happened and is not yet written: `Line`s, `StepItem`s and `Stretch`es; of these
            only the last may be open.
        checksum: XXH3 of all lines so far, in hexadecimal digits.
        final: Whether it writes for good: so that digests are wanted, and a thread looks after it.
    """

    final = True

    def __init__(
        self, encoder: BulkEncoder, sinks: Sequence[LoggerInterface], on_error: str
    ) -> None:
        """Write through `encoder` to `sinks`.

        Args:
            encoder: Writes the lines.
            sinks: Where they go.
            on_error: ``"warn"`` (a sink that fails is left out from then on, with a warning) or
                ``"stop"`` (the environment's next call raises `LogWriteError`).

        Raises:
            ConfigError: If `on_error` is neither.
        """
        if on_error not in ON_ERROR:
            raise ConfigError(f"unknown on_error {on_error!r}; {suggest(on_error, ON_ERROR)}")
        self.encoder, self.on_error = encoder, on_error
        self.sinks = list(sinks)
        self.queue: deque[Line | Group | StepItem | Stretch | Block] = deque()
        self.closed = False
        self._lines: list[bytes | memoryview] = []
        self._press: Press | None = None
        self._record_press: RecordPress | None = None
        self._plain = 0
        self._size = 0
        self._failures: list[str] = []
        self.lock = threading.RLock()
        self._hash = xxhash.xxh3_64()
        self.finish: Callable[[], Callable[[], None] | None] = lambda: None
        """Returns what to call when the process ends and nobody closed the run."""
        if self.final:
            _clerk.take(self)

    @property
    def checksum(self) -> str:
        """The hash of all lines that were written."""
        return self._hash.hexdigest()

    def flush(self) -> None:
        """Write all that is queued.

        Raises:
            LogWriteError: If a sink failed and `on_error` is ``"stop"``.
        """
        self.drain()
        self.complain()

    def complain(self) -> None:
        """Warn of the failures of sinks, or raise the first, once."""
        failures, self._failures = self._failures, []
        if failures and self.on_error == "stop":
            raise LogWriteError(failures[0])
        for message in failures:
            warnings.warn(f"{message}; the run goes on without it", UserWarning, stacklevel=4)

    def drain(self) -> None:
        """Write all that is queued; failures of sinks wait for `complain`."""
        with self.lock:
            self.encode()
            self._hand_over()

    def seal(self) -> None:
        """Write the hash of all lines into the last one, the summary, which is queued alone."""
        with self.lock:
            self.encode()
            if self._lines:
                everything = self._hash.copy()
                everything.update(self._lines[-1])
                self._lines[-1] = sealed(bytes(self._lines[-1]), UNSEALED, everything.hexdigest())

    def _hand_over(self) -> None:
        """Hand the text to the sinks."""
        if self._lines:
            text = b"".join(self._lines)
            self._lines, self._size = [], 0
            if self._record_press is not None:
                self._record_press.rewind()
            self._send(text)

    def encode(self) -> None:
        """Turn what is queued into text; write it only where it is long."""
        with self.lock:
            queue = self.queue
            while queue:
                item = queue[0]
                if type(item) is Block:
                    self._take_blocks()
                    continue
                if type(item) is Stretch:
                    closed = item.closed  # before its rows are taken, for none may follow then
                    for rows in item.take():
                        self.take(rows)
                    if not closed:
                        return
                else:
                    self.take(item)  # type: ignore[arg-type]
                queue.popleft()

    def _take_blocks(self) -> None:
        """Take the blocks that follow each other, all at once."""
        blocks: list[Block] = []
        while self.queue and type(self.queue[0]) is Block:
            blocks.append(self.queue.popleft())  # type: ignore[arg-type]
        self.take_blocks(blocks)

    def take_blocks(self, blocks: Sequence[Block]) -> None:
        """Turn plain steps of a batch into text."""
        encoder = self.encoder
        if self._press is None and sum(len(block.slots) for block in blocks) >= FEW:
            self._press = Press(encoder, encoder.agents)
        if self._press is not None:
            for data in self._press.write(blocks):
                self._add(data)
            return
        for block in blocks:
            for item in block.items(encoder.agents):
                self._add(encoder.step(item).encode())

    def take(self, item: Line | Group | StepItem | Rows) -> None:
        """Turn one thing that happened into text."""
        if type(item) is Line:
            text = self.encoder.line(item)
        elif type(item) is Group:
            text = self.encoder.group(item)
        elif type(item) is Rows:
            self._take_rows(item)
            return
        else:
            text = self.encoder.step(item)  # type: ignore[arg-type]
        self._add(text.encode())

    def _take_rows(self, rows: Rows) -> None:
        """Turn plain steps into text."""
        encoder = self.encoder
        self._plain += len(rows)
        brief = encoder.steps and not encoder.details
        if brief and self._plain >= MANY:
            if self._record_press is None:
                self._record_press = RecordPress(encoder, rows.notation)
            self._add(*self._record_press.write(rows))
        else:
            for text in encoder.rows(rows):
                self._add(text.encode())

    def _add(self, *lines: bytes | memoryview) -> None:
        """Take whole lines, in one or more pieces."""
        self._lines += lines
        self._size += sum(map(len, lines))
        if self._size >= BUFFER:
            self._hand_over()

    def _send(self, data: bytes) -> None:
        """Hand lines to all sinks."""
        self._hash.update(data)
        for sink in tuple(self.sinks):
            try:
                sink.write(data)
                sink.flush()
            except PiaseError:
                raise
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
        """Write the rest and close the sinks."""
        with self.lock:
            if self.closed:
                return
            self.drain()
            self.closed = True
            for sink in tuple(self.sinks):
                try:
                    sink.close()
                except Exception as error:
                    self._lose(sink, error)
        _clerk.leave(self)
        self.complain()

    def abandon(self) -> None:
        """Write nothing any more: in a forked process the log is not our own."""
        self.closed, self.sinks = True, []
        self.lock = threading.RLock()


class _Clerk:
    """The one thread that writes what has lain about for a second, for all writers."""

    def __init__(self) -> None:
        self._writers: set[Writer] = set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def take(self, writer: Writer) -> None:
        """Look after a writer until it is closed."""
        with self._lock:
            self._writers.add(writer)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="piase-runs", daemon=True)
                self._thread.start()

    def leave(self, writer: Writer) -> None:
        """Forget a writer."""
        with self._lock:
            self._writers.discard(writer)

    def _run(self) -> None:
        """Write once a second, as long as there is anybody to write for."""
        rest = threading.Event()
        while True:
            rest.wait(INTERVAL)
            with self._lock:
                writers = tuple(self._writers)
                if not writers:
                    self._thread = None
                    return
            for writer in writers:
                writer.drain()

    def end(self) -> None:
        """Complete the runs that nobody closed, as the process ends."""
        for writer in tuple(self._writers):
            finish = writer.finish()
            if finish is not None:
                finish()
            writer.close()

    def forked(self) -> None:
        """Leave all logs to the parent process."""
        self._lock, self._thread = threading.Lock(), None
        for writer in self._writers:
            writer.abandon()
        self._writers = set()


_clerk = _Clerk()
atexit.register(_clerk.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_clerk.forked)
