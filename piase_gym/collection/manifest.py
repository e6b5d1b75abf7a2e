"""What a folder of collected episodes says of itself: ``manifest.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from piase_gym.errors import StorageError

FORMAT = 1
MANIFEST = "manifest.json"
JOURNAL = "shards.jsonl"


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a folder, when all of its shards are there.

    Raises:
        StorageError: If there is none, it is of another format, or a shard is missing or cut off.
    """
    path = Path(folder, MANIFEST)
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise StorageError(f"{path} is no manifest of format {FORMAT}")
    for shard in found["shards"]:
        file = Path(folder, shard["file"])
        size = file.stat().st_size if file.is_file() else 0
        if size != shard["bytes"]:
            raise StorageError(f"{file} has {size} bytes; its manifest says {shard['bytes']}")
    return found
