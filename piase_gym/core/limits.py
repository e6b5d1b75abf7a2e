"""Limits that the fields of many configs, scripts and curricula share."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

MOST_STEPS: Final = 2**31 - 1
"""The most steps of an episode, and the largest number of occurrences: what 32 bits hold."""
MOST_AGENTS: Final = 10_000
"""The most agents of a world that has no smaller limit of its own."""
MOST_REWARD: Final = 1e6
"""The largest reward or penalty of one event: sums over the longest episode stay exact enough."""
Reward = Annotated[float, Field(ge=-MOST_REWARD, le=MOST_REWARD)]
SmallReward = Annotated[float, Field(ge=-1000.0, le=1000.0)]
"""A reward or cost that 32 bits hold, or that numbers of the config multiply."""
Share = Annotated[float, Field(ge=0.0, le=1.0)]
