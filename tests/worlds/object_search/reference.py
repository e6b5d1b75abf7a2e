"""A slow second writing of what is seen in a house, from the rules as the page tells them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

FULL = {2: 0, 8: 1, 24: 2, 3: 3, 1: 3}
"""Cells that are filled, by code."""
WAYS = {0: (0, -1), 1: (1, 0), 2: (0, 1), 3: (-1, 0)}


class House:
    """The house of a record.

    Args:
        record: The state of one environment.
        sight: How many columns far agents see.
    """

    def __init__(self, record: Any, sight: int) -> None:
        self.record, self.sight = record, sight
        self.side = math.isqrt(len(record["cells"]))
        self.width, self.height = int(record["width"]), int(record["height"])

    def code(self, x: int, y: int) -> int:
        """Return what fills a column."""
        inside = 0 <= x < self.width and 0 <= y < self.height
        return int(self.record["cells"][y * self.side + x]) if inside else 1

    def offsets(self) -> list[tuple[int, int]]:
        """Return (ahead, right) of all columns that can come into sight."""
        return [(a, r) for a in range(self.sight + 1) for r in range(-min(a, 3), min(a, 3) + 1)]

    def column(self, agent: int, ahead: int, right: int) -> tuple[int, int]:
        """Return a column, given from an agent."""
        x, y, heading = (int(self.record[n][agent]) for n in ("x", "y", "heading"))
        (fx, fy), (rx, ry) = WAYS[heading], WAYS[(heading + 1) % 4]
        return x + ahead * fx + right * rx, y + ahead * fy + right * ry

    def clear(self, agent: int, ahead: int, right: int, level: int) -> bool:
        """Tell whether nothing rises above the straight line to a cell."""
        eye, steps = int(self.record["z"][agent]), max(ahead, abs(right))
        for step in range(1, steps):
            part = Fraction(step, steps)
            near = [nearest(part * ahead), nearest(part * abs(right)) * (1 if right > 0 else -1)]
            line = eye + Fraction(1, 2) + part * (level - eye)
            if FULL[self.code(*self.column(agent, *near))] > line:
                return False
        return True

    def in_view(self, agent: int, ahead: int, right: int, level: int) -> bool:
        """Tell whether a cell is in the pyramid that the head looks through."""
        eye, pitch, roll = (int(self.record[n][agent]) for n in ("z", "pitch", "roll"))
        up, tilt = math.radians(60 * (pitch - 1)), math.radians(45 * (roll - 1))
        forth, aside, rise = float(ahead), float(right), float(level - eye)
        if not (forth or aside or rise):
            return True
        depth = forth * math.cos(up) + rise * math.sin(up)
        above = rise * math.cos(up) - forth * math.sin(up)
        across = aside * math.cos(tilt) - above * math.sin(tilt)
        upright = above * math.cos(tilt) + aside * math.sin(tilt)
        return abs(across) <= 1.05 * depth and abs(upright) <= 0.62 * depth

    def looked_at(self, agent: int) -> set[tuple[int, int]]:
        """Return the columns whose top an agent sees."""
        found = set()
        for ahead, right in self.offsets():
            place = self.column(agent, ahead, right)
            level = FULL[self.code(*place)]
            seen = level < 3 and self.in_view(agent, ahead, right, level)
            if seen and self.clear(agent, ahead, right, level):
                found.add(place)
        return found

    def window(self, agent: int) -> list[int]:
        """Return the codes of the columns ahead, the farthest row first."""
        looked, codes = self.looked_at(agent), [0] * 49
        for ahead, right in self.offsets():
            place = self.column(agent, ahead, right)
            if place in looked or self.clear(agent, ahead, right, int(self.record["z"][agent])):
                codes[(6 - ahead) * 7 + 3 + right] = self.code(*place)
        return codes

    def objects(self, agent: int) -> set[int]:
        """Return the numbers of the objects that an agent sees."""
        looked, goal = self.looked_at(agent), int(self.record["goal"])
        places = [(int(at) % self.side, int(at) // self.side) for at in self.record["place"]]
        return {i for i, at in enumerate(places) if goal >> i & 1 and at in looked}


def nearest(value: Fraction) -> int:
    """Round; a half goes to zero."""
    return math.ceil(value - Fraction(1, 2))
