"""An append-only file of JSON lines that loses no finished line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from piase_gym.core.files import require_folder
from piase_gym.errors import StorageError


class LineFile:
    """Lines in the order in which they were added, each written whole.

    A line that was cut off by a crash or a full disk is skipped when the file is read, and ended
    before the next is written. While the disk is full, lines wait in memory and every `add` tries
    again.

    Attributes:
        path: The file.
        found: The lines that were there when it was opened.
        damaged: How many lines could not be read.
        error: Why the last attempt to write failed, or ``None``.
    """

    def __init__(self, path: Path, cut: bool = False) -> None:
        """Open a file and read what it has; with `cut`, a torn line at its end is removed.

        Raises:
            StorageError: If it cannot be read, or its folder cannot be made.
        """
        self.path = path
        self.damaged = 0
        self.error: str | None = None
        self._waiting: list[bytes] = []
        require_folder(path.parent)
        try:
            data = path.read_bytes() if path.is_file() or path.is_dir() else b""
            if cut and data and not data.endswith(b"\n"):
                data = data[: data.rfind(b"\n") + 1]
                os.truncate(path, len(data))
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror or error}") from error
        self._torn = bool(data) and not data.endswith(b"\n")
        self.found = list(self._parse(data))

    def _parse(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the readable lines."""
        for line in data.splitlines():
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                self.damaged += 1
                continue
            if isinstance(value, dict):
                yield value

    def add(self, line: Mapping[str, Any]) -> bool:
        """Write a line, if that is possible; a full disk raises nothing.

        Returns:
            Whether everything is on disk.
        """
        self.put(line)
        return self.flush()

    def put(self, line: Mapping[str, Any]) -> None:
        """Keep a line for the next time that something is written."""
        options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
        self._waiting.append(orjson.dumps(line, option=options))

    def flush(self) -> bool:
        """Write the waiting lines, and return whether none waits any more."""
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
