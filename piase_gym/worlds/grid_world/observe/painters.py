"""The painters of GridWorld's cells: ``paint_closed_door`` paints the closed door, and so on.

Each takes a `Canvas` and paints on top of the floor; `Kind.painter` gives its name.
"""

from __future__ import annotations

import functools
from typing import Final

from piase_gym.worlds.drawing import (
    DARK_GOLD,
    DARK_WOOD,
    GOLD,
    INK,
    LIGHT_WOOD,
    PAPER,
    WOOD,
    Canvas,
)

STEEL: Final = "#8b95a3"
DARK_STEEL: Final = "#4f5966"
LEAF: Final = "#6a9c4f"
DARK_LEAF: Final = "#4c7a36"
CRATE: Final = "#c89b5d"
DARK_CRATE: Final = "#8a6232"


def paint_unseen(canvas: Canvas) -> None:
    """Mist, with slanted lines."""
    canvas.box((0, 0), (1, 1), "#c9ccd1")
    for offset in (-0.5, 0.0, 0.5):
        canvas.line(((offset, 1.0), (offset + 1.0, 0.0)), 0.09, "#bbbfc6")


def paint_outside(canvas: Canvas) -> None:
    """The table on which the map lies."""
    canvas.box((0, 0), (1, 1), "#d3d0c9")


def paint_floor(_canvas: Canvas) -> None:
    """Nothing: every tile begins as floor."""


def paint_wall(canvas: Canvas) -> None:
    """A stone, lit from the upper left."""
    canvas.box((0, 0), (1, 1), "#48505e")
    canvas.shape(((0, 0), (1, 0), (0, 1)), "#78828f")
    canvas.box((0.06, 0.06), (0.94, 0.94), "#5d6775", 0.05)


def paint_goal(canvas: Canvas) -> None:
    """A green flag on a glowing tile; if that is too small to see, a green tile."""
    if canvas.tiny:
        canvas.box((0.03, 0.03), (0.97, 0.97), "#8fdca6", 0.2)
        canvas.box((0.16, 0.16), (0.84, 0.84), "#1f9d4d", 0.1)
        return
    for size, colour in ((0.94, "#d9f2dc"), (0.8, "#c3ebc9"), (0.64, "#ade2b6")):
        low, high = 0.5 - size / 2, 0.5 + size / 2
        canvas.box((low, low), (high, high), colour, 0.16)
    canvas.disc((0.38, 0.83), 0.085, "#2a6b3b30")
    canvas.line(((0.37, 0.2), (0.37, 0.81)), 0.065, "#4a5560")
    wave = ((0.4, 0.18), (0.52, 0.15), (0.64, 0.2), (0.78, 0.19))
    back = ((0.72, 0.34), (0.8, 0.5), (0.65, 0.52), (0.53, 0.47), (0.4, 0.5))
    canvas.shape(wave + back, "#1f9d4d")
    canvas.shape(((0.4, 0.18), (0.52, 0.15), (0.52, 0.47), (0.4, 0.5)), "#2fb862")


def paint_key(canvas: Canvas) -> None:
    """A golden key, aslant."""
    for grow, colour in ((0.075, DARK_GOLD), (0.0, GOLD)):
        canvas.line(((0.46, 0.46), (0.8, 0.8)), 0.1 + grow, colour)
        canvas.line(((0.63, 0.67), (0.54, 0.76)), 0.085 + grow, colour)
        canvas.line(((0.75, 0.79), (0.66, 0.88)), 0.085 + grow, colour)
        canvas.disc((0.34, 0.34), 0.2 + grow / 2, colour)
    canvas.disc((0.3, 0.28), 0.06, "#ffe08a")
    canvas.disc((0.33, 0.33), 0.095, DARK_GOLD)
    canvas.disc((0.33, 0.33), 0.06, PAPER)


def paint_locked_door(canvas: Canvas) -> None:
    """A closed door with a golden padlock."""
    _door(canvas)
    canvas.line(
        ((0.4, 0.5), (0.4, 0.36), (0.45, 0.3), (0.55, 0.3), (0.6, 0.36), (0.6, 0.5)), 0.07, INK
    )
    canvas.box((0.29, 0.45), (0.71, 0.77), DARK_GOLD, 0.07)
    canvas.box((0.315, 0.475), (0.685, 0.745), GOLD, 0.05)
    canvas.disc((0.5, 0.57), 0.05, INK)
    canvas.line(((0.5, 0.57), (0.5, 0.67)), 0.05, INK)


def paint_closed_door(canvas: Canvas) -> None:
    """A door with two panels and a knob."""
    _door(canvas)
    for left in (0.24, 0.53):
        canvas.box((left, 0.24), (left + 0.23, 0.76), DARK_WOOD, 0.04)
        canvas.box((left + 0.025, 0.265), (left + 0.23, 0.76), WOOD, 0.04)
    canvas.disc((0.76, 0.52), 0.07, DARK_WOOD)
    canvas.disc((0.76, 0.51), 0.05, GOLD)


def paint_open_door(canvas: Canvas) -> None:
    """Only the frame of a door."""
    canvas.box((0.04, 0.04), (0.96, 0.96), DARK_WOOD, 0.1)
    canvas.box((0.07, 0.07), (0.93, 0.93), WOOD, 0.08)
    canvas.box((0.14, 0.14), (0.86, 0.86), DARK_WOOD, 0.05)
    canvas.box((0.17, 0.17), (0.83, 0.83), PAPER, 0.03)


