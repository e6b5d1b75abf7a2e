"""The kinds of cells of GridWorld: one table, from which all that depends on the kind is derived.

A row says everything about a kind except rules of its own. What entering it does is one of
`BLOCKS`, ..., which the rules read by code (`rules.step.walk`), as does everything that plans.
"""

from __future__ import annotations

from typing import Final

from piase_gym.worlds.grid_world.rules.events import (
    CLOSE_DOOR,
    DROP,
    NO_KEY,
    OPEN_DOOR,
    PICK_UP,
    TOGGLE,
    TOO_HEAVY,
    UNLOCK,
)
from piase_gym.worlds.grids.codes import (
    AGENT,
    FLOOR,
    HEADINGS,
    MAX_AGENTS,
    MAX_CODE,
    OUTSIDE,
    UNSEEN,
    WALL,
)
from piase_gym.worlds.grids.kinds import CellTable, Kind

GOAL: Final = 4
KEY: Final = 5
LOCKED: Final = 6
CLOSED: Final = 7
OPEN: Final = 8
BOX: Final = 9
SWITCH_OFF: Final = 10
SWITCH_ON: Final = 11
GATE: Final = 12
GATE_OPEN: Final = 13
HAZARD: Final = 14
FRUIT: Final = 15
BARE: Final = 16
MOVER: Final = 17
FOOD: Final = 18
"""Food for one; the next codes are food that takes two, three and four."""
MAX_FOOD: Final = 4

BLOCKS, PUSHED, STANDS, ARRIVES, EATS, HURTS = range(6)
"""What entering a cell does. From `STANDS` on, the agent is on the cell afterwards."""
(SHUT, PASSABLE, KEYS, SWITCHES, LOCKS, GATES, OPEN_GATES, REACHES) = range(8)
"""How the check that levels can be solved treats a kind; see `levels.solvable`."""


def _food(weight: int, word: str) -> Kind:
    """Return the row of food that takes a strength of `weight`."""
    return Kind(
        FOOD + weight - 1,
        f"food for {word}",
        str(weight),
        noun=f"food for {word}",
        does=f"takes a strength (`levels`) of {weight} in one step",
        strewn="num_food" if weight == 1 else "",
        rule="Food is lifted by interacting with it, and heavy food only if agents of enough "
        "strength together do so in the same step."
        if weight == 1
        else "",
        use=(TOO_HEAVY, TOO_HEAVY),  # until enough agents lift it together
    )


CELLS: Final = CellTable(
    Kind(UNSEEN, "unseen", noun="darkness"),
    Kind(OUTSIDE, "outside", " ", noun="the outside", opaque=True),
    Kind(FLOOR, "floor", ".", noun="floor", entering=STANDS, use=(0, DROP), reach=PASSABLE),
    Kind(WALL, "wall", "#", opaque=True),
    Kind(
        GOAL,
        "goal",
        "G",
        does="who steps onto it has won and leaves the grid",
        entering=ARRIVES,
        reach=PASSABLE,
    ),
    Kind(KEY, "key", "k", does="opens locked doors, and is kept", use=(PICK_UP, 0), reach=KEYS),
    Kind(
        LOCKED,
        "locked door",
        "L",
        does="opens with the key",
        opaque=True,
        use=(NO_KEY, UNLOCK),  # only keys can be carried
        reach=LOCKS,
    ),
    Kind(
        CLOSED,
        "closed door",
        "+",
        does="can be opened",
        opaque=True,
        use=(OPEN_DOOR, OPEN_DOOR),
        reach=PASSABLE,
    ),
    Kind(
        OPEN,
        "open door",
        "'",
        does="can be walked through, and closed",
        entering=STANDS,
        use=(CLOSE_DOOR, CLOSE_DOOR),
        reach=PASSABLE,
    ),
    Kind(
        BOX,
        "box",
        "O",
        plural="boxes",
        does="moves when walked into, if floor is behind it",
        rule="A box moves when you walk into it and the cell behind it is free floor.",
        strewn="boxes",
        entering=PUSHED,
    ),
    Kind(
        SWITCH_OFF,
        "switch that is off",
        "s",
        plural="switches that are off",
        does="turns over all switches and gates, unless a gate is occupied",
        rule="A switch that you interact with opens every closed gate and closes every open one.",
        use=(TOGGLE, TOGGLE),
        reach=SWITCHES,
    ),
    Kind(
        SWITCH_ON,
        "switch that is on",
        "S",
        plural="switches that are on",
        does="likewise",
        use=(TOGGLE, TOGGLE),
        reach=SWITCHES,
    ),
    Kind(GATE, "closed gate", "=", does="opens when a switch is turned", opaque=True, reach=GATES),
    Kind(
        GATE_OPEN,
        "open gate",
        "-",
        does="can be walked through, and closes when a switch is turned",
        entering=STANDS,
        reach=OPEN_GATES,
    ),
    Kind(
        HAZARD,
        "hazard",
        "~",
        does="hurts who steps onto it, and ends its episode if `hazard_ends`",
        rule="A hazard hurts{ends} whoever steps onto it.",
        strewn="hazards",
        entering=HURTS,
    ),
    Kind(
        FRUIT,
        "fruit",
        "*",
        noun="fruit",
        does="a bush; stepping onto it eats the fruit, which grows again by chance",
        rule="Stepping onto a bush with fruit eats the fruit; a bare bush bears again with a "
        "chance of {regrow:g} a step.",
        strewn="fruits",
        entering=EATS,
        reach=PASSABLE,
    ),
    Kind(
        BARE,
        "bare bush",
        ",",
        plural="bare bushes",
        does="may bear fruit again",
        entering=STANDS,
        reach=PASSABLE,
    ),
    Kind(
        MOVER,
        "drone",
        "d",
        does="moves ahead every `mover_period` steps, and turns back where it cannot",
        rule="Drones move on their own and block the way.",
        strewn="movers",
    ),
    *(_food(weight, word) for weight, word in enumerate(("one", "two", "three", "four"), 1)),
)
"""All kinds, by code."""
NAMES: Final = CELLS.names
CODES: Final = CELLS.codes
SYMBOLS: Final = CELLS.signs
"""The signs of maps and of the ``ansi`` picture."""
OPAQUE: Final = CELLS.where(lambda kind: kind.opaque)
SAFE: Final = CELLS.where(lambda kind: kind.entering >= STANDS and kind.entering != HURTS)
"""What can be walked on without harm."""
FOODS: Final = tuple(range(FOOD, FOOD + MAX_FOOD))
START: Final = "@"
"""The sign of an agent's start in a map."""

__all__ = ["AGENT", "FLOOR", "HEADINGS", "MAX_AGENTS", "MAX_CODE", "OUTSIDE", "UNSEEN", "WALL"]
