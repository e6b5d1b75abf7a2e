"""The ids of ObjectSearch, beside the plain one. Plain data."""

from __future__ import annotations

from typing import Any, Final

TASKS: Final[dict[str, dict[str, Any]]] = {
    "Mock": {"backend": "mock", "width": 10, "objects": 4},
    "Camera": {"backend": "camera"},
    "House-4p": {"agents": 4, "objects": 8},
}
"""The fields of the config of each."""
