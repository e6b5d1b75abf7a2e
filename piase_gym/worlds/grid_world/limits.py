"""The largest sizes of GridWorld. Plain data."""

from __future__ import annotations

from typing import Final

MAX_SIDE: Final = 64
MAX_GOALS: Final = 16
MAX_PATCHES: Final = 64
MAX_MOVERS: Final = 16
