"""Why an agent is no longer in play. Plain data."""

from __future__ import annotations

from typing import Final

from piase_gym.core.commands import Result

IN_PLAY: Final = 0
PLAYED: Final = 1
OUT_OF_TIME: Final = 2

RESULTS: Final = (Result.LOST, Result.ENDED, Result.LOST)
"""The result of every fate: ended when the game was over, lost when the time was."""
