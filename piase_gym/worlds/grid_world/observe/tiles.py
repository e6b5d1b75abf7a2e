"""The tiles of the picture: a small painter for every object, and a figure for the agents.

A tile is painted once and then kept. To add an object, write a function that takes a `Brush` and
enter it in `PAINTERS`; an object without one shows its symbol, or its code, on a grey tile.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from piase_gym.worlds.drawing import (
    DARK_GOLD,
    DARK_WOOD,
    GOLD,
    GRID,
    INK,
    LIGHT_WOOD,
    PAPER,
    SCALE,
    WOOD,
    Brush,
)
from piase_gym.worlds.grid_world.cells import (
    CLOSED,
    FLOOR,
    GOAL,
    KEY,
    LOCKED,
    OPEN,
    OUTSIDE,
    SYMBOLS,
    UNSEEN,
    WALL,
)
from piase_gym.worlds.grid_world.observe.object_painters import PROPS
from piase_gym.worlds.grids.figures import Piece, kept, paint_piece

# -- objects ------------------------------------------------------------------------------


def paint_unseen(brush: Brush) -> None:
    """Mist, with slanted lines."""
    brush.box((0, 0), (1, 1), "#c9ccd1")
    for offset in (-0.5, 0.0, 0.5):
        brush.line(((offset, 1.0), (offset + 1.0, 0.0)), 0.09, "#bbbfc6")


def paint_outside(brush: Brush) -> None:
    """The table on which the map lies."""
    brush.box((0, 0), (1, 1), "#d3d0c9")


def paint_floor(_brush: Brush) -> None:
    """Nothing: every tile begins as floor."""


def paint_wall(brush: Brush) -> None:
    """A stone, lit from the upper left."""
    brush.box((0, 0), (1, 1), "#48505e")
    brush.shape(((0, 0), (1, 0), (0, 1)), "#78828f")
    brush.box((0.06, 0.06), (0.94, 0.94), "#5d6775", 0.05)


def paint_goal(brush: Brush) -> None:
    """A green flag on a glowing tile; where that is too small to see, a green tile."""
    if brush.tiny:
        brush.box((0.03, 0.03), (0.97, 0.97), "#8fdca6", 0.2)
        brush.box((0.16, 0.16), (0.84, 0.84), "#1f9d4d", 0.1)
        return
    for size, colour in ((0.94, "#d9f2dc"), (0.8, "#c3ebc9"), (0.64, "#ade2b6")):
        low, high = 0.5 - size / 2, 0.5 + size / 2
        brush.box((low, low), (high, high), colour, 0.16)
    brush.disc((0.38, 0.83), 0.085, "#2a6b3b30")
    brush.line(((0.37, 0.2), (0.37, 0.81)), 0.065, "#4a5560")
    wave = ((0.4, 0.18), (0.52, 0.15), (0.64, 0.2), (0.78, 0.19))
    back = ((0.72, 0.34), (0.8, 0.5), (0.65, 0.52), (0.53, 0.47), (0.4, 0.5))
    brush.shape(wave + back, "#1f9d4d")
    brush.shape(((0.4, 0.18), (0.52, 0.15), (0.52, 0.47), (0.4, 0.5)), "#2fb862")


def paint_key(brush: Brush) -> None:
    """A golden key, aslant."""
    for grow, colour in ((0.075, DARK_GOLD), (0.0, GOLD)):
        brush.line(((0.46, 0.46), (0.8, 0.8)), 0.1 + grow, colour)
        brush.line(((0.63, 0.67), (0.54, 0.76)), 0.085 + grow, colour)
        brush.line(((0.75, 0.79), (0.66, 0.88)), 0.085 + grow, colour)
        brush.disc((0.34, 0.34), 0.2 + grow / 2, colour)
    brush.disc((0.3, 0.28), 0.06, "#ffe08a")
    brush.disc((0.33, 0.33), 0.095, DARK_GOLD)
    brush.disc((0.33, 0.33), 0.06, PAPER)


def paint_locked(brush: Brush) -> None:
    """A closed door with a golden padlock."""
    _door(brush)
    brush.line(
        ((0.4, 0.5), (0.4, 0.36), (0.45, 0.3), (0.55, 0.3), (0.6, 0.36), (0.6, 0.5)), 0.07, INK
    )
    brush.box((0.29, 0.45), (0.71, 0.77), DARK_GOLD, 0.07)
    brush.box((0.315, 0.475), (0.685, 0.745), GOLD, 0.05)
    brush.disc((0.5, 0.57), 0.05, INK)
    brush.line(((0.5, 0.57), (0.5, 0.67)), 0.05, INK)


def paint_closed(brush: Brush) -> None:
    """A door with two panels and a knob."""
    _door(brush)
    for left in (0.24, 0.53):
        brush.box((left, 0.24), (left + 0.23, 0.76), DARK_WOOD, 0.04)
        brush.box((left + 0.025, 0.265), (left + 0.23, 0.76), WOOD, 0.04)
    brush.disc((0.76, 0.52), 0.07, DARK_WOOD)
    brush.disc((0.76, 0.51), 0.05, GOLD)


def paint_open(brush: Brush) -> None:
    """Only the frame of a door."""
    brush.box((0.04, 0.04), (0.96, 0.96), DARK_WOOD, 0.1)
    brush.box((0.07, 0.07), (0.93, 0.93), WOOD, 0.08)
    brush.box((0.14, 0.14), (0.86, 0.86), DARK_WOOD, 0.05)
    brush.box((0.17, 0.17), (0.83, 0.83), PAPER, 0.03)


def paint_unknown(code: int, brush: Brush) -> None:
    """A grey tile with the symbol, or else the code, of an object that has no painter."""
    brush.box((0.06, 0.06), (0.94, 0.94), "#a3a9b2", 0.12)
    brush.box((0.09, 0.09), (0.91, 0.91), "#c5c9cf", 0.1)
    symbol = SYMBOLS.get(code, str(code))
    brush.text((0.5, 0.5), 0.55 if len(symbol) == 1 else 0.42, symbol, INK)


def _door(brush: Brush) -> None:
    brush.box((0.04, 0.04), (0.96, 0.96), DARK_WOOD, 0.1)
    brush.box((0.1, 0.1), (0.9, 0.9), LIGHT_WOOD, 0.06)
    brush.box((0.13, 0.13), (0.9, 0.9), WOOD, 0.06)


PAINTERS: Final[dict[int, Callable[[Brush], None]]] = {
    UNSEEN: paint_unseen,
    OUTSIDE: paint_outside,
    FLOOR: paint_floor,
    WALL: paint_wall,
    GOAL: paint_goal,
    KEY: paint_key,
    LOCKED: paint_locked,
    CLOSED: paint_closed,
    OPEN: paint_open,
    **PROPS,
}
"""How each object is painted, on top of the floor."""


def paint_object(code: int, brush: Brush) -> None:
    """Paint the object with a code."""
    PAINTERS.get(code, functools.partial(paint_unknown, code))(brush)


# -- tiles --------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def object_tile(code: int, tile: int) -> NDArray[np.uint8]:
    """Return the picture of a cell, shape (tile, tile, 3); read-only, because it is kept."""
    image = Image.new("RGBA", (tile * SCALE, tile * SCALE), GRID)
    brush = Brush(image, 0, 0, tile * SCALE)
    line = (0.25 if brush.tiny else 0.5) / tile
    brush.box((line, line), (1 - line, 1 - line), PAPER)
    paint_object(code, brush)
    return kept(image.reduce(SCALE).convert("RGB"))


@functools.lru_cache(maxsize=512)
def piece_tile(piece: Piece, tile: int) -> NDArray[np.uint8]:
    """Return the picture of an agent, shape (tile, tile, 4), clear around it; read-only."""
    image = Image.new("RGBA", (tile * SCALE, tile * SCALE))
    paint_piece(piece, Brush(image, 0, 0, tile * SCALE), paint_object)
    return kept(image.reduce(SCALE))
