"""Who comes first in a conflict is part of the state: a snapshot carries it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import piase_gym
from piase_gym.errors import SnapshotError
from tests.simulation.test_simulation import PAIR

RACE: dict[str, Any] = {
    "width": 3,
    "height": 2,
    "agents": 2,
    "start_pos": ((0, 0), (2, 0)),
    "layout": "empty",
    "goal_pos": (1, 1),
    "actions": "text",
}
STORY = {**PAIR, "win_conditions": [{"type": "item_in_inventory", "item_name": "gem"}]}
WORLDS: list[Any] = [
    ("GridWorld", RACE, [], {"agent_0": "move right", "agent_1": "move left"}),
    (
        "TextRoom",
        {"story": {**STORY, "ends": "each"}, "actions": "text"},
        [{"ann": "open box", "bob": "wait"}],
        {"ann": "take gem", "bob": "take gem"},
    ),
]


def before_the_race(name: str, config: Any, first: Any) -> Any:
    env = piase_gym.parallel_env(name, **config)
    env.reset(seed=0)
    for acts in first:
        env.step(acts)
    return env


@pytest.mark.parametrize(("name", "config", "first", "race"), WORLDS)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_restored_world_serves_the_same_agent_first(
    name: str, config: Any, first: Any, race: dict[str, str], order: tuple[int, int]
) -> None:
    env = before_the_race(name, config, first)
    env.runner.set_order(order)
    saved = json.loads(json.dumps(env.snapshot()))
    twin = before_the_race(name, config, first)
    twin.runner.set_order(order[::-1])
    assert twin.digest() != env.digest()
    twin.restore(saved)
    assert twin.digest() == env.digest()
    for one in (env, twin):
        outcomes = [info["outcome"] for info in one.step(race)[-1].values()]
        assert outcomes == ["ok" if n == order[0] else "failed" for n in (0, 1)]
    assert twin.digest() == env.digest()


@pytest.mark.parametrize("order", [[0, 0], [1, 2], [9, 0]])
def test_an_impossible_order_is_refused(order: list[int]) -> None:
    env = before_the_race("GridWorld", RACE, [])
    saved = env.snapshot()
    saved["state"]["order"][:2] = order
    with pytest.raises(SnapshotError, match="'order' must name each of the 2 agents once"):
        env.restore(saved)
