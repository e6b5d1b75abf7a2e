"""What GridWorld tells the document interfaces is where it says, on the map of the state itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import piase_gym
from piase_gym.core.rng import Stream
from piase_gym.interfaces import PerceptionInterface
from piase_gym.worlds.grid_world.cells import HEADINGS, NAMES

TASKS = (
    "GridWorld-Everything-16x16-4p-v1",
    "GridWorld-DoorKey-8x8-v1",
    "GridWorld-Tag-10x10-4p-v2",
)


@pytest.mark.parametrize("observe", ["window", "grid"])
@pytest.mark.parametrize("task", TASKS)
@given(seed=st.integers(0, 10_000))
def test_everything_in_sight_is_where_it_says(task: str, observe: str, seed: int) -> None:
    more: dict[str, Any] = {} if "-4p-" in task else {"agents": 3, "start_pos": None}
    more["see_through_walls"] = observe == "grid"
    env = ENVS.setdefault(
        (task, observe), piase_gym.parallel_env(f"piase/{task}", observe=observe, **more)
    )
    env.reset(seed=seed)
    dice = Stream(seed)
    for _ in range(6):
        record = env.world.states[0]
        cells = record["cells"].reshape(env.world.side, -1)
        for name in env.agents:
            facts = env.facts(name)
            around = env.world.surroundings(facts)
            assert around.position == list(facts.position)
            shown = sum(cell not in HIDDEN for row in facts.cells for cell in row)
            assert len(around.objects) == shown
            for thing in around.objects:
                x, y = thing.properties["position"]
                if thing.kind == "agent":
                    i = env.world.agents.index(thing.name)
                    assert (record["x"][i], record["y"][i]) == (x, y)
                    assert HEADINGS[record["heading"][i]] == thing.properties["heading"]
                elif thing.name != "drone":  # drones and agents stand on cells of their own
                    assert NAMES[cells[y, x]] == thing.name
        if not env.agents:
            break
        env.step({name: dice.integer(6) for name in env.agents})


ENVS: dict[tuple[str, str], Any] = {}
HIDDEN = ("", "floor", "wall", "outside", "unseen", "you")


def test_an_agent_may_be_called_as_a_thing_is() -> None:
    names = ("goal", "key")
    env = piase_gym.parallel_env("GridWorld", agents=2, agent_ids=names, layout="door_key")
    kinds = set()
    for seed in range(20):
        env.reset(seed=seed)
        for name in names:
            objects = env.world.surroundings(env.facts(name)).objects
            kinds |= {(thing.name, thing.kind) for thing in objects if thing.name in names}
    assert kinds == {(name, kind) for name in names for kind in ("agent", "object")}


def test_explorers_see_places_on_the_map() -> None:
    env = PerceptionInterface("GridWorld", width=6, height=6, start_pos=(2, 5), goal_pos=(4, 4))
    env.reset(seed=0)
    seen = env.get_agent_state("agent_0")
    assert seen["position"] == [2, 5]
    assert seen["visible_objects"] == ["goal"]
    around = env.world.surroundings(env.world.facts(0))
    assert [thing.properties["position"] for thing in around.objects] == [[4, 4]]


def test_energy_and_strength_are_its_stats() -> None:
    env = piase_gym.parallel_env("GridWorld", energy=30)
    env.reset(seed=0)
    around = env.world.surroundings(env.facts("agent_0"))
    assert around.stats == {"energy": 30, "strength": 1}
    env = piase_gym.parallel_env("GridWorld")
    env.reset(seed=0)
    assert env.world.surroundings(env.facts("agent_0")).stats is None
