"""Where vectors of Household say what is in hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import piase_gym
from piase_gym.worlds.household.facts import HeldObject
from piase_gym.worlds.household.observe.text import LOOKS
from piase_gym.worlds.household.observe.vector import HELD_CODE, name_code


@pytest.mark.parametrize("looks", [(), ("hot",), ("clean", "sliced")])
def test_what_is_in_hand_has_its_name_and_its_looks(looks: tuple[str, ...]) -> None:
    env = piase_gym.parallel_env("Household", view="vector")
    env.reset(seed=0)
    world, empty = env.world, replace(env.facts("agent_0"), holding=())
    held = replace(empty, holding=(HeldObject("apple 3", looks),))
    before, after = world.vector(empty), world.vector(held)
    (places,) = np.nonzero(before != after)
    start = places[0]
    assert not before[start : start + HELD_CODE].any()
    code = [1.0, *name_code("apple 3", held.goal), *(float(look in looks) for look in LOOKS)]
    assert after[start : start + HELD_CODE] == pytest.approx(code)
