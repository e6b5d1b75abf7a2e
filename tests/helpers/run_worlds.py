"""Environments whose runs are logged in tests, and players for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from piase_gym import parallel_env
from tests import probes

probes.register()


def grid(**config: Any) -> Any:
    """A small GridWorld with three agents."""
    fields = {"agents": 3, "width": 5, "height": 5, "max_steps": 15, **config}
    return parallel_env("GridWorld", **fields)


def keys(**config: Any) -> Any:
    """A GridWorld with a key, a door, hints, a partner."""
    fields = {"agents": 2, "width": 6, "height": 6, "layout": "door_key", "max_steps": 25}
    return parallel_env("GridWorld", partners={"agent_1": "random"}, **{**fields, **config})


def text(**config: Any) -> Any:
    """A text world with letters and agents that join late."""
    return parallel_env("TextProbe", **{"agents": 2, "max_steps": 20, **config})


def point(**config: Any) -> Any:
    """A world of floats."""
    return parallel_env("PointProbe", **{"agents": 2, "max_steps": 20, **config})


WORLDS: dict[str, Callable[..., Any]] = {"grid": grid, "keys": keys, "text": text, "point": point}


@dataclass
class Seen:
    """What an environment reported to its user, by agent."""

    won: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    lengths: dict[str, list[int]] = field(default_factory=dict)
    returns: dict[str, list[float]] = field(default_factory=dict)
    steps: int = 0


def play(env: Any, episodes: int = 4, seed: int = 0) -> Seen:
    """Play at random and write down what the environment itself says."""
    rng, seen = np.random.default_rng(seed), Seen()
    for episode in range(episodes):
        env.reset(seed=seed + episode)
        totals: dict[str, list[float]] = {}
        while env.agents:
            actions = {name: choose(env, name, rng) for name in env.agents}
            _, rewards, _, _, infos = env.step(actions)
            seen.steps += 1
            for name in actions:
                totals.setdefault(name, []).append(rewards[name])
                result = infos[name].get("result")
                if result is not None:
                    note(seen, name, result, totals[name])
    return seen


def note(seen: Seen, name: str, result: str, rewards: list[float]) -> None:
    """Write down how an agent's episode ended."""
    book = seen.won if result in ("won", "ended") else seen.lost  # to play it out is the task
    book[name] = book.get(name, 0) + 1
    seen.lengths.setdefault(name, []).append(len(rewards))
    seen.returns.setdefault(name, []).append(sum(rewards))


def choose(env: Any, name: str, rng: np.random.Generator) -> Any:
    """Choose any index, legal or not, or a line of text."""
    if env.unwrapped._decoder.kind == "text":
        lines = [*env.unwrapped.admissible_commands(name), "dance", "say Grüße, \u4f60\u597d!", ""]
        return lines[int(rng.integers(len(lines)))]
    return int(rng.integers(env.action_space(name).n))
