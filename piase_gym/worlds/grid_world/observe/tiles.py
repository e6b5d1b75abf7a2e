"""Pictures of single cells and agents: painted once, and then cached.

An object without a painter shows its sign, or its code, on a grey tile.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.drawing import GRID, INK, PAPER, SCALE, Canvas
from piase_gym.worlds.grid_world.cells import CELLS, SYMBOLS
from piase_gym.worlds.grid_world.observe import painters
from piase_gym.worlds.grids.figures import AgentFigure, blank_tile, kept, paint_piece

PAINTERS: Final = {
    kind.code: getattr(painters, kind.painter)
    for kind in CELLS.kinds
    if hasattr(painters, kind.painter)
}
"""How each object is painted, on top of the floor."""


def paint_unknown(code: int, canvas: Canvas) -> None:
    """A grey tile with the symbol, or else the code, of an object that has no painter."""
    canvas.box((0.06, 0.06), (0.94, 0.94), "#a3a9b2", 0.12)
    canvas.box((0.09, 0.09), (0.91, 0.91), "#c5c9cf", 0.1)
    symbol = SYMBOLS.get(code, str(code))
    canvas.text((0.5, 0.5), 0.55 if len(symbol) == 1 else 0.42, symbol, INK)


def paint_object(code: int, canvas: Canvas) -> None:
    """Paint the object with a code."""
    PAINTERS.get(code, functools.partial(paint_unknown, code))(canvas)


@functools.lru_cache(maxsize=256)
def object_tile(code: int, tile: int) -> NDArray[np.uint8]:
    """Return the picture of a cell, shape (tile, tile, 3); read-only, because it is cached."""
    image, canvas = blank_tile(tile, GRID)
    line = (0.25 if canvas.tiny else 0.5) / tile
    canvas.box((line, line), (1 - line, 1 - line), PAPER)
    paint_object(code, canvas)
    return kept(image.reduce(SCALE).convert("RGB"))


@functools.lru_cache(maxsize=512)
def piece_tile(piece: AgentFigure, tile: int) -> NDArray[np.uint8]:
    """Return the picture of an agent, shape (tile, tile, 4), clear around it; read-only."""
    image, canvas = blank_tile(tile)
    paint_piece(piece, canvas, paint_object)
    return kept(image.reduce(SCALE))
