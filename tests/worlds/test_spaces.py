"""Spaces of every id and of many forms: models that were trained on one fit no other.

When one of these fails, raise the version of the id, and write the file anew with ``python -m
tests.worlds.test_spaces``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import piase_gym
from piase_gym.registry import list_worlds
from tests.helpers.needs import each
from tests.worlds.test_golden import NAMES, make

FILE = Path(__file__).with_name("golden_spaces.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def shown(space: spaces.Space[Any]) -> Any:
    """Return a space as JSON has it; of bounds, the sum and how many differ."""
    if isinstance(space, spaces.Dict):
        return {name: shown(part) for name, part in space.items()}
    if isinstance(space, spaces.Text):
        return [space.min_length, space.max_length, len(space.character_set)]
    if isinstance(space, spaces.Box):
        ends = [[float(end.sum()), len(np.unique(end))] for end in (space.low, space.high)]
        return [list(space.shape), str(space.dtype), *ends]
    assert isinstance(space, spaces.Discrete), space
    return [int(space.n), int(space.start)]


def spaces_of(name: str) -> dict[str, Any]:
    """Return the spaces of the first agent."""
    env = make(name)
    agent = env.possible_agents[0]
    found = {"seen": shown(env.observation_space(agent)), "acts": shown(env.action_space(agent))}
    found["state"] = shown(env.state_space)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_spaces_are_what_they_were(name: str) -> None:
    assert spaces_of(name) == GOLDEN[name]


@pytest.mark.parametrize("name", each(sorted({*list_worlds()} - {"ScreenSearch"})))
def test_worlds_say_whether_observations_tell_what_is_left_of_the_limit(name: str) -> None:
    envs = [piase_gym.parallel_env(name, view="vector", max_steps=steps) for steps in (50, 51)]
    short, long = (next(iter(env.reset(seed=3)[0].values())) for env in envs)
    assert type(envs[0].world).tells_limits == (not np.array_equal(short, long))


if __name__ == "__main__":
    rows = [f"{json.dumps(name)}: {json.dumps(spaces_of(name))}" for name in NAMES]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
