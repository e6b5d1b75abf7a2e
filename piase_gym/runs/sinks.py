"""Where the lines of a run go: a file, the console, memory, or a user's own sink.

A sink knows bytes, not events; the recorder knows events, not files.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import orjson

from piase_gym.core.files import replacing
from piase_gym.errors import LogWriteError, need, require_known
from piase_gym.runs.schema import LOG_LEVELS

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where a file is not locked
    fcntl = None  # type: ignore[assignment]

PRIVATE = stat.S_IRUSR | stat.S_IWUSR
"""Only the user who writes a log may read it."""
CLOSED = "it is closed; make another one for each run"
"""Why a sink takes nothing once its run has ended."""
OTHER_PACKERS = (".bz2", ".xz", ".lzma", ".zip", ".lz4", ".7z", ".br")
"""Endings of compressions that are not supported."""


class LoggerInterface(ABC):
    """A sink for lines (the design document's `LoggerInterface`). Only `write` is required."""

    @abstractmethod
    def write(self, lines: bytes) -> None:
        """Take one or more whole lines, UTF-8, each with its line feed."""

    def flush(self) -> None:
        """Make sure that what was written survives the end of this process."""

    def close(self) -> None:
        """Release resources; nothing is written afterwards."""


class EventSink(LoggerInterface):
    """A sink that is given events as dicts; subclasses implement `log_event`."""

    def write(self, lines: bytes) -> None:
        """Parse the lines and pass them on one by one."""
        for line in lines.splitlines():
            self.log_event(orjson.loads(line))

    @abstractmethod
    def log_event(self, event: dict[str, Any]) -> None:
        """Take one event, with all its fields."""


class MemorySink(EventSink):
    """Keeps events in a list, `events`."""

    def __init__(self) -> None:
        """Start empty."""
        self.events: list[dict[str, Any]] = []

    def log_event(self, event: dict[str, Any]) -> None:
        """Keep an event."""
        self.events.append(event)


class ConsoleSink(LoggerInterface):
    """Prints lines at or above a log level to a stream.

    Raises:
        ConfigError: If there is no such log level.
    """

    def __init__(self, stream: TextIO | None = None, log_level: str = "INFO") -> None:
        """Take the stream (default: standard error) and the lowest level to show."""
        require_known("log_level", log_level, LOG_LEVELS)
        self.stream = stream
        self.shown = LOG_LEVELS[LOG_LEVELS.index(log_level) :]

    def write(self, lines: bytes) -> None:
        """Print a short form of each line."""
        stream = self.stream or sys.stderr
        for line in lines.splitlines():
            event = orjson.loads(line)
            if event["log_level"] in self.shown:
                text = orjson.dumps(event["event_data"]).decode()
                shown = text if len(text) <= 160 else text[:157] + "..."
                head = f"{event['timestamp'][11:23]} {event['step']:>6} {event['agent_id']}"
                stream.write(f"{head} {event['event_type']} {shown}\n")


class FileSink(LoggerInterface):
    """Writes a `.jsonl` file, compressed if the ending is `.gz` or `.zst`.

    The file belongs to one writer, is readable by its user only, and holds whole lines after each
    `write`, even if the process is killed.

    Args:
        path: The file; its folder is created if necessary.
        overwrite: Whether an existing log may be overwritten; it is kept until the first `write`.

    Raises:
        LogWriteError: If the file exists, is being written by somebody else, or cannot be opened.
        MissingExtraError: If compression is not installed.
    """

    def __init__(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Open and lock the file."""
        self.path = Path(path)
        self._packer = packer(self.path)
        self._file = _open(self.path, overwrite)
        self._owner, self._begun = os.getpid(), False

    def write(self, lines: bytes) -> None:
        """Append lines; they are in the hands of the operating system when this returns."""
        if os.getpid() != self._owner:
            return  # a forked child has the file too, but the log is not its own
        if self._file < 0:
            raise OSError(CLOSED)
        if not self._begun:
            os.ftruncate(self._file, 0)
            self._begun = True
        if self._packer is not None:
            lines = self._packer.pack(lines)
        try:
            _write_all(self._file, lines)
        except OSError:
            if self._packer is not None:  # nothing can follow what was packed and is lost
                self._packer = None
                self.close()
            raise

    def close(self) -> None:
        """End the compressed frame and let go of the file."""
        if self._file < 0:
            return
        file, self._file = self._file, -1
        try:
            if self._packer is not None and self._begun and os.getpid() == self._owner:
                _write_all(file, self._packer.end())
        finally:
            os.close(file)


def refuse_log(place: Path, log: Path) -> None:
    """Raise `LogWriteError` if what is made from a log would take its place."""
    try:
        itself = place.exists() and log.exists() and place.samefile(log)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LogWriteError(f"{place} could not be written: {reason}") from None
    if itself:
        raise LogWriteError(f"{place} is the log itself; give another name")


@contextmanager
def output_file(place: Path, log: Path, overwrite: bool) -> Iterator[Path]:
    """Yield a new file for what is made from a log; see `piase_gym.core.files.replacing`.

    Raises:
        LogWriteError: If that is the log itself, no file, or a file that may not be lost.
    """
    refuse_log(place, log)
    with replacing(place, overwrite=overwrite, error=LogWriteError) as new:
        yield new


def _open(path: Path, overwrite: bool) -> int:
    """Open a file for one writer."""
    if path.suffix in OTHER_PACKERS:
        raise LogWriteError(
            f"{path}: logs are not written as {path.suffix}; allowed: .jsonl, .jsonl.gz, .jsonl.zst"
        )
    try:
        if path.is_dir():
            raise LogWriteError(f"{path} is a folder; a log is a file such as {path / 'run.jsonl'}")
        if path.exists() and not path.is_file():
            raise LogWriteError(f"{path} is a device or a pipe; a log is a file")
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), PRIVATE)
    except LogWriteError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LogWriteError(f"the log {path} cannot be opened: {reason}") from None
    try:
        _lock(file, path)
        if os.fstat(file).st_size and not overwrite:
            raise LogWriteError(
                f"there is a log at {path} already; give another path, or overwrite=True"
            )
        if hasattr(os, "fchmod"):
            os.fchmod(file, PRIVATE)
    except BaseException:
        os.close(file)
        raise
    return file


def _lock(file: int, path: Path) -> None:
    """Lock the file until it is closed, or this process ends."""
    if fcntl is None:  # pragma: no cover
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise LogWriteError(f"the log {path} has a writer already; one writer a file") from None


def _write_all(file: int, data: bytes) -> None:
    """Write all bytes; if the disk takes only some of them, remove these again and raise.

    A file that could not take a buffer thus still ends with a whole line.
    """
    left = memoryview(data)
    done = 0
    try:
        while left:
            count = os.write(file, left)
            done += count
            left = left[count:]
    except OSError:
        if done and stat.S_ISREG(os.fstat(file).st_mode):
            end = os.lseek(file, -done, os.SEEK_CUR)
            os.ftruncate(file, end)
        raise


@dataclass(frozen=True)
class Packer:
    """Compresses a file piece by piece; what is packed can be read before the file is finished.

    Attributes:
        pack: Returns the compressed form of the next bytes.
        end: Returns what comes last.
    """

    pack: Callable[[bytes], bytes]
    end: Callable[[], bytes]


def packer(path: Path) -> Packer | None:
    """Return the packer of a file, by the ending of its name; ``None`` for plain files.

    Raises:
        MissingExtraError: If compression is not installed.
    """
    if path.suffix == ".gz":
        gzip = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        return Packer(lambda data: gzip.compress(data) + gzip.flush(zlib.Z_SYNC_FLUSH), gzip.flush)
    if path.suffix != ".zst":
        return None
    zstandard = need("zstandard", "a log that ends with .zst")
    zst, block = zstandard.ZstdCompressor(level=3).compressobj(), zstandard.COMPRESSOBJ_FLUSH_BLOCK
    return Packer(lambda data: zst.compress(data) + zst.flush(block), zst.flush)
