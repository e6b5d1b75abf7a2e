"""GridWorld's facts in the words of the PiaSE documents: what is in sight, and where on the map."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from piase_gym.core.surroundings import GROUND, Surroundings, Thing, surroundings_by_name
from piase_gym.worlds.grid_world.cells import HEADINGS
from piase_gym.worlds.grid_world.facts import GridFacts
from piase_gym.worlds.grids.prose import YOU

AHEAD = {"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)}
"""(x, y) of a step ahead, by heading."""
TURNS = {"away": 0, "right": 1, "you": 2, "left": 3}
"""Quarters by which another agent, seen in a window, is turned from the viewer's heading."""


def surroundings(facts: GridFacts, agents: Sequence[str]) -> Surroundings:
    """Return position, heading, what is in sight and carried (pure).

    Every object and agent has its ``position`` [x, y] on the map, (0, 0) at the top left; agents
    also have the ``heading`` they face.

    Args:
        facts: What an agent knows.
        agents: The names of all agents.
    """
    status = facts.status
    return dataclasses.replace(
        surroundings_by_name(facts, agents),
        objects=tuple(_things(facts, agents)),
        stats=None if status is None else {"energy": status.energy, "strength": status.level},
    )


def _things(facts: GridFacts, agents: Sequence[str]) -> Iterator[Thing]:
    """Yield what is in sight, row by row from the top of the view."""
    window = any(YOU in row for row in facts.cells)
    for row, cells in enumerate(facts.cells):
        for column, cell in enumerate(cells):
            if cell in GROUND:
                continue
            place = _on_map(facts, row, column) if window else (column, row)
            name, _, rest = cell.partition(" facing ")
            if name in agents:
                heading = _heading(facts.heading, rest) if window else rest
                yield Thing(name, "agent", {"position": [*place], "heading": heading})
            else:
                yield Thing(cell, "object", {"position": [*place]})


def _on_map(facts: GridFacts, row: int, column: int) -> tuple[int, int]:
    """Return (x, y) of a cell of the window, whose nearest row has the viewer in its middle."""
    ahead, aside = len(facts.cells) - 1 - row, column - len(facts.cells[0]) // 2
    (x, y), (dx, dy) = facts.position, AHEAD[facts.heading]
    return x + ahead * dx - aside * dy, y + ahead * dy + aside * dx


def _heading(mine: str, turn: str) -> str:
    """Return the heading of another agent on the map."""
    return HEADINGS[(HEADINGS.index(mine) + TURNS[turn]) % 4]
