"""What the map of an explorer says is to be seen, against geometry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from piase_gym.worlds.object_search.geometry import HALF
from piase_gym.worlds.object_search.players.survey import seen_from

SIDE, SIGHT = 15, 6
WAYS = [(0, -1), (1, 0), (0, 1), (-1, 0)]


def seen(
    heights: np.ndarray, pose: tuple[int, ...], strict: bool, sight: int = SIGHT
) -> set[tuple[int, int]]:
    """Return the columns that are seen from a pose (x, y, level, heading, pitch)."""
    room = np.zeros(64, np.int64)
    count = seen_from(heights, pose, sight, strict, room)
    return {(int(k) % SIDE, int(k) // SIDE) for k in room[:count]}


def in_picture(pose: tuple[int, ...], place: tuple[int, int]) -> bool:
    """Tell whether the middle of an object on the floor is in a picture, by a pinhole camera."""
    x, y, level, heading, pitch = pose
    (fx, fy), (rx, ry) = WAYS[heading], WAYS[(heading + 1) % 4]
    dx, dy, up = place[0] - x, place[1] - y, HALF - (level + 0.5)
    ahead, right = dx * fx + dy * fy, dx * rx + dy * ry
    lift = math.radians(60 * (pitch - 1))
    depth = ahead * math.cos(lift) + up * math.sin(lift)
    above = up * math.cos(lift) - ahead * math.sin(lift)
    return depth > 0 and abs(right) <= 1.05 * depth and abs(above) <= 0.62 * depth


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("pitch", range(3))
def test_pictures_show_what_a_pinhole_camera_shows(level: int, pitch: int) -> None:
    flat, shown = np.zeros((SIDE, SIDE), np.int64), 0
    for heading in range(4):
        pose = (7, 7, level, heading, pitch)
        cells = seen(flat, pose, False)
        wanted = {place for place in cells if in_picture(pose, place)}
        assert seen(flat, pose, True) == wanted
        shown += len(wanted)
        fx, fy = WAYS[heading]
        assert all(0 <= (x - 7) * fx + (y - 7) * fy <= SIGHT for x, y in cells)
    assert (shown > 0) == (pitch < 2)  # who looks up sees nothing that lies on the floor


@pytest.mark.parametrize("heading", range(4))
def test_what_stands_between_hides(heading: int) -> None:
    (fx, fy), heights = WAYS[heading], np.zeros((SIDE, SIDE), np.int64)

    def ahead(count: int) -> tuple[int, int]:
        return 7 + count * fx, 7 + count * fy

    def line(level: int, strict: bool, sight: int = SIGHT) -> list[int]:
        found = seen(heights, (7, 7, level, heading, 1), strict, sight)
        return [count for count in range(SIDE // 2 + 1) if ahead(count) in found]

    free, pose = line(0, True), (7, 7, 0, heading, 1)
    assert free == [count for count in range(SIGHT + 1) if in_picture(pose, ahead(count))]
    assert line(0, True, 3) == [count for count in free if count <= 3]
    x, y = ahead(3)
    heights[y, x] = 3  # what lies on it is above the picture
    assert line(0, True) == [count for count in free if count < 3]
    heights[y, x] = 1  # a table: who stands sees past it, who is as low does not
    assert max(line(0, True)) == 3
    assert max(line(2, True)) > 3
