"""PhysicsPlayground's script: honest, and nearly as good as who sees everything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import piase_gym
from piase_gym.agents import Percept, make_agent
from piase_gym.registry import make_config, world_spec

pytest.importorskip("pybullet")

WON = {"Reach": 5, "Reach-Sphere": 5, "Push": 4, "Stack": 4, "Gather": 4, "Carry-2p": 4}
"""How many of five episodes the script must win at least."""


def play(world: str, seed: int, **config: Any) -> dict[str, str]:
    """Let scripts play every seat; returns the results."""
    env = piase_gym.parallel_env(world, view="vector", **config)
    env.reset(seed=seed)
    names, step, results = env.possible_agents, 0, {}
    players = {name: make_agent("scripted") for name in names}
    while env.agents:
        acts = {}
        for name in env.agents:
            players[name].perceive(Percept(env.world, names.index(name), step))
            acts[name] = players[name].act()
        infos = env.step(acts)[4]
        results |= {name: info["result"] for name, info in infos.items() if "result" in info}
        step += 1
    env.close()
    return results


@pytest.mark.parametrize("task", WON)
def test_a_script_does_every_task(task: str) -> None:
    found = [play(f"piase/PhysicsPlayground-{task}-v2", seed) for seed in range(100, 105)]
    won = sum(set(results.values()) == {"won"} for results in found)
    assert won >= WON[task], found


def test_one_side_wins_keep_away() -> None:
    results = play("piase/PhysicsPlayground-KeepAway-2p-v2", 7)
    assert sorted(results.values()) == ["lost", "won"]


@pytest.mark.parametrize("role", [0, 1])
def test_either_side_of_keep_away_knows_its_part(role: int) -> None:
    env = piase_gym.parallel_env("PhysicsPlayground", view="vector", task="keep_away")
    env.reset(seed=7)
    names, away = env.possible_agents, []
    player = make_agent("scripted")
    for step in range(60):
        if not env.agents:
            break
        player.perceive(Percept(env.world, role, step))
        env.step({name: player.act() if name == names[role] else 0 for name in names})
        (x, y, _), (u, v, _) = (env.world.reading.raw[k][0] for k in (0, 1 + role))
        away.append(((x - u) ** 2 + (y - v) ** 2) ** 0.5)
    env.close()
    assert min(away) < (0.4 if role else 0.8)
    assert (env.world.play.status[role] == "won") == (role == 1)


def test_lidar_leads_around_a_wall() -> None:
    wall = {"position": (0.0, 0.0), "length": 1.4, "angle": 90.0}
    for place in (-0.3, 0.3):
        results = play(
            "PhysicsPlayground",
            1,
            task="reach",
            walls=[wall],
            rays=16,
            start_pos=[(-1.5, place)],
            goal_pos=(1.5, 0.0),
            max_steps=300,
        )
        assert results == {"agent_0": "won"}, place


@pytest.mark.parametrize("task", ["push", "gather", "stack", "carry", "keep_away"])
def test_it_reads_nothing_but_facts_and_what_is_legal(task: str) -> None:
    from piase_gym.worlds.physics_playground.players.scripted import PhysicsPlaygroundScript

    env = piase_gym.parallel_env("PhysicsPlayground", task=task, view="vector")
    env.reset(seed=3)
    world, spec = env.world, make_config(world_spec("PhysicsPlayground"), {"task": task})
    told = SimpleNamespace(task=task, body=spec.body, range=spec.range, zone=spec.zone)
    blind: Any = SimpleNamespace(
        facts=world.facts, legal=world.legal, agents=world.agents, config=told
    )
    seats = [(PhysicsPlaygroundScript(blind), PhysicsPlaygroundScript(world)) for _ in world.agents]
    for _ in range(60):
        if not env.agents:
            break
        acts = {}
        for number, (honest, other) in enumerate(seats):
            acts[world.agents[number]] = honest.act(number)
            assert acts[world.agents[number]] == other.act(number)
        env.step(acts)
    env.close()
