"""Tag: taggers chase runners, who win by lasting. Harder levels have more walls."""

from __future__ import annotations

LAYOUT = 7
PLAIN_RULES = False
REWARDS = {"move": -0.01, "stay": -0.01, "blocked": -0.02}
TASKS = {
    "Tag-10x10-4p-v2": {"square": 10, "max_steps": 250, "layout": "tag", "taggers": 2, "agents": 4}
}
