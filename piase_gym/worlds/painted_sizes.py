"""The sizes of painted maps (see `painted_map`). Plain arithmetic, no kernel."""

from __future__ import annotations

BLOCK = 8
"""Windows are turned in blocks of so many rows and columns: a row of a block is a word."""


def painted_sizes(side: int, margin: int) -> dict[str, int]:
    """Return the statics of a map with `side` columns and rows, seen in windows up to `margin`.

    Around the grid lies as much as a window shows. What lies to the right of a row is also what
    lies to the left of the next one.
    """
    ahead = margin - 1
    stride = side + ahead
    return {"side": side, "stride": stride, "origin": ahead * stride + ahead}


def map_size(side: int, margin: int) -> int:
    """Return the length of a map; words are read a little beyond the last row."""
    ahead = margin - 1
    size = (side + 2 * ahead) * (side + ahead) + ahead + 2 * BLOCK
    return -(-size // BLOCK) * BLOCK


def view_size(margin: int) -> int:
    """Return the length of the scratch memory for a window up to `margin`, in whole blocks."""
    return BLOCK**2 * (-(-margin // BLOCK)) ** 2


def steps(stride: int) -> tuple[int, int, int, int]:
    """Return how far the cells above, right, below and left lie in the map."""
    return -stride, 1, stride, -1


def corners(stride: int, window: int) -> tuple[int, int, int, int]:
    """Return where the block with a viewer's far left starts, by heading, relative to the viewer.

    The cell in row r and column c of a window of n rows lies n - 1 - r cells ahead and c - n // 2
    cells to the right. Of the four corners of the block this is the one first in memory.
    """
    last, found = BLOCK - 1, []
    for heading, step in enumerate(steps(stride)):
        row, column = last * (heading in (1, 2)), last * (heading in (2, 3))
        right = steps(stride)[(heading + 1) % 4]
        found.append((window - 1 - row) * step + (column - window // 2) * right)
    up, right, down, left = found
    return up, right, down, left
