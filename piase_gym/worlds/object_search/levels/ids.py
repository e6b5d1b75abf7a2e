"""The ids of ObjectSearch, besides the plain one. Plain data."""

from __future__ import annotations

from typing import Any, Final

TASKS: Final[dict[str, dict[str, Any]]] = {
    "Mock": {"agents": 2, "backend": "mock", "width": 10, "objects": 4},
    "Room": {"agents": 1, "width": 8, "height": 8, "objects": 3, "max_steps": 60},
    "House-4p": {"agents": 4},
    "House-Silent-4p": {"agents": 4, "channel": False},
    "House-Wandering-4p": {"agents": 4, "wandering": 4, "max_steps": 200},
    **{f"Recall-{delay}": {"recall": delay} for delay in (1, 4, 16, 64)},
    "Camera": {"backend": "camera", "agents": 2, "max_steps": 150},
}
"""The config fields of each id, by the end of its name."""
