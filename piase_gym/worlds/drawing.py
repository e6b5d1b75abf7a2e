"""The colours of all pictures, the fonts, and a canvas that is painted smoothly."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from PIL import Image, ImageDraw, ImageFont

COLOURS: Final = (
    "#0072b2 #d55e00 #cc79a7 #56b4e9 #e69f00 #009e73 #f0e442 #3b3b3b "
    "#780f87 #00e196 #0f1e96 #006900 #f0b4ff #8778f0 #87001e #c32d69 "
    "#87b400 #694bc3 #96872d #b4c396 #ffa596 #69e1f0 #d287ff #2d4b87 "
    "#b44bb4 #ff6969 #b41e00 #2d96b4 #874b87 #b4a5d2 #c39678 #00c3b4"
).split()
"""A colour for each agent: Okabe and Ito's eight for the colour-blind, then the most distinct."""

PAPER: Final = "#f9f7f2"
GRID: Final = "#e4e0d7"
INK: Final = "#2f343b"
WHITE: Final = "#ffffff"
SHADOW: Final = "#1f243028"
GOLD: Final = "#f7bd1f"
DARK_GOLD: Final = "#8f6000"
WOOD: Final = "#b0763f"
DARK_WOOD: Final = "#7a4b21"
LIGHT_WOOD: Final = "#cb9761"


def channels(colour: str) -> tuple[int, int, int]:
    """Return the red, green and blue of ``#rrggbb``."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(colour: str, other: str, share: float) -> str:
    """Return a colour with a share of another in it."""
    pairs = zip(channels(colour), channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def readable(colour: str) -> str:
    """Return white or ink, whichever is readable on a colour."""
    red, green, blue = channels(colour)
    return INK if 0.3 * red + 0.59 * green + 0.11 * blue > 140 else WHITE


SCALE: Final = 4
"""How many times larger a tile is painted than it is shown, so that edges are smooth."""

TINY: Final = 16
"""A tile with a side of fewer pixels than this has no room for details."""

Point = tuple[float, float]


@functools.cache
def font(size: int) -> Any:
    """Return Pillow's own font in a size."""
    return ImageFont.load_default(size)


@dataclass(frozen=True)
class Canvas:
    """Draws on a square part of an image, in which (0, 0) and (1, 1) are the corners."""

    image: Image.Image
    left: float
    top: float
    size: float

    @property
    def tiny(self) -> bool:
        """Whether details would be lost."""
        return self.size < TINY * SCALE

    def inset(self, centre: Point, size: float) -> Canvas:
        """Return a canvas for the square of side `size` around a point."""
        left, top = self._place((centre[0] - size / 2, centre[1] - size / 2))
        return Canvas(self.image, left, top, size * self.size)

    def box(self, start: Point, end: Point, colour: str, radius: float = 0.0) -> None:
        """Fill a box, from its upper left to its lower right corner."""
        (x0, y0), (x1, y1) = self._place(start), self._place(end)
        corners = (x0, y0, max(x0, x1 - 1), max(y0, y1 - 1))
        with self._layer() as draw:
            draw.rounded_rectangle(corners, radius * self.size, colour)

    def disc(self, centre: Point, radius: float, colour: str) -> None:
        """Fill a circle."""
        (x, y), r = self._place(centre), radius * self.size
        with self._layer() as draw:
            draw.ellipse((x - r, y - r, max(x - r, x + r - 1), max(y - r, y + r - 1)), colour)

    def shape(self, points: tuple[Point, ...], colour: str) -> None:
        """Fill a polygon."""
        with self._layer() as draw:
            draw.polygon([self._place(point) for point in points], colour)

    def line(self, points: tuple[Point, ...], width: float, colour: str) -> None:
        """Draw a line with round ends and corners, in a solid colour."""
        with self._layer() as draw:
            thick = max(1, round(width * self.size))
            draw.line([self._place(point) for point in points], colour, thick)
        for point in points:
            self.disc(point, width / 2, colour)

    def text(self, centre: Point, size: float, text: str, colour: str) -> None:
        """Write a bold word, exactly centred."""
        font = ImageFont.load_default(max(4.0, size * self.size))
        bold = max(1, round(size * self.size / 24))
        with self._layer() as draw:
            x0, y0, x1, y1 = draw.textbbox((0, 0), text, font, stroke_width=bold)
            x, y = self._place(centre)
            at = (x - (x0 + x1) / 2, y - (y0 + y1) / 2)
            draw.text(at, text, colour, font, stroke_width=bold, stroke_fill=colour)

    def _place(self, point: Point) -> Point:
        return self.left + point[0] * self.size, self.top + point[1] * self.size

    @contextmanager
    def _layer(self) -> Iterator[ImageDraw.ImageDraw]:
        """Yield a clear sheet to draw on, then blend it over the image: colours may have alpha."""
        sheet = Image.new("RGBA", self.image.size)
        yield ImageDraw.Draw(sheet)
        self.image.alpha_composite(sheet)
