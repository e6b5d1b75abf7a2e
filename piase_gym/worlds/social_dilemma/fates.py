"""Why an agent is no longer in play. Plain data."""

from __future__ import annotations

from typing import Final

IN_PLAY: Final = 0
PLAYED: Final = 1
OUT_OF_TIME: Final = 2
