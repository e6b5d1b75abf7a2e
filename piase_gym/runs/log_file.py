"""Reads lines of a log of any size, in constant memory, whatever state the file is in."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from piase_gym.core.files import open_regular
from piase_gym.errors import MissingExtraError, RunError

CHUNK = 1 << 20
"""Bytes read at a time."""
PIECE = 1 << 10
"""Compressed bytes unpacked at a time."""
MAX_LINE = 1 << 26
"""Longest line that is read, in bytes; our own logs come nowhere near it."""
MAX_RATIO = 1000
"""The largest expansion ratio of a compressed log, checked beyond its first `MAX_LINE` bytes."""
MOST_BAD = 1000
"""The number of unreadable lines after which the rest of a file is not read."""
GIVEN_UP = f"more than {MOST_BAD} lines are bad; the rest is not read"
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_ARROW = b"\xff\xff\xff\xff"
"""The first bytes of an Arrow stream."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a log, and where.

    Attributes:
        line: Number of the line, from 1; 0 stands for the file as a whole.
        reason: What is wrong, in words.
        severity: ``error``, or ``warning`` for what is normal in a run that was cut short.
        drift: For columns, where a replayed state differs from the recorded one: the step, the
            episode, the slot, the recorded digest and the present one.
    """

    line: int
    reason: str
    severity: str = "error"
    drift: tuple[int, int, int, str, str] | None = None

    def __str__(self) -> str:
        """Return ``line 3: ...``."""
        return f"line {self.line}: {self.reason}" if self.line else self.reason


class Raw(NamedTuple):
    """A line as bytes, without its line feed; `torn` if it has none."""

    number: int
    data: bytes
    torn: bool


def open_log(path: str | os.PathLike[str], level: str | None = None) -> BinaryIO:
    """Open a log: plain, compressed with zstandard or gzip, or columns, as its first bytes show.

    Args:
        path: The file.
        level: The level of the lines to which columns expand, by default the recorded one.

    Raises:
        RunError: If there is no such file, it cannot be opened, or is a device or a pipe.
        MissingExtraError: If it is compressed by zstandard, which is not installed.
    """
    place = Path(path)
    try:
        file = open_regular(place)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"the log {place} cannot be read: {reason}") from None
    start = file.read(4)
    file.seek(0)
    if start == _ARROW:
        from piase_gym.runs.column_lines import Expansion  # its imports are not needed for lines

        return Expansion(place, file, level)  # type: ignore[return-value]
    if level is not None:
        file.close()
        raise RunError(f"{place} has lines already; only columns expand to lines of any level")
    if start == _ZSTD:
        return _Unpacked(file, *_zstd(file))  # type: ignore[return-value]
    if start[:2] == _GZIP:
        return _Unpacked(file, lambda: _Gunzip().decompress, zlib.error)  # type: ignore[return-value]
    return file


def has_columns(path: str | os.PathLike[str]) -> bool:
    """Return whether a log has columns instead of lines, judging by its first bytes."""
    with Path(path).open("rb") as file:
        return file.read(4) == _ARROW


def is_plain(path: str | os.PathLike[str]) -> bool:
    """Return whether a log is neither compressed nor columns, judging by its first bytes."""
    with Path(path).open("rb") as file:
        start = file.read(4)
    return start not in (_ARROW, _ZSTD) and start[:2] != _GZIP


def _zstd(file: BinaryIO) -> tuple[Callable[[], Callable[[bytes], bytes]], type[Exception]]:
    """Return a factory of functions that unpack pieces, and the error that they raise."""
    try:
        import zstandard
    except ImportError:
        file.close()
        raise MissingExtraError("a compressed log", "data") from None
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    return lambda: unpacker.decompressobj(read_across_frames=True).decompress, zstandard.ZstdError


class _Gunzip:
    """Unpacks the members of a gzip file, one after the other."""

    def __init__(self) -> None:
        self._object = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def decompress(self, packed: bytes) -> bytes:
        """Return what the next bytes unpack to."""
        parts = []
        while packed:
            parts.append(self._object.decompress(packed))
            packed = self._object.unused_data
            if self._object.eof:
                self._object = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return b"".join(parts)


class _Unpacked:
    """The content of a compressed file, as far as it is intact and does not expand too much.

    A streaming reader would hold back what was written last before a run was killed, so pieces are
    unpacked one by one, each small enough that no decompression bomb fills the memory.
    """

    def __init__(
        self, file: BinaryIO, start: Callable[[], Callable[[bytes], bytes]], error: type[Exception]
    ) -> None:
        self._file, self._start, self._error = file, start, error
        self._unpack = start()
        self._taken = self._given = 0
        self.fault = ""

    def read(self, size: int) -> bytes:
        """Return about `size` of the next bytes; none after damage, which is then in `fault`."""
        parts, count = list[bytes](), 0
        while count < size and not self.fault:
            packed = self._file.read(PIECE)
            if not packed:
                break
            try:
                part: bytes = self._unpack(packed)
            except self._error as error:
                self.fault = f"the compressed data is damaged: {error}"
                parts.append(self._before_damage(packed))
                break
            parts.append(part)
            count += len(part)
            self._taken += len(packed)
            self._given += len(part)
            if self._given > MAX_LINE and self._given > MAX_RATIO * self._taken:
                self.fault = f"the data expands more than {MAX_RATIO} times; it is refused"
        return b"".join(parts)

    def _before_damage(self, packed: bytes) -> bytes:
        """Return what a damaged piece holds before the damage, unpacked again byte by byte."""
        unpack, parts = self._start(), list[bytes]()
        self._file.seek(0)
        while left := self._taken - self._file.tell():
            unpack(self._file.read(min(PIECE, left)))
        try:
            for at in range(len(packed)):
                parts.append(unpack(packed[at : at + 1]))
        except self._error:
            pass  # it has been reported already
        return b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def raw_lines(path: str | os.PathLike[str], level: str | None = None) -> Iterator[Raw | Problem]:
    """Yield the lines of a log; if it cannot be read any further, a `Problem` comes last."""
    file = open_log(path, level)
    number, size = 0, 0
    begun: list[bytes] = []  # the pieces of a line that is not yet whole
    try:
        while chunk := file.read(CHUNK):
            *parts, rest = chunk.split(b"\n")
            if parts and begun:
                parts[0] = b"".join((*begun, parts[0]))
                begun, size = [], 0
            for part in parts:
                number += 1
                yield Raw(number, part, False)
            begun.append(rest)
            size += len(rest)
            if size > MAX_LINE:
                yield Problem(number + 1, f"the line has more than {MAX_LINE} bytes")
                return
        fault = getattr(file, "fault", "")
        if size and not fault:
            yield Raw(number + 1, b"".join(begun), True)
        if fault:
            yield Problem(number + 1, fault, "warning" if getattr(file, "cut", False) else "error")
        drift = getattr(file, "drift", None)
        if drift is not None:
            step, _, slot, logged, replayed = drift
            message = f"after step {step} the state of slot {slot} was {logged}, is now {replayed}"
            yield Problem(number + 1, message, "error", drift)
    finally:
        file.close()


def parse(raw: Raw) -> dict[str, Any] | Problem:
    """Return a line as an event, or a `Problem` that says why it is not one."""
    try:
        event = orjson.loads(raw.data)
        if isinstance(event, dict):
            return event
        reason = f"the line is a JSON {type(event).__name__}, not an object"
    except orjson.JSONDecodeError as error:
        reason = _json_problem(raw.data, error)
    if raw.torn:
        reason = "the last line is torn: the run was cut short while it was written"
    return Problem(raw.number, reason, "warning" if raw.torn else "error")


def _json_problem(data: bytes, error: Exception) -> str:
    """Say why a line is not JSON."""
    if not data.strip():
        return "the line is empty"
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return f"the line is not UTF-8: {wrong.reason} at byte {wrong.start}"
    return f"the line is not JSON: {error}"
