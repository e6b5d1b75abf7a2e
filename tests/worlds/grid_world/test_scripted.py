"""GridWorld's script: honest, and good enough to be a reference."""

from __future__ import annotations

from typing import Any

import pytest

import piase_gym
from piase_gym.agents import Percept, ScriptedAgent
from piase_gym.agents.policy_registry import make_agent
from piase_gym.errors import UnsupportedError
from piase_gym.worlds.grid_world.players.scripted import GridWorldScript
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


def won(config: dict[str, Any], seeds: int) -> int:
    """Count the agents that win in so many levels."""
    return sum(list(episode(seed, **config)[0].values()).count("won") for seed in range(seeds))


def test_gates_are_opened_by_switches() -> None:
    gates = {"layout": "multi_room", "rooms": 3, "doors": "gates", "width": 12, "height": 12}
    assert won({**gates, "max_steps": 600}, 8) == 8


def test_food_is_lifted_alone_and_together() -> None:
    for seed in range(6):
        results, _ = episode(seed, layout="foraging", agents=2, max_steps=300)
        assert set(results.values()) == {"won"}, seed
    together = {"layout": "foraging", "agents": 2, "food": 2, "min_food_level": 2}
    for seed in range(6):
        results, _ = episode(seed, max_steps=300, **together)
        assert set(results.values()) == {"won"}, seed


def test_no_way_is_searched_for_to_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    search, asked = GridWorldScript._towards, list[set[Any]]()

    def noted(self: Any, facts: Any, wanted: set[Any]) -> int | None:
        asked.append(wanted)
        return search(self, facts, wanted)

    monkeypatch.setattr(GridWorldScript, "_towards", noted)
    episode(0, layout="door_key", width=6, height=6)
    assert asked
    assert all(asked)


def test_hungry_agents_eat() -> None:
    orchard = {"fruits": 6, "energy": 40, "random_goals": 0, "max_steps": 200}
    stay = {"agent_0": 4}
    env = piase_gym.parallel_env("GridWorld", **orchard)
    env.reset(seed=0)
    while env.agents:
        ends = env.step(stay)[-1]
    assert ends["agent_0"]["result"] == "lost"  # who does nothing starves
    assert won(orchard, 6) == 6


TAG = "piase/GridWorld-Tag-10x10-4p-v2"


def hunt(seed: int, policy: str) -> int:
    """Return after how many steps two taggers have caught two random runners."""
    env = piase_gym.parallel_env(TAG)
    env.reset(seed=seed)
    agents = {n: make_agent(policy if i < 2 else "random") for i, n in enumerate(env.agents)}
    for number, agent in enumerate(agents.values()):
        agent.reset(100 * seed + number)
    steps = 0
    while env.agents:
        acts = {}
        for name in env.agents:
            number = env.possible_agents.index(name)
            agents[name].perceive(Percept(env.world, number, steps))
            acts[name] = agents[name].act()
        env.step(acts)
        steps += 1
    return steps


def test_taggers_chase() -> None:
    chased = sum(hunt(seed, "scripted") for seed in range(4))
    assert 2 * chased < sum(hunt(seed, "random") for seed in range(4))


def test_runners_never_step_towards_a_tagger_in_sight() -> None:
    from piase_gym.worlds.grid_world.players.scripted import GridWorldScript

    seen = 0
    for seed in range(8):
        env = piase_gym.parallel_env("GridWorld", layout="tag", agents=2, taggers=1, view="vector")
        env.reset(seed=seed)
        script, tagger = GridWorldScript(env.world), GridWorldScript(env.world)
        while env.agents:
            (x, y), (a, b) = env.facts("agent_1").position, env.facts("agent_0").position
            sight = any("agent_0" in cell for row in env.facts("agent_1").cells for cell in row)
            acts = {"agent_0": tagger.act(0), "agent_1": script.act(1)}
            dx, dy = [(0, -1), (0, 1), (-1, 0), (1, 0), (0, 0)][acts["agent_1"]]
            if sight:
                seen += 1
                assert abs(x + dx - a) + abs(y + dy - b) >= abs(x - a) + abs(y - b)
            env.step(acts)
    assert seen > 10


class Blind:
    """A world of which only the facts can be asked."""

    def __init__(self, world: Any) -> None:
        self.facts, self.config = world.facts, world.config


def test_a_script_reads_nothing_but_facts() -> None:
    from piase_gym.worlds.grid_world.players.scripted import GridWorldScript

    env = piase_gym.parallel_env("GridWorld", layout="door_key", view="vector")
    env.reset(seed=3)
    script = GridWorldScript(Blind(env.world))  # type: ignore[arg-type]
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
