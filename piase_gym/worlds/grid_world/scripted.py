"""GridWorld's script: an honest player by rule, who knows only what its facts told so far.

It draws a map of what it has seen, goes to a goal it knows the way to, else fetches a key for a
locked door, else walks to the nearest place from which it has not looked yet.
"""

from __future__ import annotations

import heapq
from typing import Final

from piase_gym.worlds.cell_prose import YOU
from piase_gym.worlds.grid_world.views import GridFacts
from piase_gym.worlds.grid_world.world import GridWorld

Cell = tuple[int, int]
MOVES: Final = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
ACTIONS: Final = {name: index for index, name in enumerate(MOVES)}
STAY, INTERACT = 4, 5
FREE: Final = ("floor", "goal", "open door")
BUMP: Final = 10
"""What walking against something costs in moves, as in the reward table."""


class GridScript:
    """Plays one agent of GridWorld from its facts.

    Args:
        world: The world to ask for facts; nothing else of it is read.
    """

    def __init__(self, world: GridWorld) -> None:
        self.world = world
        self._map: dict[Cell, str] = {}
        self._others: set[Cell] = set()
        self._waited = 0

    def act(self, agent: int) -> int:
        """Return the index of the next action."""
        facts = self.world.facts(agent)
        self._look(facts)
        for wanted in self._wishes(facts):
            action = self._towards(facts, wanted)
            if action is not None:
                return self._patiently(facts, action)
        return STAY

    def _look(self, facts: GridFacts) -> None:
        """Draw what is in sight into the map."""
        self._others = set()
        for row, names in enumerate(facts.cells):
            for column, name in enumerate(names):
                if name in ("unseen", "outside"):
                    continue
                cell = self._place(facts, row, column)
                if " facing " in name:
                    self._others.add(cell)
                    self._map.setdefault(cell, "floor")
                elif name == YOU or cell == facts.position:
                    self._map.setdefault(cell, "floor")
                else:
                    self._map[cell] = name

    def _place(self, facts: GridFacts, row: int, column: int) -> Cell:
        """Return the cell of the grid that a cell of the view shows."""
        if self.world.config.observe == "grid":
            return column, row
        ahead, aside = len(facts.cells) - 1 - row, column - len(facts.cells[0]) // 2
        dx, dy = MOVES[facts.heading]
        x, y = facts.position
        return x + ahead * dx - aside * dy, y + ahead * dy + aside * dx

    def _wishes(self, facts: GridFacts) -> list[set[Cell]]:
        """Return the cells to go to or act upon, the most wanted first."""
        known: dict[str, set[Cell]] = {}
        for cell, name in self._map.items():
            known.setdefault(name, set()).add(cell)
        doors = known.get("locked door", set()) if facts.carrying == "key" else set()
        keys = set() if facts.carrying else known.get("key", set())
        wishes = [known.get("goal", set()), doors, known.get("closed door", set())]
        if known.get("locked door") or not self._edge(facts):
            wishes.append(keys)
        return [*wishes, self._edge(facts), keys]

    def _edge(self, facts: GridFacts) -> set[Cell]:
        """Return unknown cells beside free ones."""
        width, height = facts.size
        return {
            (x + dx, y + dy)
            for (x, y), name in self._map.items()
            if name in FREE
            for dx, dy in MOVES.values()
            if 0 <= x + dx < width and 0 <= y + dy < height and (x + dx, y + dy) not in self._map
        }

    def _towards(self, facts: GridFacts, wanted: set[Cell]) -> int | None:
        """Return the first action of a cheapest way to one of some cells, or None without one.

        The last action is a step onto the cell, or an interaction with what stands there.
        """
        start = (facts.position, facts.heading)
        queue: list[tuple[int, Cell, str, int | None]] = [(0, *start, None)]
        seen: set[tuple[Cell, str]] = set()
        while queue:
            cost, cell, heading, first = heapq.heappop(queue)
            if (cell, heading) in seen:
                continue
            seen.add((cell, heading))
            if cell in wanted and first is not None:
                return first
            dx, dy = MOVES[heading]
            ahead = (cell[0] + dx, cell[1] + dy)
            if ahead in wanted and not self._free(ahead) and ahead in self._map:
                return INTERACT if first is None else first
            for name, (dx, dy) in MOVES.items():
                there = (cell[0] + dx, cell[1] + dy)
                action = ACTIONS[name] if first is None else first
                if self._free(there) or there in wanted - set(self._map):
                    heapq.heappush(queue, (cost + 1, there, name, action))
                elif there in wanted:  # turn to it
                    heapq.heappush(queue, (cost + BUMP, cell, name, action))
        return None

    def _free(self, cell: Cell) -> bool:
        """Tell whether a cell can be walked on, as far as is known."""
        return self._map.get(cell) in FREE and cell not in self._others

    def _patiently(self, facts: GridFacts, action: int) -> int:
        """Wait a step now and then where others stand about, so that two do not dance."""
        x, y = facts.position
        crowded = any(abs(x - a) + abs(y - b) == 1 for a, b in self._others)
        self._waited = self._waited + 1 if crowded else 0
        return STAY if crowded and self._waited % 3 == len(facts.agent) % 3 else action
