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
from piase_gym.core.digest import digest_bytes
from piase_gym.registry import list_worlds
from tests.helpers.needs import each, need
from tests.worlds.test_golden import NAMES, make

ROOMY: dict[str, tuple[str, dict[str, Any]]] = {
    "a roomy grid": (
        "GridWorld",
        {
            "agents": 2, "recall": "map", "symbols": 2,
            "envelope": {
                "agents": 5, "symbols": 7, "message_length": 3, "message_delay": 4,
                "message_history": 6, "message_to": 1, "message_rules": 1, "width": 17,
                "height": 23, "window": 9, "status": 1, "recall": 1,
            },
        },
    ),
    "a roomy grid of spoken words": ("GridWorld", {"agents": 3, "speech": True, "energy": 9}),
    "a roomy home": (
        "Household",
        {
            "agents": 2, "recall": "map",
            "envelope": {
                "agents": 4, "message_history": 5, "receptacles": 50, "objects": 150,
                "commands": 700,
            },
        },
    ),
    "a roomy house": (
        "ObjectSearch",
        {
            "agents": 2, "objects": 5, "speech": True, "recall": "map",
            "envelope": {
                "agents": 4, "objects": 16, "width": 20, "height": 17, "channel": 1, "delay": 5,
                "found": 1, "message_history": 3,
            },
        },
    ),
    "a roomy line": (
        "ObjectSearch",
        {"backend": "mock", "width": 9, "envelope": {"width": 30, "delay": 3}},
    ),
    "a roomy workshop": (
        "WordCraft",
        {
            "agents": 2, "recall": "map",
            "envelope": {"agents": 5, "given": 30, "made": 20, "features": 40, "trade": 1},
        },
    ),
    "a roomy school": (
        "SqlQuery",
        {
            "agents": 2, "recall": "map",
            "envelope": {
                "agents": 5, "message_history": 4, "tables": 9, "columns": 13, "references": 11,
            },
        },
    ),
    "a roomy game": (
        "SocialDilemma",
        {
            "game": "public_goods", "agents": 3, "symbols": 2, "noise": 0.1,
            "envelope": {
                "agents": 7, "symbols": 5, "message_length": 2, "message_delay": 3,
                "message_history": 4, "message_to": 1, "message_rules": 1, "reputation": 1,
                "memory": 19, "coin": 1,
            },
        },
    ),
    "a roomy river": (
        "SocialDilemma",
        {
            "game": "cleanup", "agents": 3, "recall": "map",
            "envelope": {
                "agents": 6, "symbols": 3, "message_history": 2, "width": 31, "height": 29,
                "window": 9, "cleaning": 1,
            },
        },
    ),
    "a roomy story": (
        "TextRoom",
        {"agents": 2, "recall": 3, "envelope": {"agents": 5, "rooms": 20, "items": 20}},
    ),
    "a roomy playground": (
        "PhysicsPlayground",
        {
            "agents": 2, "symbols": 2, "sight": 2.0,
            "envelope": {
                "agents": 5, "symbols": 4, "message_length": 2, "message_delay": 3,
                "message_history": 4, "message_to": 1, "objects": 11, "nearest": 5, "rays": 17,
                "messages": 1,
            },
        },
    ),
}  # fmt: skip
"""Forms of worlds whose envelopes have room for more than there is."""
ALL = [*NAMES, *ROOMY]

FILE = Path(__file__).with_name("golden_spaces.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def shown(space: spaces.Space[Any]) -> Any:
    """Return a space as JSON has it; of bounds, the sum of those there are, and a digest."""
    if isinstance(space, spaces.Dict):
        return {name: shown(part) for name, part in space.items()}
    if isinstance(space, spaces.Text):
        return [space.min_length, space.max_length, len(space.character_set)]
    if isinstance(space, spaces.Box):
        ends = []
        for end in (space.low.astype("<f8"), space.high.astype("<f8")):
            ends.append([float(end[np.isfinite(end)].sum()), digest_bytes(end.tobytes())])
        return [list(space.shape), str(space.dtype), *ends]
    assert isinstance(space, spaces.Discrete), space
    return [int(space.n), int(space.start)]


def spaces_of(name: str) -> dict[str, Any]:
    """Return the spaces of the first agent."""
    if name in ROOMY:
        world, config = ROOMY[name]
        need(world)
        env = piase_gym.parallel_env(world, **config)
    else:
        env = make(name)
    agent = env.possible_agents[0]
    found = {"seen": shown(env.observation_space(agent)), "acts": shown(env.action_space(agent))}
    found["state"] = shown(env.state_space)
    return found


@pytest.mark.parametrize("name", ALL)
def test_spaces_are_what_they_were(name: str) -> None:
    assert spaces_of(name) == GOLDEN[name]


@pytest.mark.parametrize("name", each(sorted({*list_worlds()} - {"ScreenSearch"})))
def test_worlds_say_whether_observations_tell_what_is_left_of_the_limit(name: str) -> None:
    envs = [piase_gym.parallel_env(name, view="vector", max_steps=steps) for steps in (50, 51)]
    short, long = (next(iter(env.reset(seed=3)[0].values())) for env in envs)
    assert type(envs[0].world).tells_limits == (not np.array_equal(short, long))


if __name__ == "__main__":
    rows = [f"{json.dumps(name)}: {json.dumps(spaces_of(name))}" for name in ALL]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
