"""What cells of a commons hold, what can become of a command, and why agents end. Plain data."""

from __future__ import annotations

from typing import Final

from piase_gym.core.commands import OUTCOMES as ALL_OUTCOMES
from piase_gym.core.commands import Outcome
from piase_gym.worlds.grids.codes import FLOOR, OUTSIDE, UNSEEN
from piase_gym.worlds.grids.kinds import CellTable, Kind

APPLE: Final = 4
WATER: Final = 5
WASTE: Final = 6
BARE: Final = 7
"""Where an apple can grow and none hangs; only pictures show it."""
TABLE: Final = CellTable(
    Kind(UNSEEN, "unseen", noun="darkness"),
    Kind(OUTSIDE, "outside", " ", noun="the outside"),
    Kind(FLOOR, "floor", ".", noun="floor"),
    Kind(APPLE, "apple", "a"),
    Kind(WATER, "water", "~", noun="water"),
    Kind(WASTE, "waste", "%", noun="waste"),
)

# Actions, by index without a message.
MOVES: Final = 4
STAYING: Final = 4
ZAPPING: Final = 5
CLEANING: Final = 6

# Events. The first is `stepping.NONE`.
MOVE: Final = 1
EAT: Final = 2
STAY: Final = 3
BLOCKED: Final = 4
HIT: Final = 5
MISSED: Final = 6
CLEANED: Final = 7
NOTHING_TO_CLEAN: Final = 8
ILLEGAL: Final = 9
UNPARSABLE: Final = 10  # invalid actions stand in the order of `array_world`'s codes

OUTCOMES: Final = (
    tuple(
        Outcome.FAILED if event in (BLOCKED, MISSED, NOTHING_TO_CLEAN) else Outcome.OK
        for event in range(ILLEGAL)
    )
    + ALL_OUTCOMES[2:]
)
"""The outcome of every event."""
FAILURES: Final = {
    MISSED: "Nobody stands where the zap reaches.",
    NOTHING_TO_CLEAN: "There is no waste where the cleaning reaches.",
}
"""Why an event has the outcome ``failed``; for a bump the reason is the cell ahead."""
MILESTONES: Final = ("apple_eaten", "zapped_another", "was_zapped", "waste_cleaned")
"""The names of the bits of `marks`."""
ATE, ZAPPED, WAS_ZAPPED, HAS_CLEANED = 1, 2, 4, 8

NO_FREE_CELL: Final = 1
"""The fault of a level without room."""
NOWHERE: Final = 255
"""Column and row of an agent in time-out, in a vector."""
NO_HEADING: Final = 4
"""Heading of an agent in time-out, in a vector."""
