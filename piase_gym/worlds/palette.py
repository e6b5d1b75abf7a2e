"""The colours of all pictures. Plain data and plain functions."""

from __future__ import annotations

from typing import Final

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
    """Return red, green and blue of ``#rrggbb``."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(colour: str, other: str, share: float) -> str:
    """Return a colour with a share of another in it."""
    pairs = zip(channels(colour), channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def readable(colour: str) -> str:
    """Return white or ink, whichever can be read on a colour."""
    red, green, blue = channels(colour)
    return INK if 0.3 * red + 0.59 * green + 0.11 * blue > 140 else WHITE
