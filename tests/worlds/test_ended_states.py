"""States in which somebody has won or lost, by the rules or by a story, are taken up again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.core.commands import Result

WORLDS: list[tuple[str, dict[str, Any]]] = [
    ("GridWorld", {"agents": 2}),
    ("SocialDilemma", {}),
    ("SocialDilemma", {"game": "harvest", "agents": 2}),
    ("SocialDilemma", {"game": "cleanup", "agents": 2}),
    ("ObjectSearch", {"agents": 2}),
    ("WordCraft", {}),
]


@pytest.mark.parametrize("result", [Result.WON, Result.LOST])
@pytest.mark.parametrize(("name", "config"), WORLDS)
def test_who_has_won_or_lost_has_so_after_a_restore(
    name: str, config: dict[str, Any], result: Result
) -> None:
    env: Any = piase_gym.parallel_env(name, **config)
    env.reset(seed=0)
    world = env.world
    world.finish(world.states, np.ones((1, len(world.agents)), np.bool_), result)
    state, digest = world.get_state(), world.digest()
    env.reset(seed=1)
    world.set_state(state)
    assert [world.result(agent) for agent in range(len(world.agents))] == [result] * len(
        world.agents
    )
    assert world.digest() == digest
