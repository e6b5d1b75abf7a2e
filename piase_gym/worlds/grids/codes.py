"""What cells of every grid can hold, as one byte. Plain data, no kernel.

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
AGENT: Final = 32
MAX_AGENTS: Final = 32
MAX_CODE: Final = AGENT + 4 * MAX_AGENTS - 1

HEADINGS: Final = ("up", "right", "down", "left")
TURNS: Final = ("away", "right", "you", "left")
"""Where another agent faces, as the viewer of a window that is turned to its heading sees it."""
