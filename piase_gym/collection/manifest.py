"""What a folder of collected episodes says about itself: ``manifest.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from piase_gym.errors import StorageError
from piase_gym.runs.schema import LINE_DAMAGE

FORMAT = 2
MANIFEST = "manifest.json"
JOURNAL = "shards.jsonl"


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a folder, if all of its shards are there.

    Raises:
        StorageError: If there is none, it is of another format, or a shard is missing or cut off.
    """
    path = Path(folder, MANIFEST)
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, RecursionError, ValueError) as error:
        raise StorageError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise StorageError(f"{path} is no manifest of format {FORMAT}")
    try:
        sizes = [size for shard in found["shards"] for size in sizes_of(folder, shard)]
    except LINE_DAMAGE as error:
        raise StorageError(f"{path} is damaged: {error!r:.100}") from None
    for file, size, noted in sizes:
        if size != noted:
            raise StorageError(f"{file} has {size} bytes; its manifest says {noted}")
    return found


def sizes_of(folder: str | Path, shard: Mapping[str, Any]) -> Iterator[tuple[Path, int, int]]:
    """Yield each file of a shard, its size (0 if it is missing), and its size in the manifest."""
    for name, entry in shard["files"].items():
        file = Path(folder, name)
        yield file, file.stat().st_size if file.is_file() else 0, entry["bytes"]
