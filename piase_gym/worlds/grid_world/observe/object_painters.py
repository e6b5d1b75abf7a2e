"""Painters of what can be pushed, switched, eaten and feared, and of the palette they share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

from piase_gym.worlds.drawing import Brush
from piase_gym.worlds.grid_world.cells import (
    BARE,
    BOX,
    FOOD,
    FRUIT,
    GATE,
    GATE_OPEN,
    HAZARD,
    MAX_FOOD,
    MOVER,
    SWITCH_OFF,
    SWITCH_ON,
)

STEEL: Final = "#8b95a3"
DARK_STEEL: Final = "#4f5966"
LEAF: Final = "#6a9c4f"
DARK_LEAF: Final = "#4c7a36"
CRATE: Final = "#c89b5d"
DARK_CRATE: Final = "#8a6232"


def paint_box(brush: Brush) -> None:
    """A crate with crossed planks."""
    brush.box((0.08, 0.08), (0.92, 0.92), DARK_CRATE, 0.06)
    brush.box((0.13, 0.13), (0.87, 0.87), CRATE, 0.03)
    brush.line(((0.2, 0.2), (0.8, 0.8)), 0.09, DARK_CRATE)
    brush.line(((0.8, 0.2), (0.2, 0.8)), 0.09, DARK_CRATE)
    brush.box((0.13, 0.13), (0.87, 0.24), "#d8b079")
    brush.box((0.13, 0.76), (0.87, 0.87), "#d8b079")


def paint_switch(on: bool, brush: Brush) -> None:
    """A lever on a plate: to the left and red if off, to the right and green if on."""
    brush.box((0.14, 0.56), (0.86, 0.86), DARK_STEEL, 0.08)
    brush.box((0.18, 0.6), (0.82, 0.82), STEEL, 0.06)
    top = 0.74 if on else 0.26
    brush.line(((0.5, 0.7), (top, 0.26)), 0.1, DARK_STEEL)
    brush.disc((top, 0.26), 0.14, "#1f9d4d" if on else "#c4362b")
    brush.disc((top - 0.04, 0.22), 0.045, "#ffffff90")


def paint_gate(brush: Brush) -> None:
    """Bars from top to bottom."""
    brush.box((0.04, 0.04), (0.96, 0.16), DARK_STEEL, 0.04)
    brush.box((0.04, 0.84), (0.96, 0.96), DARK_STEEL, 0.04)
    for x in (0.18, 0.39, 0.61, 0.82):
        brush.box((x - 0.06, 0.1), (x + 0.06, 0.9), DARK_STEEL)
        brush.box((x - 0.04, 0.1), (x + 0.01, 0.9), STEEL)


def paint_gate_open(brush: Brush) -> None:
    """Only the rails of a gate."""
    brush.box((0.04, 0.04), (0.96, 0.16), DARK_STEEL, 0.04)
    brush.box((0.04, 0.84), (0.96, 0.96), DARK_STEEL, 0.04)
    for x in (0.18, 0.39, 0.61, 0.82):
        brush.box((x - 0.06, 0.1), (x + 0.06, 0.24), DARK_STEEL, 0.02)


def paint_hazard(brush: Brush) -> None:
    """Glowing lava with waves."""
    brush.box((0, 0), (1, 1), "#e2571e")
    for y, colour in ((0.22, "#ffb347"), (0.5, "#ffd27a"), (0.78, "#ffb347")):
        wave = ((0.06, y), (0.22, y - 0.08), (0.4, y + 0.04), (0.6, y - 0.08), (0.94, y + 0.02))
        brush.line(wave, 0.07, colour)


def paint_bush(ripe: bool, brush: Brush) -> None:
    """A bush, with berries if it is ripe."""
    for x, y, r in ((0.34, 0.6, 0.24), (0.66, 0.6, 0.24), (0.5, 0.38, 0.26)):
        brush.disc((x, y), r, DARK_LEAF)
    for x, y, r in ((0.34, 0.58, 0.2), (0.66, 0.58, 0.2), (0.5, 0.36, 0.22)):
        brush.disc((x, y), r, LEAF if ripe else "#8d9a72")
    if ripe:
        for x, y in ((0.5, 0.32), (0.32, 0.56), (0.68, 0.54), (0.5, 0.62)):
            brush.disc((x, y), 0.095, "#8f1f2d")
            brush.disc((x - 0.01, y - 0.01), 0.075, "#d8394a")


def paint_mover(brush: Brush) -> None:
    """A drone with four rotors."""
    for x, y in ((0.22, 0.22), (0.78, 0.22), (0.22, 0.78), (0.78, 0.78)):
        brush.line(((0.5, 0.5), (x, y)), 0.07, DARK_STEEL)
        brush.disc((x, y), 0.17, "#4f596660")
        brush.disc((x, y), 0.05, DARK_STEEL)
    brush.disc((0.5, 0.5), 0.2, DARK_STEEL)
    brush.disc((0.5, 0.5), 0.155, STEEL)
    brush.disc((0.5, 0.5), 0.07, "#c4362b")


def paint_food(weight: int, brush: Brush) -> None:
    """An apple with its weight on it, larger if it is heavier."""
    r = 0.26 + 0.03 * weight
    brush.line(((0.5, 0.56 - r), (0.56, 0.1)), 0.06, DARK_CRATE)
    brush.disc((0.5, 0.56), r, "#7d1420")
    brush.disc((0.5, 0.56), r - 0.04, "#c62f3b")
    brush.text((0.5, 0.56), 0.4, str(weight), "#ffffff")


PROPS: Final[dict[int, Callable[[Brush], None]]] = {
    BOX: paint_box,
    SWITCH_OFF: functools.partial(paint_switch, False),
    SWITCH_ON: functools.partial(paint_switch, True),
    GATE: paint_gate,
    GATE_OPEN: paint_gate_open,
    HAZARD: paint_hazard,
    FRUIT: functools.partial(paint_bush, True),
    BARE: functools.partial(paint_bush, False),
    MOVER: paint_mover,
    **{FOOD + i: functools.partial(paint_food, i + 1) for i in range(MAX_FOOD)},
}
"""How each object is painted, on top of the floor."""
