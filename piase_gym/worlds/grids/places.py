"""Checks of cells that configs and scripts name, and the observables that all grid worlds share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script.observables import Observable, of_agents
from piase_gym.worlds.grids.codes import HEADINGS


def no_cell(width: int, height: int, place: Any) -> str | None:
    """Say why a place is not a cell of a grid, or return ``None`` if it is one.

    Args:
        width: Columns of the grid.
        height: Its rows.
        place: A column and a row, or whatever a user has written instead.
    """
    if isinstance(place, str) or len(place) != 2:
        return f"a place is (x, y), not {place!r}"
    x, y = place
    if x != int(x) or y != int(y):
        return f"({x:g}, {y:g}) is no cell; columns and rows are whole numbers"
    if 0 <= x < width and 0 <= y < height:
        return None
    return f"({x:g}, {y:g}) lies outside of the grid of {width} by {height}"


def grid_of(config: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the first and the last cell of a config's grid."""
    return (0, 0), (config.width - 1, config.height - 1)


HEADING: Final = Observable(
    name="heading",
    about="where it looks",
    read=of_agents("heading"),
    kind="word",
    codes={word: code for code, word in enumerate(HEADINGS)},
)
SAID: Final = Observable(
    name="said", about="the symbol it said in this step, or 0", read=of_agents("said")
)


def cell_observables(codes: Mapping[str, int], about: str) -> tuple[Observable, Observable]:
    """Return the observables `cell` and `count`.

    Args:
        codes: The kinds of cells that scripts can name.
        about: What `cell` is, in a few words.
    """

    def cell(world: Any, states: NDArray[Any], of: Any) -> NDArray[Any]:
        x, y = (int(part) for part in of)
        return np.asarray(states["cells"][:, y * world.side + x][:, None])

    def count(_world: Any, states: NDArray[Any], of: str) -> NDArray[Any]:
        return np.asarray((states["cells"] == codes[of]).sum(1)[:, None])

    return (
        Observable(
            name="cell",
            about=about,
            read=cell,
            kind="word",
            of="place",
            shared=True,
            codes=codes,
            bounds=grid_of,
        ),
        Observable(
            name="count",
            about="how many cells are of a kind",
            read=count,
            of="word",
            shared=True,
            subjects=lambda _config: tuple(codes),
        ),
    )
