"""The largest sizes of SocialDilemma. Plain data."""

from __future__ import annotations

from typing import Final

MAX_AGENTS: Final = 32
MAX_SYMBOLS: Final = 16
MAX_MEMORY: Final = 32
"""Rounds that agents can look back on."""
MAX_ROUNDS: Final = 10_000
MAX_TALK: Final = 3
MAX_SIDE: Final = 64
MAX_WINDOW: Final = 15
MAX_TIMEOUT: Final = 255
