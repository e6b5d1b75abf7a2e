"""What agents see does not depend on the room that the envelope leaves."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from piase_gym.worlds.grid_world.cells import UNSEEN
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.world import GridWorld

CONFIG: dict[str, Any] = {
    "layout": "four_rooms",
    "width": 9,
    "height": 9,
    "border": True,
    "agents": 3,
    "obstacle_density": 0.2,
}


def frame(world: GridWorld, agent: int, size: int) -> npt.NDArray[np.uint8]:
    """Return the window that an agent sees, shape (size, size)."""
    found: npt.NDArray[np.uint8] = world.vectors()[agent][: size * size].reshape(size, size)
    return found.copy()


@pytest.mark.parametrize("see_through", [False, True])
@pytest.mark.parametrize(("small", "large"), [(3, 5), (3, 7), (5, 7), (3, 9), (7, 9), (9, 15)])
def test_a_small_window_in_a_large_envelope_shows_the_same(
    small: int, large: int, see_through: bool
) -> None:
    config = {**CONFIG, "window": small, "see_through_walls": see_through}
    tight = GridWorld(GridWorldConfig(**config))
    loose = GridWorld(GridWorldConfig(**config, envelope={"window": large}))
    rng, hidden = random.Random(small * large), 0
    for seed in range(4):
        tight.reset(seed)
        loose.reset(seed)
        for _ in range(25):
            for agent in np.flatnonzero(tight.alive).tolist():
                near, wide = frame(tight, agent, small), frame(loose, agent, large)
                left = (large - small) // 2
                inner = wide[large - small :, left : left + small].copy()
                np.testing.assert_array_equal(inner, near)
                wide[large - small :, left : left + small] = UNSEEN
                assert not wide.any()  # nothing is seen beyond the window
                hidden += int((near == UNSEEN).sum())
            acts = [rng.choice([0, 1, 2, 3, 5]) for _ in range(3)]
            tight.step(acts)
            loose.step(acts)
    assert (hidden > 0) != see_through  # walls did hide cells
