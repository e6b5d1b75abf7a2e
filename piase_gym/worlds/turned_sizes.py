"""The sizes of turned maps (see `turned_maps`). Plain arithmetic, no kernel."""

from __future__ import annotations


def turned_sizes(side: int, margin: int) -> dict[str, int]:
    """Return the statics of maps with `side` columns and rows, seen in windows up to `margin`."""
    stride = side + 2 * (margin // 2)
    return {
        "side": side,
        "stride": stride,
        "ahead": (margin - 1) * stride,
        "beside": margin // 2,
        "area": (side + margin - 1) * stride,  # of one turned map
    }


def map_size(side: int, margin: int) -> int:
    """Return the length of all four maps; words are read a little beyond the last row."""
    return 4 * turned_sizes(side, margin)["area"] + 16
