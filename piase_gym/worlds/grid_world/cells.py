"""What a cell can hold, as one byte, and what follows from it. Plain data, no kernel.

A byte below `AGENT` is an object (or nothing, or the unknown); from `AGENT` on it is an agent and
its heading as the viewer sees it: ``AGENT + 4 * number + turn``, where turn 0 faces as the viewer
does, 1 is a quarter turn clockwise, and so on. What stands on top hides what lies below.
"""

from __future__ import annotations

from typing import Final

UNSEEN: Final = 0
OUTSIDE: Final = 1
FLOOR: Final = 2
WALL: Final = 3
GOAL: Final = 4
KEY: Final = 5
LOCKED: Final = 6
CLOSED: Final = 7
OPEN: Final = 8
AGENT: Final = 32
MAX_AGENTS: Final = 32
MAX_CODE: Final = AGENT + 4 * MAX_AGENTS - 1

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
}
CODES: Final = {name: code for code, name in NAMES.items()}

HEADINGS: Final = ("up", "right", "down", "left")
"""Clockwise, so that a turn is a difference modulo 4."""

WALKABLE: Final = (FLOOR, GOAL, OPEN)
OPAQUE: Final = (WALL, LOCKED, CLOSED, OUTSIDE)
SYMBOLS: Final = {
    OUTSIDE: " ",
    FLOOR: ".",
    WALL: "#",
    GOAL: "G",
    KEY: "k",
    LOCKED: "L",
    CLOSED: "+",
    OPEN: "'",
}
"""The signs of maps and of the ``ansi`` picture."""
