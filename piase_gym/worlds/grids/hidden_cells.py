"""What agents on a grid cannot see: the part of a `World.twin` that worlds made of cells share."""

from __future__ import annotations

from typing import Any

from piase_gym.worlds.grids.codes import AHEAD, FLOOR

STEPS = tuple(AHEAD.values())


def unseen_floor(state: Any, agent: int, window: int) -> list[int]:
    """Return the bare floor cells outside of an agent's window.

    Args:
        state: The record of one environment.
        agent: The agent, which stands in the middle of its window's nearest row.
        window: The side of its window.

    Returns:
        Their indices in ``state["cells"]``.
    """
    cells = state["cells"]
    side = round(len(cells) ** 0.5)
    x, y, heading = (int(state[name][agent]) for name in ("x", "y", "heading"))
    taken = set(zip(state["x"].tolist(), state["y"].tolist(), strict=True))
    found = []
    for place in (cells == FLOOR).nonzero()[0].tolist():
        dx, dy = place % side - x, place // side - y
        ahead = dx * STEPS[heading][0] + dy * STEPS[heading][1]
        aside = abs(dx * STEPS[heading][1] - dy * STEPS[heading][0])
        seen = 0 <= ahead < window and aside <= window // 2
        if not seen and (x + dx, y + dy) not in taken:
            found.append(place)
    return found
