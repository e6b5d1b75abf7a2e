"""What columns of a house hold, what agents can do, and what can become of it. Plain data."""

from __future__ import annotations

from typing import Final

import numpy as np

from piase_gym.core.commands import OUTCOMES as ALL_OUTCOMES
from piase_gym.core.commands import Outcome, Result
from piase_gym.worlds.grids.codes import FLOOR, OUTSIDE, UNSEEN, WALL
from piase_gym.worlds.grids.kinds import CellTable, Kind

MAX_AGENTS: Final = 8
MAX_OBJECTS: Final = 16
MAX_SIDE: Final = 32
MAX_LINE: Final = 64
LEVELS: Final = 3
"""The number of cells in a column of a house, one above the other."""

LOW: Final = 8
TALL: Final = 24
TABLE: Final = CellTable(
    Kind(UNSEEN, "unseen", noun="dark"),
    Kind(OUTSIDE, "outside", " ", noun="outside"),
    Kind(FLOOR, "floor", ".", noun="floor"),
    Kind(WALL, "wall", "#"),
    Kind(LOW, "low", "o", noun="low furniture"),
    Kind(TALL, "tall", "O", noun="tall furniture"),
)
"""Bit 0 of a code says that a column is full, bit 3 that something fills its lowest cell, and bit 4
that something fills its middle cell; see `full_to`."""
HEIGHT: Final = np.full(256, LEVELS, np.int64)
"""How many cells of a column are filled, by code. Objects lie on top of them."""
HEIGHT[[FLOOR, LOW, TALL]] = 0, 1, 2

# Actions, by index without a message: the twelve of the explorer document, then the no-op.
VERBS: Final = (
    "forward",
    "backward",
    "move_left",
    "move_right",
    "move_up",
    "move_down",
    "look_left",
    "look_right",
    "look_up",
    "look_down",
    "tilt_left",
    "tilt_right",
    "stay",
)
UP: Final = VERBS.index("move_up")
LOOK_LEFT: Final = VERBS.index("look_left")
LOOK_UP: Final = VERBS.index("look_up")
STAYING: Final = VERBS.index("stay")
ACTIONS: Final = len(VERBS)

PITCHES: Final = ("down", "level", "up")
ROLLS: Final = ("left", "upright", "right")
LEVEL: Final = 1
"""The pitch of an agent that looks level, and the roll of an agent with its head upright."""

# Events. The first is `stepping.NONE`.
DONE: Final = 1
BLOCKED: Final = 2
STOPPED: Final = 3
ENTER: Final = 4
ILLEGAL: Final = 5
UNPARSABLE: Final = 6  # invalid actions stand in the order of `array_world`'s codes

WAITING: Final = 255
"""Stands for `BLOCKED` while an agent has to wait for its choice."""

OUTCOMES: Final = (
    Outcome.OK,
    Outcome.OK,
    Outcome.FAILED,
    Outcome.FAILED,
    Outcome.OK,
    *ALL_OUTCOMES[2:],
)
"""The outcome of every event."""
FAILURES: Final = {
    BLOCKED: "Something is in the way there, or the place ends.",
    STOPPED: "Your head does not turn any further.",
    WAITING: "It is not yet time to choose.",
}
"""Why an event has the outcome ``failed``."""

MILESTONES: Final = ("object_found", "all_found", "reported")
FOUND_ONE, FOUND_ALL, REPORTED = 1, 2, 4
"""The bits of `marks`."""

IN_PLAY, FINISHED, OUT_OF_TIME = 0, 1, 2
RESULTS: Final = (Result.LOST, Result.WON, Result.LOST)
"""The result of every fate."""

NO_ROOM: Final = 1
"""The fault of a place that has too little room."""

NAMES: Final = (
    "keyboard",
    "chair",
    "table",
    "lamp",
    "book",
    "cup",
    "phone",
    "plant",
    "clock",
    "vase",
    "backpack",
    "radio",
    "umbrella",
    "guitar",
    "camera",
    "ball",
)
"""The default names of objects."""
