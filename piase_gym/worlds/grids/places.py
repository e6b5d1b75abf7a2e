"""Cells that are named from outside."""

from __future__ import annotations

from typing import Any


def no_cell(width: int, height: int, place: Any) -> str | None:
    """Say why a place is no cell of a grid, or return ``None`` if it is one.

    Args:
        width: Columns of the grid.
        height: Its rows.
        place: A column and a row, or what somebody has written for them.
    """
    if isinstance(place, str) or len(place) != 2:
        return f"a place is (x, y), not {place!r}"
    x, y = place
    if x != int(x) or y != int(y):
        return f"({x:g}, {y:g}) is no cell; columns and rows are whole numbers"
    if 0 <= x < width and 0 <= y < height:
        return None
    return f"({x:g}, {y:g}) lies outside of the grid of {width} by {height}"