def _door(canvas: Canvas) -> None:
    canvas.box((0.04, 0.04), (0.96, 0.96), DARK_WOOD, 0.1)
    canvas.box((0.1, 0.1), (0.9, 0.9), LIGHT_WOOD, 0.06)
    canvas.box((0.13, 0.13), (0.9, 0.9), WOOD, 0.06)


def paint_box(canvas: Canvas) -> None:
    """A crate with crossed planks."""
    canvas.box((0.08, 0.08), (0.92, 0.92), DARK_CRATE, 0.06)
    canvas.box((0.13, 0.13), (0.87, 0.87), CRATE, 0.03)
    canvas.line(((0.2, 0.2), (0.8, 0.8)), 0.09, DARK_CRATE)
    canvas.line(((0.8, 0.2), (0.2, 0.8)), 0.09, DARK_CRATE)
    canvas.box((0.13, 0.13), (0.87, 0.24), "#d8b079")
    canvas.box((0.13, 0.76), (0.87, 0.87), "#d8b079")


def paint_switch(on: bool, canvas: Canvas) -> None:
    """A lever on a plate: to the left and red if off, to the right and green if on."""
    canvas.box((0.14, 0.56), (0.86, 0.86), DARK_STEEL, 0.08)
    canvas.box((0.18, 0.6), (0.82, 0.82), STEEL, 0.06)
    top = 0.74 if on else 0.26
    canvas.line(((0.5, 0.7), (top, 0.26)), 0.1, DARK_STEEL)
    canvas.disc((top, 0.26), 0.14, "#1f9d4d" if on else "#c4362b")
    canvas.disc((top - 0.04, 0.22), 0.045, "#ffffff90")


def paint_closed_gate(canvas: Canvas) -> None:
    """Bars from top to bottom."""
    canvas.box((0.04, 0.04), (0.96, 0.16), DARK_STEEL, 0.04)
    canvas.box((0.04, 0.84), (0.96, 0.96), DARK_STEEL, 0.04)
    for x in (0.18, 0.39, 0.61, 0.82):
        canvas.box((x - 0.06, 0.1), (x + 0.06, 0.9), DARK_STEEL)
        canvas.box((x - 0.04, 0.1), (x + 0.01, 0.9), STEEL)


def paint_open_gate(canvas: Canvas) -> None:
    """Only the rails of a gate."""
    canvas.box((0.04, 0.04), (0.96, 0.16), DARK_STEEL, 0.04)
    canvas.box((0.04, 0.84), (0.96, 0.96), DARK_STEEL, 0.04)
    for x in (0.18, 0.39, 0.61, 0.82):
        canvas.box((x - 0.06, 0.1), (x + 0.06, 0.24), DARK_STEEL, 0.02)


def paint_hazard(canvas: Canvas) -> None:
    """Glowing lava with waves."""
    canvas.box((0, 0), (1, 1), "#e2571e")
    for y, colour in ((0.22, "#ffb347"), (0.5, "#ffd27a"), (0.78, "#ffb347")):
        wave = ((0.06, y), (0.22, y - 0.08), (0.4, y + 0.04), (0.6, y - 0.08), (0.94, y + 0.02))
        canvas.line(wave, 0.07, colour)


def paint_bush(ripe: bool, canvas: Canvas) -> None:
    """A bush, with berries if it is ripe."""
    for x, y, r in ((0.34, 0.6, 0.24), (0.66, 0.6, 0.24), (0.5, 0.38, 0.26)):
        canvas.disc((x, y), r, DARK_LEAF)
    for x, y, r in ((0.34, 0.58, 0.2), (0.66, 0.58, 0.2), (0.5, 0.36, 0.22)):
        canvas.disc((x, y), r, LEAF if ripe else "#8d9a72")
    if ripe:
        for x, y in ((0.5, 0.32), (0.32, 0.56), (0.68, 0.54), (0.5, 0.62)):
            canvas.disc((x, y), 0.095, "#8f1f2d")
            canvas.disc((x - 0.01, y - 0.01), 0.075, "#d8394a")


def paint_drone(canvas: Canvas) -> None:
    """A drone with four rotors."""
    for x, y in ((0.22, 0.22), (0.78, 0.22), (0.22, 0.78), (0.78, 0.78)):
        canvas.line(((0.5, 0.5), (x, y)), 0.07, DARK_STEEL)
        canvas.disc((x, y), 0.17, "#4f596660")
        canvas.disc((x, y), 0.05, DARK_STEEL)
    canvas.disc((0.5, 0.5), 0.2, DARK_STEEL)
    canvas.disc((0.5, 0.5), 0.155, STEEL)
    canvas.disc((0.5, 0.5), 0.07, "#c4362b")


def paint_food(weight: int, canvas: Canvas) -> None:
    """An apple with its weight on it, larger if it is heavier."""
    r = 0.26 + 0.03 * weight
    canvas.line(((0.5, 0.56 - r), (0.56, 0.1)), 0.06, DARK_CRATE)
    canvas.disc((0.5, 0.56), r, "#7d1420")
    canvas.disc((0.5, 0.56), r - 0.04, "#c62f3b")
    canvas.text((0.5, 0.56), 0.4, str(weight), "#ffffff")


paint_switch_that_is_off = functools.partial(paint_switch, False)
paint_switch_that_is_on = functools.partial(paint_switch, True)
paint_fruit = functools.partial(paint_bush, True)
paint_bare_bush = functools.partial(paint_bush, False)
paint_food_for_one = functools.partial(paint_food, 1)
paint_food_for_two = functools.partial(paint_food, 2)
paint_food_for_three = functools.partial(paint_food, 3)
paint_food_for_four = functools.partial(paint_food, 4)
