"""The ids of WordCraft: tasks of each depth, kinds of splits, teams. Plain data."""

from __future__ import annotations

from typing import Any, Final

TASKS: Final[dict[str, dict[str, Any]]] = {
    "Pantry": {
        "entities": 40,
        "depth": 2,
        "mixes": 3,
        "split": "by_task",
        "train_ratio": 0.6,
        "features": "one_hot",
    },
    "Depth1": {"depth": 1, "distractors": 4},
    "Depth2": {"depth": 2, "distractors": 4},
    "Depth3": {"depth": 3, "distractors": 4},
    "Depth4": {"depth": 4, "distractors": 4},
    "Depth5": {"depth": 5, "distractors": 4, "mixes": 8},
    "NewGoals": {"depth": 2, "distractors": 2, "split": "by_goal", "train_ratio": 0.8},
    "NewRecipes": {"depth": 1, "distractors": 1, "split": "by_recipe", "train_ratio": 0.8},
    "Team-2p": {"depth": 3, "distractors": 2, "agents": 2, "shared_reward": True},
    "Trade-3p": {"depth": 3, "agents": 3, "mixes": 4, "trade": True},
}
"""The configs of ids."""
