"""Pictures of words, for environments that draw nothing."""

from __future__ import annotations

import textwrap

import numpy as np
from numpy.typing import NDArray

COLUMNS, ROWS = 72, 24
LINE, PAD, WIDTH = 16, 12, 560
INK, PAPER = (40, 40, 48), (250, 248, 240)


def picture(text: str) -> NDArray[np.uint8]:
    """Draw lines of text; lines at the end that do not fit are left out."""
    from PIL import Image, ImageDraw, ImageFont

    lines = [row for line in text.split("\n") for row in textwrap.wrap(line, COLUMNS) or [""]]
    if len(lines) > ROWS:
        lines = [*lines[: ROWS - 1], "..."]
    image = Image.new("RGB", (WIDTH, 2 * PAD + ROWS * LINE), PAPER)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    for number, line in enumerate(lines):
        pen.text((PAD, PAD + number * LINE), line, INK, font)
    return np.array(image, np.uint8)
