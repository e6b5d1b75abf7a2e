"""Episodes of any policies as sharded files with a manifest: ``piase collect``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.collection.folder import collect
    from piase_gym.collection.manifest import read_manifest
    from piase_gym.collection.table import COLUMNS

__all__ = ["COLUMNS", "collect", "read_manifest"]

__getattr__, __dir__ = lazy(__name__)
