"""What the players of the worlds do is pinned, because their scores are published.

When one of these fails, the references of its world no longer hold: measure them anew
(``piase bench references``), and write the file anew with ``python -m
tests.agents.test_golden_play``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import piase_gym
from piase_gym.agents import Percept, make_agent
from piase_gym.core.digest import digest_json
from piase_gym.errors import UnsupportedError
from tests.worlds.test_golden import ids

FILE = Path(__file__).with_name("golden_play.json")
GOLDEN: dict[str, dict[str, str]] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
POLICIES = ("oracle", "scripted")
STEPS = 60


def play(task: str, policy: str) -> str | None:
    """Return the digest of what agents do in the first steps, ``None`` if they do not play this."""
    env = piase_gym.parallel_env(task, view="vector")
    env.reset(seed=5)
    players = {name: make_agent(policy) for name in env.agents}
    acts: list[dict[str, str]] = []
    while env.agents and len(acts) < STEPS:
        row = {}
        for number, name in enumerate(env.possible_agents):
            if name in env.agents:
                players[name].perceive(Percept(env.world, number, len(acts)))
                try:
                    row[name] = players[name].act()
                except UnsupportedError:
                    return None
        acts.append({name: repr(act) for name, act in row.items()})
        env.step(row)
    return digest_json(acts)


@pytest.mark.parametrize("task", ids())
def test_players_do_what_they_did(task: str) -> None:
    assert {policy: play(task, policy) for policy in POLICIES} == GOLDEN[task]


if __name__ == "__main__":
    found = {task: {policy: play(task, policy) for policy in POLICIES} for task in ids()}
    FILE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
