"""SocialDilemma's largest sizes, and why an agent is no longer in play. Plain data."""

from __future__ import annotations

from typing import Final

from piase_gym.core.commands import Result

MAX_AGENTS: Final = 32
MAX_MEMORY: Final = 32
"""Rounds that agents can look back on."""
MAX_ROUNDS: Final = 10_000
MAX_TALK: Final = 3
MAX_SIDE: Final = 64
MAX_WINDOW: Final = 15
MAX_TIMEOUT: Final = 255

IN_PLAY: Final = 0
PLAYED: Final = 1
OUT_OF_TIME: Final = 2

WON: Final = 3  # only by a script

RESULTS: Final = (Result.LOST, Result.ENDED, Result.LOST, Result.WON)
"""The result of every fate: ended if the game was over, lost if the time was."""
