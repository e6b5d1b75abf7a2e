"""An append-only journal of episodes that loses nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from piase_gym.benchmarks.evaluation.protocol import PROTOCOL, EpisodeRecord
from piase_gym.core.files import require_folder
from piase_gym.errors import ProtocolError, StorageError

HEADER = {"journal": "piase_gym episodes", "protocol": PROTOCOL}


class Journal:
    """Episodes in the order in which they were finished, a JSON line each.

    A line that was cut off by a crash or a full disk is skipped when the journal is read; its
    episode is played again. While the disk is full, lines wait in memory and every `add` tries
    again.

    Attributes:
        path: The file.
        records: Finished episodes by key.
        damaged: How many lines could not be read.
        error: Why the last attempt to write failed, or ``None``.
    """

    def __init__(self, path: Path) -> None:
        """Open a journal and read what it has.

        Raises:
            ProtocolError: If it is of another protocol version.
            StorageError: If it cannot be read, or its folder cannot be made.
        """
        self.path = path
        self.records: dict[str, EpisodeRecord] = {}
        self.damaged = 0
        self.error: str | None = None
        self._waiting: list[bytes] = []
        require_folder(path.parent)
        try:
            data = path.read_bytes() if path.is_file() else b""
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror or error}") from error
        self._torn = bool(data) and not data.endswith(b"\n")
        lines = list(self._parse(data))
        if not lines:
            self._waiting.append(_line(HEADER))
        for line in lines:
            self._take(line)

    def _parse(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        """Yield the readable lines."""
        for line in data.splitlines():
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                self.damaged += 1
                continue
            if isinstance(value, dict):
                yield value

    def _take(self, line: Mapping[str, Any]) -> None:
        """Take in one line."""
        if "journal" in line:
            if line.get("protocol") != PROTOCOL:
                raise ProtocolError(
                    f"{self.path} is of protocol {line.get('protocol')!r}; this is protocol "
                    f"{PROTOCOL}: choose another folder, or play anew there"
                )
            return
        record = EpisodeRecord.from_json(line)
        if record.fault is None:
            self.records[record.key] = record

    def add(self, record: EpisodeRecord) -> None:
        """Keep a record, on disk if that is possible; never raises for a full disk."""
        if record.fault is None:
            self.records[record.key] = record
        self._waiting.append(_line(record.to_json()))
        self.flush()

    def flush(self) -> bool:
        """Write what waits. Returns whether nothing waits any more."""
        while self._waiting:
            try:
                with self.path.open("ab", buffering=0) as file:
                    self._write(file.fileno(), self._waiting[0])
            except OSError as error:
                self.error = f"{self.path}: {error.strerror or error}"
                return False
            self._waiting.pop(0)
        self.error = None
        return True

    def _write(self, file: int, line: bytes) -> None:
        """Write one line whole; a torn one before it is ended first."""
        data = b"\n" + line if self._torn else line
        self._torn = True
        while data:
            data = data[os.write(file, data) :]
        self._torn = False

    @property
    def unsaved(self) -> int:
        """How many lines wait for the disk."""
        return len(self._waiting)


def _line(value: Mapping[str, Any]) -> bytes:
    """Return a value as one line of JSON."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)
