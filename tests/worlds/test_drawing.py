"""The brush that paints tiles: each stroke covers the pixels that it should, and no others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from piase_gym.worlds.drawing import (
    INK,
    SCALE,
    TINY,
    WHITE,
    Canvas,
    channels,
    mix,
    readable,
)

RED = "#ff0000"


def painted(paint: Callable[[Canvas], None]) -> np.ndarray:
    """Paint the square of side 40 whose corner is (20, 10); return which pixels were painted."""
    image = Image.new("RGBA", (100, 80))
    paint(Canvas(image, 20.0, 10.0, 40.0))
    return np.asarray(np.array(image)[:, :, 3] > 0)


def bounds(found: np.ndarray) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of what was painted, the last ones inclusive."""
    ys, xs = found.nonzero()
    return int(xs.min()), int(ys.min()), int(xs.max()), int(ys.max())


@pytest.mark.parametrize(
    ("paint", "wanted"),
    [
        (lambda canvas: canvas.box((0, 0), (1, 1), RED), (20, 10, 59, 49)),
        (lambda canvas: canvas.box((0.25, 0.5), (0.75, 0.75), RED), (30, 30, 49, 39)),
        (lambda canvas: canvas.box((0.5, 0.5), (0.55, 0.525), RED), (40, 30, 41, 30)),
        (lambda canvas: canvas.disc((0.5, 0.25), 0.25, RED), (30, 10, 49, 29)),
        (lambda canvas: canvas.shape(((0, 0), (1, 0), (0, 1)), RED), (20, 10, 60, 50)),
        (lambda canvas: canvas.line(((0.25, 0.5), (0.75, 0.5)), 0.2, RED), (26, 26, 53, 34)),
        (
            lambda canvas: canvas.inset((0.5, 0.25), 0.5).box((0, 0), (1, 1), RED),
            (30, 10, 49, 29),
        ),
        (
            lambda b: b.inset((0.5, 0.5), 0.5).inset((0, 0), 0.5).disc((0.5, 0.5), 0.5, RED),
            (25, 15, 34, 24),
        ),
    ],
)
def test_strokes_cover_what_they_should(
    paint: Callable[[Canvas], None], wanted: tuple[int, int, int, int]
) -> None:
    assert bounds(painted(paint)) == wanted


def test_corners_are_round_where_a_radius_says_so() -> None:
    whole = painted(lambda canvas: canvas.box((0, 0), (1, 1), RED))
    round_box = painted(lambda canvas: canvas.box((0, 0), (1, 1), RED, 0.25))
    assert whole.sum() == 1600
    lost = whole & ~round_box
    ys, xs = lost.nonzero()
    assert 0 < lost.sum() < 4 * 100
    assert set(np.minimum(xs - 20, 59 - xs)) | set(np.minimum(ys - 10, 49 - ys)) <= set(range(10))
    assert 1.1 * 314 > painted(lambda canvas: canvas.disc((0.5, 0.5), 0.25, RED)).sum() > 0.9 * 314
    triangle = painted(lambda canvas: canvas.shape(((0, 0), (1, 0), (0, 1)), RED))
    assert triangle[12, 22]
    assert not triangle[48, 58]


def test_words_are_centred_and_as_large_as_they_should_be() -> None:
    left, top, right, bottom = bounds(painted(lambda b: b.text((0.5, 0.5), 0.5, "HH", RED)))
    assert (left + right) / 2 == pytest.approx(39.5, abs=1)
    assert (top + bottom) / 2 == pytest.approx(29.5, abs=1)
    assert 10 <= bottom - top <= 20
    small = bounds(painted(lambda b: b.text((0.5, 0.5), 0.25, "HH", RED)))
    assert right - left == pytest.approx(2 * (small[2] - small[0]), abs=5)


def test_what_is_glassy_lets_the_ground_through() -> None:
    image = Image.new("RGBA", (4, 4), WHITE)
    Canvas(image, 0.0, 0.0, 4.0).box((0, 0), (1, 1), "#00000080")
    red, green, blue, solid = image.getpixel((2, 2))  # type: ignore[misc]
    assert red == green == blue == pytest.approx(127, abs=1)
    assert solid == 255


def test_details_are_lost_below_a_size() -> None:
    image = Image.new("RGBA", (1, 1))
    assert [Canvas(image, 0, 0, TINY * SCALE + more).tiny for more in (-1, 0)] == [True, False]


def test_colours_are_mixed_and_read() -> None:
    assert channels("#0a10ff") == (10, 16, 255)
    assert [mix("#0a10ff", "#0e2000", share) for share in (0, 0.25, 1)] == [
        "#0a10ff",
        "#0b14bf",
        "#0e2000",
    ]
    # Lightness is 0.3 red + 0.59 green + 0.11 blue; ink is for what is lighter than 140.
    assert [readable(c) for c in ("#8c8c8c", "#8d8d8d")] == [WHITE, INK]
    assert [readable(c) for c in ("#ff0000", "#00ff00", "#0000ff")] == [WHITE, INK, WHITE]
    assert [readable(c) for c in ("#fe6500", "#ff6a00")] == [WHITE, WHITE]
