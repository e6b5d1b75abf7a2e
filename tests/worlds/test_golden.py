"""Golden rollouts: what an id does is pinned by its version, all that a caller can see of it.

When ``states`` or ``seen`` of an id fail, dynamics, rewards, defaults or views have changed: raise
the version of the id. What else fails (other forms of a world, infos, prompts, perceptions,
drawings) changes what users read: say so in the changelog. Then write the file anew with ``python
-m tests.worlds.test_golden``.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import scenarios
from piase_gym.agents import Percept, make_agent
from piase_gym.core.digest import digest_json
from piase_gym.core.jsonable import jsonable
from piase_gym.core.rng import Stream
from piase_gym.errors import UnsupportedError
from piase_gym.registry import task_spec, world_spec

FILE = Path(__file__).with_name("golden.json")
GOLDEN = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def ids() -> list[str]:
    """Return the ids that ship and do the same on every platform."""
    own = [task_spec(task) for task in piase_gym.list_tasks() if task.startswith("piase/")]
    return [row.id for row in own if row.extra is None and world_spec(row.world).extra is None]


SETTINGS: dict[str, dict[str, Any]] = {
    "GridWorld": {"agents": 2, "start_pos": None},
    "TextRoom": {"agents": 2},
    "Household": {"agents": 2},
    "ObjectSearch": {},
    "WordCraft": {},
    "SqlQuery": {"agents": 2},
    "SocialDilemma": {},
}


def draw(env: Any, name: str, dice: Stream) -> int:
    """Draw an action: of a small table any, of a large one mostly those that are legal."""
    count = int(env.action_space(name).n)
    if count <= 16 or dice.integer(8) == 0:
        return dice.integer(count)
    legal = env.world.masks()[env.world.agents.index(name)].nonzero()[0].tolist()
    return int(legal[dice.integer(len(legal))])


FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "a rich grid": (
        "GridWorld",
        {
            "agents": 3, "layout": "multi_room", "width": 14, "height": 12, "doors": "mixed",
            "hazards": 2, "hazard_ends": False, "fruits": 4, "energy": 60, "movers": 2, "boxes": 2,
            "mover_chance": 0.3, "symbols": 3, "message_length": 2, "message_to": True,
            "message_history": 2, "recall": "map", "frame": "agent", "see_through_walls": False,
        },
    ),
    "a grid seen whole": (
        "GridWorld",
        {
            "agents": 2, "layout": "obstacles", "observe": "grid", "collisions": "pass",
            "join_at": (0, 5), "shared_reward": True, "shared_memory": True, "random_goals": 3,
        },
    ),
    "foragers": ("GridWorld", {"agents": 3, "layout": "foraging", "levels": (1, 2, 1), "food": 4}),
    "a chase": (
        "GridWorld",
        {"agents": 4, "layout": "tag", "taggers": 2, "width": 9, "speech": True},
    ),
    "a long quest": (
        "TextRoom",
        {
            "agents": 2, "rooms": 8, "depth": 4, "theme": "castle", "recall": "map",
            "message_delay": 2,
        },
    ),
    "a ship": ("TextRoom", {"theme": "ship", "distractors": 6, "shared_memory": True, "agents": 2}),
    "a home in native words": ("Household", {"wording": "native"}),
    "a home that explains": (
        "Household",
        {"agents": 2, "recall": "map", "feedback": "explain", "tasks": ("heat", "two", "look")},
    ),
    "a search": (
        "ObjectSearch",
        {
            "agents": 3, "width": 12, "height": 10, "room": 5, "objects": 8, "recall": "map",
            "wandering": 3, "show_found": True, "start": "apart", "join_at": (0, 0, 6),
        },
    ),
    "a line": ("ObjectSearch", {"backend": "mock", "width": 12}),
    "crafts": (
        "WordCraft",
        {"agents": 3, "trade": True, "depth": 2, "distractors": 4, "mixes": 8, "recall": "map"},
    ),
    "flags of features": ("WordCraft", {"depth": 2, "distractors": 3, "features": "one_hot"}),
    "queries": ("SqlQuery", {"agents": 2, "recall": "map", "shared_reward": True, "writes": 1.0}),
    "a schema to find out": ("SqlQuery", {"discover": True, "rows": 12, "columns": 5}),
    "a hunt after talk": (
        "SocialDilemma",
        {"game": "stag_hunt", "symbols": 3, "talk": 2, "choice_names": "neutral", "coin": True},
    ),
    "chicken in roles": (
        "SocialDilemma",
        {"game": "chicken", "choice_names": "roles", "noise": 0.3, "horizon": "geometric"},
    ),
    "pennies": ("SocialDilemma", {"game": "matching_pennies", "rounds": 9, "memory": 2}),
    "a public good": (
        "SocialDilemma",
        {"game": "public_goods", "agents": 4, "reputation": True, "talk": 1, "speech": True},
    ),
    "volunteers": ("SocialDilemma", {"game": "volunteers_dilemma", "agents": 3, "rounds": 12}),
    "a river": (
        "SocialDilemma",
        {"game": "cleanup", "agents": 4, "recall": "map", "frame": "agent", "zap_fine": 2.0},
    ),
    "an orchard": (
        "SocialDilemma",
        {"game": "harvest", "agents": 3, "symbols": 2, "frame": "grid", "window": 5},
    ),
}  # fmt: skip
"""Forms of worlds that no id has: the world and its config."""
STORIES = [
    name for name in scenarios.names() if world_spec(scenarios.load(name).world).extra is None
]


def make(name: str) -> Any:
    """Make an id, a form or a scenario."""
    if name in FORMS:
        world, config = FORMS[name]
        return piase_gym.parallel_env(world, **config)
    if name in STORIES:
        return piase_gym.parallel_env(name)
    spec = task_spec(name)
    crowded = int(spec.config.get("agents", 1)) > 1
    return piase_gym.parallel_env(name, **({} if crowded else SETTINGS[spec.world]))


def told(env: Any) -> dict[str, Any]:
    """Return what can be asked of a world beside what `step` returns."""
    world, things = env.world, env.world.objects()
    facts = {name: env.facts(name) for name in env.agents}
    numbers = {name: world.agents.index(name) for name in env.agents}
    return {
        "words": {
            name: [world.instructions(number), world.tools(number), world.admissible_lines(number)]
            for name, number in numbers.items()
        },
        "things": [
            things,
            [sorted(world.in_sight(number, things)) for number in numbers.values()],
            [world.surroundings(found) for found in facts.values()],
            [[world.position(number), world.measured(number)] for number in numbers.values()],
        ],
        "drawn": world.ansi(),
    }


def rollout(name: str) -> dict[str, str]:
    """Return digests of the states and of everything seen in three episodes of several agents.

    In the third one most commands are those of the oracle, where there is one.
    """
    env = make(name)
    dice, states, seen, infos = Stream(7), [], [], []
    asked: dict[str, list[Any]] = {"words": [], "things": [], "drawn": []}
    for episode in range(3):
        observations, info = env.reset(seed=11 if not states else None)
        oracles = {agent: make_agent("oracle") for agent in env.agents if episode == 2}
        for step in range(40):
            seen += [[o["text"], o["vector"].tolist()] for o in observations.values()]
            states.append(env.digest())
            infos.append(info)
            if step % 8 == 0:
                for part, value in told(env).items():
                    asked[part].append(value)
            if not env.agents:
                break
            acts = {agent: draw(env, agent, dice) for agent in env.agents}
            for agent, oracle in oracles.items():
                if agent in acts and dice.integer(8):
                    oracle.perceive(Percept(env.world, env.world.agents.index(agent), step))
                    with suppress(UnsupportedError):
                        acts[agent] = oracle.act()
            result = env.step(acts)
            observations, info = result[0], result[4]
            seen.append([list(part.values()) for part in result[1:4]])
        seen.append(np.asarray(env.state()).tolist())
    found = {"states": states, "seen": seen, "infos": infos, **asked}
    return {part: digest_json(jsonable(value)) for part, value in found.items()}


NAMES = [*ids(), *FORMS, *STORIES]


@pytest.mark.parametrize("name", NAMES)
def test_an_id_does_what_it_did(name: str) -> None:
    assert rollout(name) == GOLDEN[name]


def test_no_id_is_without_a_rollout() -> None:
    assert sorted(GOLDEN) == sorted(NAMES)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: rollout(name) for name in NAMES}, indent=1) + "\n", "utf-8")
