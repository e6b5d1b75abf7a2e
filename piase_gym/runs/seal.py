"""The seal of a log: the hash of all its lines, in the last one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import xxhash

from piase_gym.runs.columns import seal_of
from piase_gym.runs.log_file import CHUNK, Problem, Raw, has_columns, parse, raw_lines
from piase_gym.runs.schema import sealed


@dataclass(frozen=True)
class Seal:
    """What the seal of a log says.

    Attributes:
        state: ``sealed`` (nothing was changed since), ``unsealed`` or ``broken``.
        reason: Why it is not sealed, in words.
    """

    state: Literal["sealed", "unsealed", "broken"] = "sealed"
    reason: str = ""

    def __str__(self) -> str:
        """Describe the seal in a few words."""
        if self.state == "broken":
            return f"the seal is broken: {self.reason}"
        return f"{self.state} ({self.reason})" if self.reason else self.state


def check_seal(path: str | os.PathLike[str], schema: int) -> Seal:
    """Compare the seal of a log with its lines.

    Args:
        path: The log.
        schema: The version of its schema.
    """
    if has_columns(path):
        return check_columns(Path(path))
    digest, last = xxhash.xxh3_64(), None
    for raw in raw_lines(path):
        if isinstance(raw, Problem):
            return Seal("unsealed", f"it cannot be read to its end: {raw.reason}")
        if last is not None:
            digest.update(last.data + b"\n")
        last = raw
    data = None if last is None else _summary(last)
    if last is None or data is None:
        return Seal("unsealed", "the run was cut short: it does not end with a summary")
    seal, checksum = data.get("seal"), data.get("checksum")
    if seal is None and schema < 2:
        return Seal("unsealed", "a log of schema 1 without a seal")
    if checksum != digest.hexdigest():
        return Seal("broken", "lines were changed after they were written")
    digest.update(sealed(last.data, str(seal)) + b"\n")
    if seal != digest.hexdigest():
        return Seal("broken", "the summary was changed after it was written")
    return Seal()


def check_columns(path: Path) -> Seal:
    """Compare the seal of columns with the bytes before it."""
    with path.open("rb") as file:
        found = seal_of(file)
        if found is None:
            return Seal("unsealed", "the run was cut short: it does not end with a seal")
        left, seal = found
        digest = xxhash.xxh3_64()
        while left:
            part = file.read(min(left, CHUNK))
            digest.update(part)
            left -= len(part)
    if digest.hexdigest() != seal:
        return Seal("broken", "bytes were changed after they were written")
    return Seal()


def _summary(raw: Raw) -> dict[str, object] | None:
    """Return the data of a line if it is a summary."""
    event = parse(raw)
    if isinstance(event, Problem) or event.get("event_type") != "SIMULATION_CONTROL":
        return None
    data = event.get("event_data")
    return data if isinstance(data, dict) and data.get("control") == "end" else None
