"""What tells levels apart: all that a reset draws, so that tests play what training never met."""

from __future__ import annotations

import pytest

import piase_gym
from piase_gym.core.digest import digest_json
from tests.helpers.needs import each

DRAWN = [
    "piase/GridWorld-FourRooms-8x8-v1",
    "piase/PhysicsPlayground-Push-v2",
    "ObjectSearch",
    "TextRoom",
    "Household",
    "SqlQuery",
    "piase/WordCraft-Pantry-v2",
]


@pytest.mark.parametrize("name", each(DRAWN))
def test_levels_of_other_seeds_differ_and_a_level_is_the_same_again(name: str) -> None:
    env = piase_gym.parallel_env(name)
    found = []
    for seed in (1, 2, 3, 1):
        env.reset(seed=seed)
        found.append(digest_json(env.world.level_state()))
    assert len(set(found)) == 3
    assert found[0] == found[3]
    env.close()
