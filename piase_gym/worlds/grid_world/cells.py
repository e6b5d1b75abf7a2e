"""What a cell can hold, as one byte, and what follows from it. Plain data, no kernel.

The codes that all grids share, and what they mean, are those of `cell_codes`.
"""

from __future__ import annotations

from typing import Final

from piase_gym.worlds.grids.codes import (
    AGENT,
    FLOOR,
    HEADINGS,
    MAX_AGENTS,
    MAX_CODE,
    OUTSIDE,
    UNSEEN,
    WALL,
)

GOAL: Final = 4
KEY: Final = 5
LOCKED: Final = 6
CLOSED: Final = 7
OPEN: Final = 8
BOX: Final = 9
SWITCH_OFF: Final = 10
SWITCH_ON: Final = 11
GATE: Final = 12
GATE_OPEN: Final = 13
HAZARD: Final = 14
FRUIT: Final = 15
BARE: Final = 16
MOVER: Final = 17
FOOD: Final = 18
"""Food for one; the next codes are food that takes two, three and four."""
MAX_FOOD: Final = 4

NAMES: Final = {
    UNSEEN: "unseen",
    OUTSIDE: "outside",
    FLOOR: "floor",
    WALL: "wall",
    GOAL: "goal",
    KEY: "key",
    LOCKED: "locked door",
    CLOSED: "closed door",
    OPEN: "open door",
    BOX: "box",
    SWITCH_OFF: "switch that is off",
    SWITCH_ON: "switch that is on",
    GATE: "closed gate",
    GATE_OPEN: "open gate",
    HAZARD: "hazard",
    FRUIT: "fruit",
    BARE: "bare bush",
    MOVER: "drone",
    FOOD: "food for one",
    FOOD + 1: "food for two",
    FOOD + 2: "food for three",
    FOOD + 3: "food for four",
}
CODES: Final = {name: code for code, name in NAMES.items()}

"""Clockwise, so that a turn is a difference modulo 4."""

WALKABLE: Final = (FLOOR, GOAL, OPEN, GATE_OPEN, HAZARD, FRUIT, BARE)
OPAQUE: Final = (WALL, LOCKED, CLOSED, GATE, OUTSIDE)
SYMBOLS: Final = {
    OUTSIDE: " ",
    FLOOR: ".",
    WALL: "#",
    GOAL: "G",
    KEY: "k",
    LOCKED: "L",
    CLOSED: "+",
    OPEN: "'",
    BOX: "O",
    SWITCH_OFF: "s",
    SWITCH_ON: "S",
    GATE: "=",
    GATE_OPEN: "-",
    HAZARD: "~",
    FRUIT: "*",
    BARE: ",",
    MOVER: "d",
    FOOD: "1",
    FOOD + 1: "2",
    FOOD + 2: "3",
    FOOD + 3: "4",
}
"""The signs of maps and of the ``ansi`` picture."""
START: Final = "@"
"""The sign of an agent's start in a map."""

__all__ = [
    "AGENT",
    "FLOOR",
    "HEADINGS",
    "MAX_AGENTS",
    "MAX_CODE",
    "OUTSIDE",
    "UNSEEN",
    "WALL",
]
