"""Foraging: food instead of goals, some of it too heavy for one agent.

In `Foraging-Coop`, all of it is.
"""

from __future__ import annotations

LAYOUT = 6
REWARDS = {"move": -0.01, "stay": -0.01, "blocked": -0.02, "interact": -0.01}
TASKS = {
    "Foraging-8x8-2p-v1": {"square": 8, "layout": "foraging", "agents": 2},
    "Foraging-Coop-8x8-2p-v1": {
        "square": 8,
        "layout": "foraging",
        "agents": 2,
        "food": 2,
        "min_food_level": 2,
    },
}
