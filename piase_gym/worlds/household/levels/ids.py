"""The ids of Household: homes of each size and kind of task. Plain data."""

from __future__ import annotations

from typing import Any, Final

TASKS: Final[dict[str, dict[str, Any]]] = {
    "Easy": {"receptacles": 3, "objects": 2, "tasks": ("pick",), "max_steps": 32},
    "Medium": {"receptacles": 12, "objects": 16},
    "Hard": {"receptacles": 34, "objects": 50},
    "Team-2p": {"receptacles": 20, "objects": 30, "agents": 2, "shared_reward": True},
}
"""The configs of ids."""
