"""How agents on grids are painted, and how tiles become a picture."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from piase_gym.errors import ConfigError
from piase_gym.worlds.drawing import (
    COLOURS,
    DARK_GOLD,
    GOLD,
    GRID,
    INK,
    PAPER,
    SCALE,
    SHADOW,
    WHITE,
    Canvas,
    Point,
    mix,
    readable,
)

Painter = Callable[[int, Canvas], None]
"""Paints the object with a code."""
SHADE: Final = np.array((16, 20, 30), np.uint8)
"""What is added to pixels in the dark, once they have lost three eighths."""
LONG_SIDE: Final = 512
SMALLEST_TILE: Final = 8
LARGEST_TILE: Final = 64
ARROWS: Final = "^>v<"
"""The sign of an agent in letters, by heading."""
NUMBERED_TILE: Final = 24
"""The smallest tile, in pixels, on which the number of an agent can be read."""


@dataclass(frozen=True)
class AgentFigure:
    """How an agent looks.

    Attributes:
        number: Its index among the agents, which determines its colour.
        heading: 0 up, 1 right, 2 down, 3 left.
        carrying: The code of what it carries, or 0.
        numbered: Whether its number is written on it.
    """

    number: int
    heading: int
    carrying: int = 0
    numbered: bool = False

    @property
    def colour(self) -> str:
        """Its colour, as ``#rrggbb``."""
        return COLOURS[self.number % len(COLOURS)]

    def at(self, forward: float, right: float = 0.0) -> Point:
        """Return a point by its distances ahead and to the agent's right of the tile's middle."""
        x, y = ((0, -1), (1, 0), (0, 1), (-1, 0))[self.heading]
        return 0.5 + forward * x - right * y, 0.5 + forward * y + right * x


def paint_piece(piece: AgentFigure, canvas: Canvas, paint_object: Painter) -> None:
    """Paint an agent: a round piece with a beak and eyes that look ahead.

    Args:
        piece: How the agent looks.
        canvas: What to paint on.
        paint_object: Paints what the agent carries.
    """
    if canvas.tiny:
        paint_token(piece, canvas)
        return
    at, colour, middle = piece.at, piece.colour, (0.5, 0.5)
    edge = mix(colour, "#000000", 0.42)
    canvas.disc((0.5, 0.55), 0.37, SHADOW)
    canvas.shape((at(0.48), at(0.25, -0.24), at(0.25, 0.24)), edge)
    canvas.disc(middle, 0.37, edge)
    canvas.disc(middle, 0.335, colour)
    canvas.disc((0.5, 0.49), 0.3, mix(colour, WHITE, 0.16))
    canvas.disc((0.5, 0.51), 0.305, colour)
    size, forward, apart = (0.075, 0.21, 0.125) if piece.numbered else (0.1, 0.13, 0.14)
    for side in (-apart, apart):
        canvas.disc(at(forward, side), size, WHITE)
        canvas.disc(at(forward + 0.03, side), size * 0.55, INK)
    if piece.carrying:
        paint_badge(piece, canvas, paint_object)
    if piece.numbered:
        digits = str(piece.number)
        canvas.text(at(-0.08), 0.36 if len(digits) == 1 else 0.3, digits, readable(colour))


def paint_badge(piece: AgentFigure, canvas: Canvas, paint_object: Painter) -> None:
    """Paint what an agent carries, small, behind its right shoulder."""
    place = piece.at(-0.31, 0.31)
    canvas.disc(place, 0.185, INK)
    canvas.disc(place, 0.16, WHITE)
    paint_object(piece.carrying, canvas.inset(place, 0.36))


def paint_token(piece: AgentFigure, canvas: Canvas) -> None:
    """Paint an agent on a tiny tile: one white eye ahead, and a golden spot for what it carries."""
    canvas.disc((0.5, 0.5), 0.5, mix(piece.colour, "#000000", 0.3))
    canvas.disc((0.5, 0.5), 0.43, piece.colour)
    canvas.disc(piece.at(0.27), 0.19, WHITE)
    if piece.carrying:
        canvas.disc(piece.at(-0.25), 0.2, DARK_GOLD)
        canvas.disc(piece.at(-0.25), 0.14, GOLD)


