"""The folder of a training run, and its checkpoints, which are written whole or not at all.

A checkpoint is an archive as Stable-Baselines3 writes it, so that its ``load`` reads it, with two
more files: a card that says how the network is built, and the state of everything else (random
generators, environments, statistics), from which training goes on exactly.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from piase_gym.agents.sb3_archive import CARD
from piase_gym.core.files import write_whole
from piase_gym.errors import TrainingError

STATE = "state.json"
KEPT = 2
"""Checkpoints that are kept; an older one serves where the newest is damaged."""


def pack(archive: bytes, more: Mapping[str, Any]) -> bytes:
    """Return an archive with further files, each written as JSON."""
    buffer = io.BytesIO(archive)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as packed:
        for name, value in more.items():
            packed.writestr(name, json.dumps(value))
    return buffer.getvalue()


class Folder:
    """Where a run keeps its files.

    ``settings.json``, ``checkpoints/``, ``policy.zip`` (the best on the dev seeds),
    ``progress.jsonl`` (a line for each look at them), ``result.json`` and ``tensorboard/``.
    """

    def __init__(self, path: str | Path) -> None:
        """Name the folder; nothing is made yet."""
        self.path = Path(path)
        self.settings = self.path / "settings.json"
        self.policy = self.path / "policy.zip"
        self.progress = self.path / "progress.jsonl"
        self.result = self.path / "result.json"
        self.tensorboard = self.path / "tensorboard"

    def checkpoints(self) -> list[Path]:
        """Return the checkpoints, the newest first."""
        found = (self.path / "checkpoints").glob("*.zip")
        return sorted((p for p in found if re.fullmatch(r"\d{12}\.zip", p.name)), reverse=True)

    def save(self, steps: int, content: bytes) -> Path:
        """Write a checkpoint, and forget old ones once it is there.

        Raises:
            StorageError: If it cannot be written; the older ones are kept then.
        """
        path = self.path / "checkpoints" / f"{steps:012d}.zip"
        write_whole(path, content)
        for old in self.checkpoints()[KEPT:]:
            with contextlib.suppress(OSError):
                old.unlink()
        return path

    def newest(self) -> tuple[Path, dict[str, Any], dict[str, Any]]:
        """Return the newest checkpoint that can be read, its card and its state.

        Raises:
            TrainingError: If there is none.
        """
        damaged = []
        for path in self.checkpoints():
            try:
                with zipfile.ZipFile(path) as archive:
                    broken = archive.testzip()
                    if broken is not None:
                        raise ValueError(f"{broken} is damaged")
                    return path, json.loads(archive.read(CARD)), json.loads(archive.read(STATE))
            except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
                damaged.append(f"{path.name} ({error})")
        what = f"only damaged checkpoints: {', '.join(damaged)}" if damaged else "no checkpoint"
        raise TrainingError(f"{self.path} holds {what}; begin anew in another folder")

    def note(self, line: Mapping[str, Any], after: int) -> None:
        """Add a line to the progress, without lines of later steps that were lost.

        Args:
            line: JSON-able data with ``steps``.
            after: Lines of more steps than this are from before an interruption.

        Raises:
            StorageError: If it cannot be written.
        """
        rows = [row for row in self.history() if row["steps"] <= after]
        text = "".join(json.dumps(row) + "\n" for row in [*rows, line])
        write_whole(self.progress, text.encode())

    def history(self) -> list[dict[str, Any]]:
        """Return the lines of the progress."""
        try:
            text = self.progress.read_text("utf-8")
        except OSError:
            return []
        return [json.loads(line) for line in text.splitlines()]
