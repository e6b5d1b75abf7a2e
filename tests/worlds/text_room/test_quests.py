"""Generated quests: always solvable, and the oracle's plans are as short as can be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piase_gym.envs.parallel import parallel_env
from piase_gym.worlds.text_room.levels.validation import problems
from piase_gym.worlds.text_room.players.oracle import TextRoomOracle
from tests.worlds.text_room.helpers import blind_search, make, story


def run_oracle(env: Any) -> tuple[int, dict[str, Any]]:
    """Let the oracle play for everybody; returns the steps and the last infos."""
    oracle, steps, infos = TextRoomOracle(env.world), 0, {}
    while env.agents:
        acts = {name: oracle.act(env.world.agents.index(name)) for name in env.agents}
        infos = env.step(acts)[4]
        steps += 1
    return steps, infos


@settings(max_examples=60, deadline=None)
@given(
    rooms=st.integers(1, 16),
    depth=st.integers(0, 8),
    distractors=st.integers(0, 16),
    agents=st.integers(1, 3),
    theme=st.sampled_from(["house", "castle", "ship"]),
    seed=st.integers(0, 2**63 - 1),
)
def test_every_quest_is_solved(
    rooms: int, depth: int, distractors: int, agents: int, theme: str, seed: int
) -> None:
    env = parallel_env(
        "TextRoom", rooms=rooms, depth=depth, distractors=distractors, agents=agents, theme=theme
    )
    env.reset(seed=seed)
    assert [p for p in problems(env.world.plot.story) if p.fatal] == []
    promised = TextRoomOracle(env.world).certificate(0)
    steps, infos = run_oracle(env)
    assert {info["result"] for info in infos.values()} == {"won"}
    assert steps == promised


@pytest.mark.parametrize("seed", range(6))
def test_a_blind_search_finds_no_shorter_way(seed: int) -> None:
    env = make(rooms=3, depth=seed % 3, distractors=0)
    env.reset(seed=seed)
    promised = TextRoomOracle(env.world).certificate(0)
    assert blind_search(env, "agent_0") == promised


def test_a_blind_search_of_the_lost_key_finds_no_shorter_way() -> None:
    env = make(scenario="lost_key")
    assert blind_search(env, "PiaAgent_001", most=4000) == 7
    env.reset(seed=0)
    assert TextRoomOracle(env.world).certificate(0) == 7


HALL = {"type": "agent_in_room", "room": "hall"}
DEN = {"type": "agent_in_room", "room": "den"}
RESTED = {"agent_id": "ann", "start_room": "hall", "stats": {"rest": {"start": 0, "per_step": 1}}}
GEM = {"gem": {"can_be_taken": True}}
BOX = {"is_container": True, "contains": ["gem"]}
SHUT = {"type": "object_state", "object": "box", "is_open": False}
DONE = {"type": "flag_set", "flag_name": "done"}
USED = {"conditions": [DEN], "response": {"type": "set_flag", "flag_name": "done"}}
JAMMED = {"action": "read", "response": {"type": "change_state", "object": "box", "locked": True}}


@pytest.mark.parametrize(
    ("parts", "least"),
    [
        ({"win_conditions": [HALL]}, 1),  # anything will do
        (
            {
                "rooms": {"hall": {"objects": ["box"]}},
                "agent_setup": RESTED,
                "win_conditions": [{"type": "agent_state_condition", "condition": "rest >= 4"}],
            },
            4,
        ),
        ({"object_details": {**GEM, "box": {**BOX, "is_open": True}}, "win_conditions": [SHUT]}, 1),
        ({"object_details": {**GEM, "box": {"hidden_item": "gem", "searchable": False}}}, 2),
        (
            {
                "object_details": {
                    "box": BOX,
                    "gem": {"can_be_taken": True, "interactions": USED},
                },
                "win_conditions": [DONE],
            },
            4,
        ),
        (
            {
                "object_details": {**GEM, "box": {"read_text": "jam", "interactions": JAMMED}},
                "win_conditions": [{"type": "object_state", "object": "box", "locked": True}],
                "rooms": {"hall": {"objects": ["box", "gem"]}},
            },
            1,
        ),
    ],
)
def test_the_oracle_finds_what_a_blind_search_finds(parts: dict[str, Any], least: int) -> None:
    env = make(story(**parts), max_steps=9)
    assert TextRoomOracle(env.world).certificate(0) == least
    steps, infos = run_oracle(env)
    assert (steps, infos["ann"]["result"]) == (least, "won")
    env.reset(seed=0)
    if "agent_setup" not in parts:  # the search takes states of different times for the same
        assert blind_search(env, "ann") == least


def test_depth_makes_quests_longer() -> None:
    def mean(depth: int) -> float:
        env = make(rooms=6, depth=depth)
        lengths = []
        for seed in range(40):
            env.reset(seed=seed)
            lengths.append(TextRoomOracle(env.world).certificate(0) or 0)
        return sum(lengths) / len(lengths)

    assert mean(0) + 2 < mean(2) < mean(5) - 2


def test_the_objects_of_a_quest_can_be_counted() -> None:
    env = make(rooms=5, depth=3, distractors=3)
    assert len(env.world.plot.objects) == 1 + 2 * 3 + 3


def test_the_oracle_plans_anew_when_something_else_happens() -> None:
    env = make(rooms=5, depth=3)
    env.reset(seed=4)
    oracle = TextRoomOracle(env.world)
    for _ in range(3):
        env.step({"agent_0": oracle.act(0)})
    held = [item.name for item in env.facts("agent_0").inventory]
    for line in [*(f"drop {name}" for name in held), "look", "wait"]:
        env.step({"agent_0": line})
    while env.agents:
        infos = env.step({"agent_0": oracle.act(0)})[4]
    assert infos["agent_0"]["result"] == "won"


def test_the_same_seed_makes_the_same_quest_whoever_asks() -> None:
    texts = []
    for agents in (1, 1):
        env = make(rooms=8, depth=4, distractors=6, agents=agents)
        env.reset(seed=12)
        texts.append(env.world.ansi())
    assert texts[0] == texts[1]