def picture(
    cells: NDArray[np.uint8],
    pieces: Iterable[tuple[int, int, NDArray[np.uint8]]],
    tile: int,
    tile_of: Callable[[int], NDArray[np.uint8]],
    lit: NDArray[np.bool_] | None = None,
) -> NDArray[np.uint8]:
    """Set tiles together and lay figures over them.

    Args:
        cells: The object codes, shape (height, width).
        pieces: Column, row and picture of each figure, the topmost last.
        tile: The side of a cell in pixels.
        tile_of: Returns the picture of a code.
        lit: Which cells are not in the dark, in the shape of `cells`; ``None`` for all.

    Returns:
        A new array of shape (height * tile, width * tile, 3).

    Raises:
        ConfigError: If `tile` is less than 1.
    """
    if tile < 1:
        raise ConfigError(f"tile must be at least 1 pixel, not {tile}")
    height, width = cells.shape
    codes, places = np.unique(cells, return_inverse=True)
    tiles = np.stack([tile_of(code) for code in codes.tolist()])
    mosaic = tiles[places.reshape(height, width)].swapaxes(1, 2)
    found = np.ascontiguousarray(mosaic).reshape(height * tile, width * tile, 3)
    if lit is not None:
        dark = ~lit.repeat(tile, 0).repeat(tile, 1)
        found[dark] = found[dark] // 8 * 5 + SHADE
    for x, y, figure in pieces:
        lay(figure, found[y * tile :, x * tile :][:tile, :tile])
    return found


def default_tile(height: int, width: int) -> int:
    """Return the side of a cell in pixels for a map of this size; even, as videos require."""
    tile = 2 * round(LONG_SIDE / max(height, width) / 2)
    return min(max(tile, SMALLEST_TILE), LARGEST_TILE)


def lay(figure: NDArray[np.uint8], ground: NDArray[np.uint8]) -> None:
    """Lay a figure over a part of the picture; where the figure is clear, the ground stays."""
    opacity = figure[..., 3:].astype(np.uint32)
    mixed = figure[..., :3] * opacity + ground * (255 - opacity)
    ground[...] = (mixed + 127) // 255


def blank_tile(tile: int, colour: str | None = None) -> tuple[Image.Image, Canvas]:
    """Return an image of a tile, larger than it is shown, and a canvas for it."""
    size = (tile * SCALE, tile * SCALE)
    image = Image.new("RGBA", size, colour) if colour else Image.new("RGBA", size)
    return image, Canvas(image, 0, 0, tile * SCALE)


@functools.lru_cache(maxsize=128)
def cell_tile(paint: Callable[[Canvas], None], tile: int) -> NDArray[np.uint8]:
    """Return the picture of a cell between grid lines, shape (tile, tile, 3); read-only."""
    image, canvas = blank_tile(tile, PAPER)
    paint(canvas)
    edge = 0.5 / tile
    for start, end in (((0, 0), (1, edge)), ((0, 0), (edge, 1))):
        canvas.box(start, end, mix(GRID, "#8a8f7a", 0.25))
    return kept(image.reduce(SCALE).convert("RGB"))


@functools.lru_cache(maxsize=512)
def piece_tile(piece: AgentFigure, tile: int, level: int = 0) -> NDArray[np.uint8]:
    """Return the picture of an agent with empty hands, shape (tile, tile, 4); read-only.

    The picture is clear around the agent, and has one dot per level of height.
    """
    image, canvas = blank_tile(tile)
    paint_piece(piece, canvas, lambda _code, _canvas: None)
    for i in () if canvas.tiny else range(level):
        canvas.disc((0.12 + 0.16 * i, 0.9), 0.07, INK)
        canvas.disc((0.12 + 0.16 * i, 0.9), 0.045, WHITE)
    return kept(image.reduce(SCALE))


def kept(image: Image.Image) -> NDArray[np.uint8]:
    """Return an image as an array that cannot be written to."""
    pixels = np.array(image, np.uint8)
    pixels.setflags(write=False)
    return pixels
