"""The journal of an evaluation: episodes in the order in which they were finished."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from piase_gym.benchmarks.evaluation.protocol import PROTOCOL, EpisodeRecord
from piase_gym.errors import ProtocolError
from piase_gym.jobs import LineFile

HEADER = {"journal": "piase_gym episodes", "protocol": PROTOCOL}


class Journal:
    """Episodes, a JSON line each; what was cut off is played again.

    Attributes:
        file: The lines.
        records: Finished episodes by key.
    """

    def __init__(self, path: Path) -> None:
        """Open a journal and read what it has.

        Raises:
            ProtocolError: If it is of another protocol version.
            StorageError: If it cannot be read, or its folder cannot be made.
        """
        self.file = LineFile(path)
        self.records: dict[str, EpisodeRecord] = {}
        for line in self.file.found:
            self._take(line)
        if not self.file.found:
            self.file.put(HEADER)

    def _take(self, line: Mapping[str, Any]) -> None:
        """Take in one line."""
        if "journal" in line:
            if line.get("protocol") != PROTOCOL:
                raise ProtocolError(
                    f"{self.file.path} is of protocol {line.get('protocol')!r}; this is protocol "
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
        self.file.add(record.to_json())
