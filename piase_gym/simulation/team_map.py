"""The map that a team of explorers draws together: only what somebody has seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from piase_gym.worlds.grids.codes import on_map

ARROWS: Final = {"up": "^", "right": ">", "down": "v", "left": "<"}
SIGNS: Final = {"wall": "#", "floor": "."}
LEGEND: Final = {
    "#": "wall",
    "o": "low furniture",
    "O": "tall furniture",
    "*": "object",
    ".": "seen",
}
LARGEST: Final = 200
"""Most columns or rows; what lies farther is not drawn."""
Place = tuple[int, int]


class TeamMap:
    """A map of columns and rows, or of positions on a line, as the team knows it.

    It shows where agents have been, what they have seen there and, in a house of ObjectSearch, what
    fills the columns. A place without whole numbers for positions has no map.

    Args:
        env: A `WorldPerceptionInterface`.

    Attributes:
        cells: What is known about each place, as a sign; see `LEGEND`.
        objects: What has been seen, in the order of discovery, and where, if that is known.
        agents: Where each agent is, by number, and which way it faces, as a sign.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.cells: dict[Place, str] = {}
        self.objects: dict[str, Place | None] = {}
        self.agents: dict[int, tuple[Place, str]] = {}

    def draw(self) -> None:
        """Draw what the agents in play see now, and what agents that have just ended saw."""
        engine = self.env.engine
        for record in engine.records.values():
            if not engine.in_play(record) and record.last is None:
                continue
            here = place_of(record.surroundings.position)
            self._draw_window(record)
            if here is not None:
                self.cells.setdefault(here, ".")
                turn = record.surroundings.rotation
                heading = turn.get("heading") if isinstance(turn, Mapping) else turn
                self.agents[record.number] = here, ARROWS.get(str(heading), "@")
            for thing in record.surroundings.objects:
                if thing.kind == "agent":
                    continue
                entry = {"position": record.surroundings.position, **thing.properties}
                lies = None if "in_picture" in entry else place_of(entry["position"])
                if self.objects.get(thing.name) is None:
                    self.objects[thing.name] = lies

    def _draw_window(self, record: Any) -> None:
        """Draw the columns ahead of an agent of a house."""
        facts = self.env.engine.perceived(record).facts
        cells, heading = getattr(facts, "cells", ()), getattr(facts, "heading", None)
        if not cells or heading not in ARROWS or not hasattr(facts, "pitch"):
            return
        window = len(cells), len(cells[0])
        wide, high = facts.size
        for row, names in enumerate(cells):
            for column, what in enumerate(names):
                if what != "unseen":
                    x, y = on_map(window, (row, column), facts.position[:2], heading)
                    if 0 <= x < wide and 0 <= y < high:
                        self.cells[x, y] = sign_of(what)

    @property
    def lines(self) -> list[str]:
        """The map, row by row, two characters per column; empty if there is none."""
        grid = {place: f"{sign} " for place, sign in self.cells.items()}
        grid |= {place: "* " for place in self.objects.values() if place is not None}
        for number, (place, sign) in sorted(self.agents.items(), reverse=True):
            grid[place] = f"{sign}{number % 10}"
        shown = [(x, y) for x, y in grid if 0 <= x < LARGEST and 0 <= y < LARGEST]
        if not shown:
            return []
        wide, high = 1 + max(x for x, _ in shown), 1 + max(y for _, y in shown)
        return ["".join(grid.get((x, y), "  ") for x in range(wide)) for y in range(high)]

    @property
    def legend(self) -> str:
        """What the signs on the map mean."""
        there = {*self.cells.values()} | {"*" for place in self.objects.values() if place}
        return "   ".join(f"{sign} {means}" for sign, means in LEGEND.items() if sign in there)


def sign_of(name: str) -> str:
    """Return the sign of what fills a column."""
    return SIGNS.get(name, "O" if "tall" in name else "o" if "low" in name else ".")


def place_of(position: Any) -> Place | None:
    """Return the column and row of a position; a number is a position on a line."""
    if type(position) is int:
        return position, 0
    if isinstance(position, list | tuple) and len(position) in (2, 3):
        x, y = position[:2]
        if type(x) is int and type(y) is int:
            return x, y
    return None
