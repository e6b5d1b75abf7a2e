"""What cells of every grid can hold, as one byte. Plain data, no kernel.

A byte below `AGENT` is an object (or nothing, or the unknown). A byte from `AGENT` on is an agent
and its heading as the viewer sees it: ``AGENT + 4 * number + turn``, where turn 0 is the viewer's
own heading, 1 a quarter turn clockwise, and so on. What stands on top hides what lies below.
"""

from __future__ import annotations

from typing import Any, Final

UNSEEN: Final = 0
OUTSIDE: Final = 1
FLOOR: Final = 2
WALL: Final = 3
AGENT: Final = 32
MAX_AGENTS: Final = 32
MAX_CODE: Final = AGENT + 4 * MAX_AGENTS - 1

AHEAD: Final = {"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)}
"""The step to the cell ahead, as columns and rows, by heading."""
HEADINGS: Final = tuple(AHEAD)
TURNS: Final = ("away", "right", "you", "left")
"""Where another agent faces, as the viewer of a window that is turned to its heading sees it."""


def far(one: tuple[int, int], two: tuple[int, int]) -> int:
    """Return how many steps lie between two cells."""
    return abs(one[0] - two[0]) + abs(one[1] - two[1])


def on_map(
    size: tuple[int, ...], cell: tuple[Any, Any], place: tuple[int, int], heading: str
) -> tuple[Any, Any]:
    """Return the grid column and row that a cell of a window shows, for one cell or many at once.

    Args:
        size: Rows and columns of the window.
        cell: Row and column of the cell.
        place: Where the viewer stands, in the middle of the last row.
        heading: The viewer's heading.
    """
    ahead, aside = size[0] - 1 - cell[0], cell[1] - size[1] // 2
    (x, y), (dx, dy) = place, AHEAD[heading]
    return x + ahead * dx - aside * dy, y + ahead * dy + aside * dx
