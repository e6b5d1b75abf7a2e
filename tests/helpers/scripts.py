"""Scripts and modules that are in no package, such as those of docs/, as modules."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def module_at(path: Path) -> Any:
    """Return what a file defines, as a module with the name of the file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
