"""What conditions of scripts can be about: every fact of every world, as it is after some play.

When one of these fails, conditions of scenarios mean something else than before: say so in the
changelog, and write the file anew with ``python -m tests.worlds.test_script_facts``.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.agents import Percept, make_agent
from piase_gym.core.rng import Stream
from piase_gym.errors import UnsupportedError
from tests.helpers.needs import need
from tests.worlds.test_golden import draw

FILE = Path(__file__).with_name("golden_facts.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
STEPS = 12
PLAYED: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "a grid": (
        "GridWorld",
        {
            "agents": 2, "layout": "door_key", "energy": 40, "fruits": 2, "symbols": 2, "food": 2,
            "hazards": 1,
        },
        [(1, 2), "agent_1"],
    ),
    "a chase": ("GridWorld", {"agents": 3, "layout": "tag"}, [(0, 0)]),
    "a home": ("Household", {"agents": 2}, ["cabinet 2", "coffeemachine 1", "mug 1", "nowhere"]),
    "a house": ("ObjectSearch", {"agents": 3, "width": 9, "height": 9, "objects": 6}, []),
    "a line": ("ObjectSearch", {"backend": "mock", "agents": 2}, []),
    "crafts": ("WordCraft", {"agents": 2, "trade": True, "distractors": 2}, ["tortilla"]),
    "one table": ("WordCraft", {"agents": 2}, ["tortilla"]),
    "queries": ("SqlQuery", {"agents": 2, "writes": 1.0}, []),
    "a match": ("SocialDilemma", {"game": "public_goods", "agents": 3, "symbols": 2}, []),
    "a harvest": ("SocialDilemma", {"game": "harvest", "agents": 3, "symbols": 2}, [(3, 2)]),
    "a cleanup": ("SocialDilemma", {"game": "cleanup", "agents": 3}, [(0, 2)]),
    "a playground": (
        "PhysicsPlayground",
        {"task": "push", "agents": 2, "objects": [{"kind": "ball"}, {"kind": "box"}]},
        ["agent_1", (0.5, -0.5), "red ball"],
    ),
}  # fmt: skip
"""Worlds, their configs, and places and words that facts are asked of beside those declared."""

CHANGES: dict[str, list[tuple[Any, ...]]] = {
    "a grid": [
        *(("spawn", thing, (0, 0)) for thing in ("goal", "wall")),
        ("spawn", "fruit", (1, 0)),
        ("spawn", "food for three", (0, 1)),
        ("spawn", "wall", (0, 6)),  # agent_1 is there
        ("remove", "fruit", (0, 0)),
        ("remove", "goal", (0, 0)),
        ("remove", None, (1, 0)),
        ("remove", "food for three", None),
        ("remove", "fruit", None),
        ("remove", "wall", None),
    ],
    "a home": [
        ("spawn", "mug 1", "cabinet 2"),
        ("remove", "mug 1", "cabinet 2"),
        ("remove", "mug 1", "coffeemachine 1"),
        ("spawn", "mug 1", "nowhere"),
        ("spawn", "mug 1", "cabinet 2"),
        ("remove", None, "cabinet 2"),
        ("spawn", "mug 1", "coffeemachine 1"),
        ("remove", "mug 1", None),
    ],
    "a house": [
        *(("spawn", "lamp", (x, 3)) for x in range(9)),
        *(("remove", None, (x, 3)) for x in range(9)),
        ("remove", "chair", None),
    ],
    "a line": [
        ("spawn", "lamp", (3,)),
        ("remove", "lamp", (2,)),
        ("remove", None, (3,)),
        ("remove", "chair", None),
    ],
    "a harvest": [
        *(("spawn", "apple", (x, 13)) for x in range(6, 16)),  # agent_0 is there
        ("spawn", "apple", (3, 3)),  # nothing grows there
        ("spawn", "waste", (12, 13)),
        ("remove", "waste", (12, 13)),
        ("remove", "apple", (12, 13)),
        ("remove", None, (11, 13)),
        ("remove", "apple", None),
    ],
    "a cleanup": [
        *(("spawn", "waste", (x, 2)) for x in range(5)),
        ("remove", "apple", (0, 2)),
        ("remove", "waste", (0, 2)),
        ("spawn", "waste", (0, 2)),
        ("remove", None, None),
    ],
    "a playground": [
        ("remove", None, (0.65, 1.67)),
        ("spawn", "red ball", (-0.385, -0.3)),  # agent_1 is in the way
        ("spawn", "red ball", (0.5, -0.5)),
        ("remove", "blue box", (0.5, -0.5)),
        ("remove", "red ball", None),
    ],
}
"""What is put into worlds and taken out afterwards, one after the other."""


def subjects(world: Any, fact: Any, others: list[Any]) -> list[Any]:
    """Return what a fact is asked of."""
    if not fact.of:
        return [None]
    known = None if fact.subjects is None else fact.subjects(world.config)
    if known is not None:
        return list(known)
    places = [of for of in others if not isinstance(of, str)]
    words = [of for of in others if isinstance(of, str)]
    if fact.of == "place":
        return places if fact.codes is not None else [*places, *words]
    return words


def asked(world: Any, others: list[Any]) -> dict[str, Any]:
    """Return every fact of a world, by its name and what it is asked of."""
    found = {}
    for name, fact in world.observables_of(world.config).items():
        for of in subjects(world, fact, others):
            values = world.observe(name, getattr(world, "states", None), of)
            agents = 1 if fact.shared else len(world.agents)
            assert values.shape[:2] == (1, agents), name
            assert (values.ndim == 3) == (fact.kind == "place"), name
            if fact.kind in ("word", "text", "things") and fact.codes is None:
                assert values.dtype == object, name
            elif fact.codes is not None:
                assert set(values.ravel().tolist()) <= set(fact.codes.values()), name
            told = values[0].tolist()
            if values.dtype.kind == "f":
                told = (np.round(values[0], 3) + 0.0).tolist()
            found[name if of is None else f"{name} of {of}"] = told
    return found


def facts(name: str) -> dict[str, Any]:
    """Play a little and return all facts before and after, as JSON has it.

    Also what each fact is, and which differ after each of `CHANGES`. The first agent is an oracle
    where there is one.
    """
    kind, config, others = PLAYED[name]
    need(kind)
    env = piase_gym.parallel_env(kind, **config)
    env.reset(seed=5)
    made = env.world.config
    declared = {
        fact: [
            row.about,
            row.kind,
            row.of,
            row.shared,
            row.allowed(made),
            row.bounds and row.bounds(made),
        ]
        for fact, row in env.world.observables_of(made).items()
    }
    found = {"declared": declared, "before": asked(env.world, others)}
    dice, oracle = Stream(3), make_agent("oracle")
    for step in range(STEPS):
        acts: dict[str, Any] = {agent: draw(env, agent, dice) for agent in env.agents}
        if env.agents[:1] == env.possible_agents[:1]:
            oracle.perceive(Percept(env.world, 0, step))
            with suppress(UnsupportedError):
                acts[env.agents[0]] = oracle.act()
        if acts:
            env.step(acts)
        if step == STEPS // 3:
            found["midway"] = asked(env.world, others)
    found["after"] = known = asked(env.world, others)
    for number, (verb, *change) in enumerate(CHANGES.get(name, ())):
        getattr(env.world, verb)(getattr(env.world, "states", None), np.zeros(1, np.int64), *change)
        now = asked(env.world, others)
        told = " ".join(map(str, [number, verb, *change]))
        found[told] = {fact: value for fact, value in now.items() if value != known[fact]}
        known = now
    env.close()
    return dict(json.loads(json.dumps(found).replace("NaN", "null")))


@pytest.mark.parametrize("name", PLAYED)
def test_facts_of_scripts_are_what_they_were(name: str) -> None:
    assert facts(name) == GOLDEN[name]


if __name__ == "__main__":
    rows = (
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(
            f"{json.dumps(part)}: {json.dumps(told)}" for part, told in facts(name).items()
        )
        + "\n}"
        for name in PLAYED
    )
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
