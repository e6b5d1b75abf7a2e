"""GridWorld's script: honest, and good enough to be a reference."""

from __future__ import annotations

from typing import Any

import pytest

import piase_gym
from piase_gym.agents import Percept, ScriptedAgent
from piase_gym.agents.catalogue import make_agent
from piase_gym.errors import UnsupportedError
from tests import probes


def episode(seed: int, **config: Any) -> tuple[dict[str, str], int]:
    """Let scripts play every seat; return the results and the steps."""
    env = piase_gym.parallel_env("GridWorld", view="vector", **config)
    env.reset(seed=seed)
    agents = {name: ScriptedAgent(name) for name in env.agents}
    results: dict[str, str] = {}
    steps = 0
    while env.agents:
        acts = {}
        for name in env.agents:
            agents[name].perceive(Percept(env.world, env.possible_agents.index(name), steps))
            acts[name] = agents[name].act()
        infos = env.step(acts)[-1]
        steps += 1
        results |= {name: info["result"] for name, info in infos.items() if "result" in info}
    return results, steps


@pytest.mark.parametrize("layout", ["empty", "obstacles", "four_rooms", "door_key"])
@pytest.mark.parametrize("sight", [{}, {"see_through_walls": False}, {"observe": "grid"}])
def test_a_script_alone_arrives(layout: str, sight: dict[str, Any]) -> None:
    for seed in range(12):
        results, _ = episode(seed, layout=layout, width=9, height=9, border=True, **sight)
        assert results == {"agent_0": "won"}, seed


def test_several_scripts_arrive() -> None:
    for seed in range(10):
        results, _ = episode(seed, layout="four_rooms", width=9, height=9, agents=4)
        assert set(results.values()) == {"won"}, seed


class Blind:
    """A world of which only the facts can be asked."""

    def __init__(self, world: Any) -> None:
        self.facts, self.config = world.facts, world.config


def test_a_script_reads_nothing_but_facts() -> None:
    from piase_gym.worlds.grid_world.scripted import GridScript

    env = piase_gym.parallel_env("GridWorld", layout="door_key", view="vector")
    env.reset(seed=3)
    script = GridScript(Blind(env.world))  # type: ignore[arg-type]
    while env.agents:
        infos = env.step({"agent_0": script.act(0)})[-1]
    assert infos["agent_0"]["result"] == "won"


def test_a_world_without_a_script_says_so() -> None:
    probes.register()
    env = piase_gym.parallel_env("PointProbe")
    env.reset(seed=0)
    agent = make_agent("scripted")
    agent.perceive(Percept(env.world, 0, 0))
    with pytest.raises(UnsupportedError, match="PointProbe has no script"):
        agent.act()
