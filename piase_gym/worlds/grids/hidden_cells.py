"""What agents on a grid cannot see: the part of a `World.twin` that worlds made of cells share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.grids.codes import FLOOR, UNSEEN

AHEAD = ((0, -1), (1, 0), (0, 1), (-1, 0))
"""Columns and rows to the cell ahead, by heading: up, right, down, left."""


def seen_places(
    frame: NDArray[np.uint8], place: tuple[int, int], heading: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns and the rows of a grid, or beyond it, that a window shows.

    Args:
        frame: The codes of the window, its nearest row last.
        place: Where the viewer stands, in the middle of that row.
        heading: Where it looks.
    """
    rows, columns = np.nonzero(frame != UNSEEN)
    ahead, aside = len(frame) - 1 - rows, columns - frame.shape[1] // 2
    (x, y), (dx, dy) = place, AHEAD[heading]
    return x + ahead * dx - aside * dy, y + ahead * dy + aside * dx


def unseen_floor(state: Any, agent: int, window: int) -> list[int]:
    """Return the bare cells outside of an agent's window.

    Args:
        state: The record of one environment.
        agent: The agent; it stands in the middle of its window's nearest row.
        window: The side of its window.

    Returns:
        Their places in ``state["cells"]``.
    """
    cells = state["cells"]
    side = round(len(cells) ** 0.5)
    x, y, heading = (int(state[name][agent]) for name in ("x", "y", "heading"))
    taken = set(zip(state["x"].tolist(), state["y"].tolist(), strict=True))
    found = []
    for place in (cells == FLOOR).nonzero()[0].tolist():
        dx, dy = place % side - x, place // side - y
        ahead = dx * AHEAD[heading][0] + dy * AHEAD[heading][1]
        aside = abs(dx * AHEAD[heading][1] - dy * AHEAD[heading][0])
        seen = 0 <= ahead < window and aside <= window // 2
        if not seen and (x + dx, y + dy) not in taken:
            found.append(place)
    return found
