"""Lines out of a log of any size, in constant memory, whatever state the file is in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from piase_gym.errors import MissingExtraError, RunError

CHUNK = 1 << 20
"""Bytes read at a time."""
PIECE = 1 << 10
"""Compressed bytes unpacked at a time."""
MAX_LINE = 1 << 26
"""Longest line that is read, in bytes; no log of ours comes near it."""
MAX_RATIO = 1000
"""A compressed log expands at most so many times, beyond its first `MAX_LINE` bytes."""
MOST_BAD = 1000
"""After so many lines that cannot be read, the rest of a file is left alone."""
GIVEN_UP = f"more than {MOST_BAD} lines are bad; the rest is not read"
_MAGIC = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class Problem:
    """What is wrong with a log, and where.

    Attributes:
        line: Number of the line, from 1; 0 if the file as a whole is meant.
        reason: What is wrong, in words.
        severity: ``error``, or ``warning`` for what is normal in a run that was cut short.
    """

    line: int
    reason: str
    severity: str = "error"

    def __str__(self) -> str:
        """Return ``line 3: ...``."""
        return f"line {self.line}: {self.reason}" if self.line else self.reason


class Raw(NamedTuple):
    """A line as bytes, without its line feed; `torn` if it has none."""

    number: int
    data: bytes
    torn: bool


def open_log(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a plain or compressed log.

    Raises:
        RunError: If there is no such file, or it cannot be opened.
        MissingExtraError: If it is compressed and zstandard is not installed.
    """
    place = Path(path)
    try:
        file: BinaryIO = place.open("rb")
    except OSError as error:
        raise RunError(f"the log {place} cannot be read: {error.strerror}") from None
    start = file.read(4)
    file.seek(0)
    if start != _MAGIC:
        return file
    return _Unpacked(file)  # type: ignore[return-value]


class _Unpacked:
    """The content of a compressed file: as far as it goes, and no further than is reasonable.

    A streaming reader would keep back what was written last before a run was killed; so pieces are
    unpacked one by one, each so small that no bomb fills the memory.
    """

    def __init__(self, file: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            file.close()
            raise MissingExtraError("a compressed log", "data") from None
        self._file, self._error = file, zstandard.ZstdError
        unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        self._object = unpacker.decompressobj(read_across_frames=True)
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
                part: bytes = self._object.decompress(packed)
            except self._error as error:
                self.fault = f"the compressed data is damaged: {error}"
                break
            parts.append(part)
            count += len(part)
            self._taken += len(packed)
            self._given += len(part)
            if self._given > MAX_LINE and self._given > MAX_RATIO * self._taken:
                self.fault = f"the data expands more than {MAX_RATIO} times; it is refused"
        return b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def raw_lines(path: str | os.PathLike[str]) -> Iterator[Raw | Problem]:
    """Yield the lines of a log; where it cannot be read on, a `Problem` comes last."""
    file = open_log(path)
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
            yield Problem(number + 1, fault)
    finally:
        file.close()


def parse(raw: Raw) -> dict[str, Any] | Problem:
    """Return a line as an event, or say why it is none."""
    if raw.torn:
        reason = "the last line is torn: the run was cut short while it was written"
        try:
            event = orjson.loads(raw.data)
        except orjson.JSONDecodeError:
            return Problem(raw.number, reason, "warning")
        if isinstance(event, dict):
            return event
        return Problem(raw.number, reason, "warning")
    try:
        event = orjson.loads(raw.data)
    except orjson.JSONDecodeError as error:
        return Problem(raw.number, _why(raw.data, error))
    if not isinstance(event, dict):
        return Problem(raw.number, f"the line is a JSON {type(event).__name__}, not an object")
    return event


def _why(data: bytes, error: Exception) -> str:
    """Say why a line is not JSON."""
    if not data.strip():
        return "the line is empty"
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return f"the line is not UTF-8: {wrong.reason} at byte {wrong.start}"
    return f"the line is not JSON: {error}"
