"""Windows are cut out of the grid as NumPy turns it, agents in them too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from piase_gym.compiled import kernel, readable
from piase_gym.compiled.memory import record
from piase_gym.worlds.grids.codes import AGENT, OUTSIDE
from piase_gym.worlds.grids.windows import (
    MAP_FIELDS,
    locate,
    map_fields,
    maps_size,
    paint_agent,
    paint_cells,
    seen_ahead,
    window,
)

AGENTS = 3


def records_of(side: int, margin: int) -> tuple[Any, Any]:
    """Return a record and a table with just what windows need."""
    state = record(
        [
            ("x", "<i2", AGENTS),
            ("y", "<i2", AGENTS),
            ("heading", "u1", AGENTS),
            ("at", "<i4", (AGENTS, 4)),
            ("cells", "u1", side * side),
            ("maps", "u1", maps_size(side, margin)),
        ]
    )
    table = record([("width", "<i4"), ("height", "<i4"), *MAP_FIELDS])
    tables = np.zeros(1, table)
    for name, value in map_fields(side, margin).items():
        tables[name] = value
    return np.zeros(1, state), tables


@kernel
def show(states, tables, n, obs, before):  # type: ignore[no-untyped-def]
    """Paint everything, and write what each agent sees, and what is ahead of it."""
    s, w = states[0], tables[0]
    paint_cells(s, w)
    for a in range(AGENTS):
        locate(s, w, a)
        paint_agent(s, a)
    for a in range(AGENTS):
        window(s, w, a, n, obs, a * n * n)
        before[a] = seen_ahead(s, w, a, 1)


def expected(cells: Any, agents: Any, me: int, n: int) -> Any:
    """Return what an agent sees, by NumPy's own turning."""
    wide = np.pad(cells, n, constant_values=OUTSIDE).astype(int)
    x, y, turn = agents[me]
    for number, (ax, ay, heading) in enumerate(agents):
        wide[ay + n, ax + n] = AGENT + 4 * number + ((heading - turn) & 3)
    around = wide[y + 1 : y + 2 * n, x + 1 : x + 2 * n]  # the agent stands in the middle
    turned = np.rot90(around, turn)
    middle = n - 1
    return turned[: middle + 1, middle - n // 2 : middle + n // 2 + 1]


@pytest.mark.parametrize(
    ("side", "margin", "n"), [(16, 7, 3), (16, 7, 5), (16, 7, 7), (16, 15, 9), (32, 15, 15)]
)
def test_what_agents_see_is_the_grid_turned_to_their_heading(
    side: int, margin: int, n: int
) -> None:
    rng = np.random.default_rng(n)
    states, tables = records_of(side, margin)
    for trial in range(40):
        width, height = (side, side) if trial % 2 else rng.integers(3, side + 1, 2).tolist()
        tables["width"], tables["height"] = width, height
        cells = np.full((side, side), OUTSIDE, np.uint8)
        cells[:height, :width] = rng.integers(2, AGENT, (height, width))
        places = rng.permutation(width * height)[:AGENTS]
        corners = [0, width - 1, width * height - 1]
        places = np.array(corners) if trial < 4 else places
        agents = [(int(p % width), int(p // width), int(rng.integers(4))) for p in places]
        states["cells"] = cells.ravel()
        for name, values in zip(("x", "y", "heading"), zip(*agents, strict=True), strict=True):
            states[name] = values
        obs, before = np.zeros(AGENTS * n * n + 8, np.uint8), np.zeros(AGENTS, np.int64)
        show(readable(states), readable(tables), n, obs, before)
        for a in range(AGENTS):
            seen = expected(cells[:height, :width], agents, a, n)
            found = obs[a * n * n :][: n * n].reshape(n, n)
            np.testing.assert_array_equal(found, seen)
            assert before[a] == seen[n - 2, n // 2]
