"""Orchard: no goal; four agents live on the fruit of twelve bushes until time is up."""

from __future__ import annotations

TASKS = {
    "Orchard-12x12-4p-v1": {
        "square": 12,
        "max_steps": 250,
        "fruits": 12,
        "energy": 60,
        "random_goals": 0,
        "agents": 4,
    }
}
