"""What the pictures are painted with: a brush on a unit square, whatever its size in pixels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageDraw, ImageFont

SCALE: Final = 4
"""How many times larger a tile is painted than it is shown, so that edges are smooth."""

TINY: Final = 16
"""Below so many pixels a tile has no room for details."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Brush:
    """Draws on a square part of an image, in which (0, 0) and (1, 1) are the corners."""

    image: Image.Image
    left: float
    top: float
    size: float

    @property
    def tiny(self) -> bool:
        """Whether details would be lost."""
        return self.size < TINY * SCALE

    def inset(self, centre: Point, size: float) -> Brush:
        """Return a brush for the square of side `size` around a point."""
        left, top = self._place((centre[0] - size / 2, centre[1] - size / 2))
        return Brush(self.image, left, top, size * self.size)

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
        """Yield a clear sheet to draw on, then lay it over the image: colours may be glassy."""
        sheet = Image.new("RGBA", self.image.size)
        yield ImageDraw.Draw(sheet)
        self.image.alpha_composite(sheet)
