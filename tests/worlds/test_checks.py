"""States that cannot be are refused, in words, before a kernel goes on from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from piase_gym.errors import SnapshotError
from piase_gym.worlds.checks import find_agent_problem, find_grid_problem, read_cells, read_field
from piase_gym.worlds.grids.codes import OUTSIDE

KIND = np.dtype(
    [
        *((name, "i4") for name in ("width", "height", "agents", "t")),
        *((name, "i4", 3) for name in ("x", "y", "hand", "order", "alive")),
    ]
)
SOUND: dict[str, Any] = {
    "width": 5,
    "height": 4,
    "agents": 2,
    "t": 7,
    "x": [4, 0, 9],
    "y": [3, 0, -1],
    "hand": [2, 0, 1],
    "order": [1, 0, 0],
    "alive": [1, 1, 0],
}


def record(**changes: Any) -> Any:
    """Return a state of two agents on five times four cells, with room for a third agent."""
    found = np.zeros((), KIND)
    for name, value in {**SOUND, **changes}.items():
        found[name] = value
    return found


def grid_problem(**changes: Any) -> str:
    """Return what is wrong with a state of a grid."""
    table = record(width=5, height=4)
    hands, places = {"hand": 3}, {"x": [4, 0, 0], "y": [3, 0, 0]}
    return find_grid_problem(record(**{**places, **changes}), table, hands, 7)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"t": 0}, ""),
        ({"order": [0, 1, 1]}, ""),
        ({"t": 8}, "'t' must be in 0..7"),
        ({"t": -1}, "'t' must be in 0..7"),
        ({"width": 6}, "'width' is 6, but the config says 5"),
        ({"height": 3}, "'height' is 3, but the config says 4"),
        ({"agents": 1}, "'agents' is 1, but the config says 2"),
        ({"x": [5, 0, 0]}, "'x' must be in 0..4 for every agent"),
        ({"y": [0, -1, 0]}, "'y' must be in 0..3 for every agent"),
        ({"hand": [3, 0, 0]}, "'hand' must be in 0..2 for every agent"),
        ({"alive": [1, 1, 1]}, "'alive' names agents beyond the 2 of the config"),
        ({"order": [1, 1, 0]}, "'order' must name each of the 2 agents once"),
        ({"order": [0, 2, 1]}, "'order' must name each of the 2 agents once"),
        ({"order": [1, 1, 0], "t": 8}, "'order' must name each of the 2 agents once"),
        ({"order": [1, 1, 0], "hand": [3, 0, 0]}, "'hand' must be in 0..2 for every agent"),
        ({"t": 8, "alive": [1, 1, 1]}, "'alive' names agents beyond the 2 of the config"),
    ],
)
def test_what_is_wrong_with_a_grid_is_told_first_things_first(
    changes: dict[str, Any], problem: str
) -> None:
    assert grid_problem(**changes) == problem


def test_only_fields_that_are_named_must_agree_with_the_config() -> None:
    other = record(width=9, agents=2)
    assert find_agent_problem(record(), other, {"hand": 3}) == ""
    told = "'width' is 5, but the config says 9"
    assert find_agent_problem(record(), other, {"hand": 3}, ("agents", "width")) == told


@pytest.mark.parametrize(
    ("place", "code", "sound"),
    [
        (None, 0, True),
        ((1, 2), 255, True),
        ((1, 2), 7, False),
        ((1, 2), OUTSIDE, False),
        ((0, 3), 0, False),
        ((2, 0), 255, False),
    ],
)
def test_cells_have_codes_of_the_grid_within_and_of_nothing_beyond(
    place: tuple[int, int] | None, code: int, sound: bool
) -> None:
    """A grid of two rows and three columns, in a square of four."""
    kind = [("width", "i4"), ("height", "i4"), ("cells", "u1", 16)]
    grid = np.zeros((), kind)
    grid["width"], grid["height"], grid["cells"] = 3, 2, OUTSIDE
    cells = grid["cells"].reshape(4, 4)
    cells[:2, :3] = 3
    if place is not None:
        cells[place] = code
    found = read_cells(grid, (3, 255))
    assert (found is not None) == sound
    if found is not None:
        np.testing.assert_array_equal(found[0], cells)
        assert (~found[1]).nonzero()[0].tolist() == [0, 0, 0, 1, 1, 1]
        assert (~found[1]).nonzero()[1].tolist() == [0, 1, 2, 0, 1, 2]


BYTES = np.dtype(("u1", (2, 2)))


def test_fields_are_read_with_their_type() -> None:
    found = read_field("House", "walls", [[0, 255], [1, 2]], BYTES)
    assert (found.dtype, found.tolist()) == (np.uint8, [[0, 255], [1, 2]])
    assert read_field("House", "t", 3, np.dtype("i8")).tolist() == 3


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([0, 1], r"House: 'walls' has the shape (2,); allowed: (2, 2) (another envelope?)"),
        ([[0], [1, 2]], "House: 'walls' has the shape"),
        ([[0, 256], [1, 2]], "House: 'walls' holds 256; allowed are integers from 0 to 255"),
        ([[0, -1], [1, 2]], "House: 'walls' holds -1; allowed are integers from 0 to 255"),
        ([[0, True], [1, 2]], "House: 'walls' holds True; allowed are integers from 0 to 255"),
        ([[0, 1.0], [1, 2]], "House: 'walls' holds 1.0; allowed are integers from 0 to 255"),
        ([[0, "a" * 60], [1, 2]], f"House: 'walls' holds '{'a' * 39}; allowed are"),
    ],
)
def test_fields_of_another_shape_or_range_are_refused(value: Any, told: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read_field("House", "walls", value, BYTES)
    assert str(caught.value).startswith(told)
