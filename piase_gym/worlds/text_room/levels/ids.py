"""The ids of TextRoom as plain data: written stories, generated quests, delayed recall."""

from __future__ import annotations

from typing import Final

STORIES: Final = {
    "LostKey": "lost_key",
    "StoneGate": "stone_gate",
    "ThreeLevers": "three_levers",
    "Sluice": "sluice",
}
"""Which scenario of the library each id plays."""
QUESTS: Final = {
    "Easy": {"rooms": 3, "depth": 1, "distractors": 2},
    "Medium": {"rooms": 6, "depth": 3, "distractors": 4},
    "Hard": {"rooms": 12, "depth": 6, "distractors": 10, "max_steps": 400},
}
"""The configs of quests."""
RECALLS: Final = {f"{delay}": {"recall": delay} for delay in (1, 4, 16, 64)}
"""The configs of delayed recall, by steps between cue and choice."""
