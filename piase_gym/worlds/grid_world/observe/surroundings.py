"""GridWorld's facts in the words of the PiaSE documents: what is in sight, and where on the map."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from piase_gym.core.surroundings import GROUND, Surroundings, Thing, surroundings_by_name
from piase_gym.worlds.grid_world.cells import HEADINGS
from piase_gym.worlds.grid_world.facts import GridWorldFacts
from piase_gym.worlds.grids.codes import TURNS, on_map
from piase_gym.worlds.grids.nouns import YOU


def surroundings(facts: GridWorldFacts, agents: Sequence[str]) -> Surroundings:
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


def _things(facts: GridWorldFacts, agents: Sequence[str]) -> Iterator[Thing]:
    """Yield what is in sight, row by row from the top of the view."""
    window = any(YOU in row for row in facts.cells)
    size = len(facts.cells), len(facts.cells[0])
    for row, cells in enumerate(facts.cells):
        for column, cell in enumerate(cells):
            if cell in GROUND:
                continue
            place = (column, row)
            if window:
                place = on_map(size, (row, column), facts.position, facts.heading)
            name, _, rest = cell.partition(" facing ")
            if rest and name in agents:  # an agent may be called as a thing is
                heading = _heading(facts.heading, rest) if window else rest
                yield Thing(name, "agent", {"position": [*place], "heading": heading})
            else:
                yield Thing(cell, "object", {"position": [*place]})


def _heading(mine: str, turn: str) -> str:
    """Return the heading of another agent on the map."""
    return HEADINGS[(HEADINGS.index(mine) + TURNS.index(turn)) % 4]
