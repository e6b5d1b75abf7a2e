"""The ids of SqlQuery: questions of each hardness. Plain data."""

from __future__ import annotations

from typing import Any, Final

TASKS: Final[dict[str, dict[str, Any]]] = {
    "First": {
        "kinds": ("count", "list", "aggregate"),
        "hardness": ("easy",),
        "tables": 1,
        "columns": 4,
        "rows": 60,
        "answer": "best",
        "max_steps": 3,
    },
    "Easy": {"hardness": ("easy",), "tables": 2, "columns": 5, "rows": 20},
    "Medium": {"hardness": ("medium",)},
    "Hard": {"hardness": ("hard",)},
    "Extra": {"hardness": ("extra",)},
    "Discover": {"discover": True, "hardness": ("easy", "medium"), "max_steps": 15},
    "Write": {"writes": 1.0},
    "Team-2p": {"agents": 2, "hardness": ("medium", "hard"), "shared_reward": True},
}
"""The configs of ids."""
