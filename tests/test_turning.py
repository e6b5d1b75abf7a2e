"""Windows are turned as NumPy turns them, agents in them too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from piase_gym import kernels
from piase_gym.worlds import turning
from piase_gym.worlds.cell_codes import AGENT, MAX_CODE
from piase_gym.worlds.painted_sizes import corners, map_size, painted_sizes, steps, view_size
from piase_gym.worlds.turning import matcher, reveal_7, reveal_8, turn_7, turn_8

STRIDE = 13


@kernels.kernel
def seven(cells, first, stride, heading, out, start, code):  # type: ignore[no-untyped-def]
    """Call `turn_7` from Python."""
    return turn_7(cells, first, stride, heading, out, start, code)


@kernels.kernel
def eight(cells, first, stride, heading, out, start, code):  # type: ignore[no-untyped-def]
    """Call `turn_8` from Python."""
    return turn_8(cells, first, stride, heading, out, start, code)


slow_7 = turning._turner(7, one_step=False) if kernels.JIT else turn_7
matches = matcher((3, 1, 33))


@kernels.kernel
def slow_seven(cells, first, stride, heading, out, start, code):  # type: ignore[no-untyped-def]
    """Turn a block as processors do that cannot do it in one step."""
    return slow_7(cells, first, stride, heading, out, start, code)


@kernels.kernel
def match(block, start):  # type: ignore[no-untyped-def]
    """Call a matcher from Python."""
    return matches(block, start)


@kernels.kernel
def reveal(block, first, bits, narrow, wide, start, code):  # type: ignore[no-untyped-def]
    """Call `reveal_7` and `reveal_8` from Python."""
    first_7 = reveal_7(block, first, bits, narrow, start, code)
    return first_7, reveal_8(block, first, bits, wide, start, code)


def turned(cells: NDArray[np.uint8], first: int, heading: int) -> NDArray[np.int64]:
    """Return the block that starts at `first`, turned so that `heading` is up, cell by cell."""
    block = [[int(cells[first + r * STRIDE + c]) for c in range(8)] for r in range(8)]
    for _ in range(heading):  # a quarter counterclockwise each
        block = [[block[c][7 - r] for c in range(8)] for r in range(8)]
    found = np.array(block)
    agents = found >= AGENT
    found[agents] = (found[agents] & ~3) | ((found[agents] - heading) & 3)
    return found


@pytest.mark.parametrize("heading", range(4))
def test_blocks_are_turned_and_agents_with_them(heading: int) -> None:
    rng = np.random.default_rng(heading)
    for first in range(20):
        cells = rng.integers(0, MAX_CODE + 1, 9 * STRIDE + 30).astype(np.uint8)
        code = int(cells[first + 2 * STRIDE + 3])
        expected = turned(cells, first, heading)
        narrow, wide = np.full(80, 99, np.uint8), np.full(80, 99, np.uint8)
        where_7 = seven(cells, first, STRIDE, heading, narrow, 5, code)
        where_8 = eight(cells, first, STRIDE, heading, wide, 5, code)
        slow = np.full(80, 99, np.uint8)
        assert slow_seven(cells, first, STRIDE, heading, slow, 5, code) == where_7
        assert (slow[5:54] == narrow[5:54]).all()
        assert (narrow[5:54].reshape(7, 7) == expected[:7, :7]).all()
        assert (wide[5:69].reshape(8, 8) == expected).all()
        assert (narrow[:5] == 99).all()
        assert (narrow[69:] == 99).all()
        assert (wide[69:] == 99).all()
        for where, seen in ((where_7, expected[:7, :7]), (where_8, expected)):
            found = np.flatnonzero(seen.ravel() == code)
            assert where == (found[0] if len(found) else 64)


def test_a_code_that_is_not_there_is_at_place_64() -> None:
    cells, out = np.full(200, 2, np.uint8), np.zeros(64, np.uint8)
    assert eight(cells, 0, STRIDE, 1, out, 0, 4) == 64
    cells[7 * STRIDE + 2] = 4  # in the eighth row, which windows of seven do not show
    assert seven(cells, 0, STRIDE, 0, out, 0, 4) == 64


def test_cells_are_matched_and_hidden_bit_by_bit() -> None:
    rng = np.random.default_rng(3)
    for first in range(20):
        block = rng.integers(0, 40, 100).astype(np.uint8)
        found = int(match(block, first))
        assert [found >> i & 1 for i in range(64)] == [b in (1, 3, 33) for b in block[first:][:64]]
        bits = int(rng.integers(0, 2**64, dtype=np.uint64))
        seen = np.array([block[first + i] if bits >> i & 1 else 0 for i in range(64)])
        narrow, wide, code = np.full(80, 99, np.uint8), np.full(80, 99, np.uint8), int(block[first])
        where = reveal(block, first, np.uint64(bits), narrow, wide, 5, code)
        for size, out, place in zip((7, 8), (narrow, wide), where, strict=True):
            expected = seen.reshape(8, 8)[:size, :size].ravel()
            assert (out[5 : 5 + size * size] == expected).all()
            places = np.flatnonzero(expected == code)
            assert place == (places[0] if len(places) else 64)


@pytest.mark.parametrize("window", [3, 5, 7, 9, 15])
@pytest.mark.parametrize("side", [16, 64])
def test_blocks_of_windows_stay_in_the_map(side: int, window: int) -> None:
    margin = 7 if window <= 7 else 15
    sizes = painted_sizes(side, margin)
    stride, blocks = sizes["stride"], -(-window // 8)
    found: list[Any] = []
    for heading, corner in enumerate(corners(stride, window)):
        down, right = -steps(stride)[heading], steps(stride)[(heading + 1) % 4]
        for x, y in ((0, 0), (side - 1, 0), (0, side - 1), (side - 1, side - 1)):
            at = sizes["origin"] + y * stride + x
            for i in range(blocks * blocks):
                first = at + corner + i // blocks * 8 * down + i % blocks * 8 * right
                found += [first, first + 7 * stride + 8]
    assert min(found) >= 0
    assert max(found) <= map_size(side, margin)
    assert view_size(margin) >= 64 * blocks * blocks
