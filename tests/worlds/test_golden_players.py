"""Golden plays: what the oracles and scripts of the worlds do, step by step.

When one of these fails, a player that others are measured against plays otherwise: say so in the
changelog, measure references anew where they are played by it, and write the file anew with
``python -m tests.worlds.test_golden_players``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym.agents import Percept, make_agent
from piase_gym.core.digest import digest_json
from piase_gym.core.jsonable import jsonable
from piase_gym.core.rng import Stream
from piase_gym.errors import UnsupportedError
from piase_gym.registry import load, world_spec
from tests.worlds.test_golden import FORMS, draw

FILE = Path(__file__).with_name("golden_players.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
EPISODES: dict[str, tuple[str, dict[str, Any]]] = {
    **FORMS,
    "a key to a door": ("piase/GridWorld-DoorKey-8x8-v1", {}),
    "a river of one's own frame": (
        "SocialDilemma",
        {"game": "cleanup", "agents": 3, "frame": "agent", "river": 2, "start_waste": 0.8},
    ),
    "an orchard's last steps": (
        "SocialDilemma",
        {"game": "harvest", "agents": 2, "rounds": 40, "patches": 3},
    ),
    "a search in pairs": ("ObjectSearch", {"agents": 2, "width": 9, "height": 9, "objects": 4}),
    "tasks at home": ("Household", {"tasks": ("clean", "cool", "heat", "pick")}),
    "a deep craft": ("WordCraft", {"depth": 3, "distractors": 2}),
    "hard queries": ("SqlQuery", {"hardness": ("hard", "extra")}),
}
MIXED = ("oracle", "scripted")
"""Players; the last agent of several plays at random now and then, so that plans change."""


def play(name: str, player: str) -> list[Any]:
    """Return how many steps two episodes have, the sum of rewards, and a digest of what is done."""
    world, config = EPISODES[name]
    env = piase_gym.parallel_env(world, **config)
    spec, dice, found = world_spec(env.world.name), Stream(8), []
    for seed in (1, 2):
        env.reset(seed=seed)
        players = {agent: make_agent(player) for agent in env.possible_agents}
        last, paid, done = env.agents[-1], 0.0, []
        steps = 0
        while env.agents and steps < 60:
            acts: dict[str, Any] = {}
            for agent in env.agents:
                number = env.world.agents.index(agent)
                players[agent].perceive(Percept(env.world, number, steps))
                try:
                    acts[agent] = players[agent].act()
                except UnsupportedError:
                    return ["unsupported"]
            done.append(jsonable(acts))
            if steps % 6 == 0 and player == "oracle":
                assert spec.oracle is not None
                oracle = load(spec.oracle, spec)(env.world)
                for part in ("plan", "certificate"):
                    if hasattr(oracle, part):
                        told = [getattr(oracle, part)(k) for k in range(len(env.possible_agents))]
                        done.append(jsonable(told))
            if last in acts and steps % 7 == 3:
                acts[last] = draw(env, last, dice)
            paid += sum(env.step(acts)[1].values())
            steps += 1
        found += [steps, round(paid, 6), digest_json(done)]
    env.close()
    return found


@pytest.mark.parametrize("player", MIXED)
@pytest.mark.parametrize("name", EPISODES)
def test_players_do_what_they_did(name: str, player: str) -> None:
    assert play(name, player) == GOLDEN[name][player]


if __name__ == "__main__":
    made = {name: {player: play(name, player) for player in MIXED} for name in EPISODES}
    rows = [f"{json.dumps(name)}: {json.dumps(plays)}" for name, plays in made.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
