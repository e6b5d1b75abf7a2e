"""Prompts and observations are English by rule: every template is rendered and checked."""

from __future__ import annotations

from typing import Any

import pytest

import piase_gym
from piase_gym import registry
from piase_gym.core.rng import Stream
from tests.helpers.grammar import faults
from tests.helpers.needs import need
from tests.paths import ROOT

WORLDS = ("PhysicsPlayground", "SocialDilemma", "ObjectSearch")
OTHER_CONFIGS: list[tuple[str, dict[str, Any]]] = [
    ("PhysicsPlayground", {"task": "stack", "tower": 3, "body": "sphere", "rays": 1}),
    ("PhysicsPlayground", {"task": "push", "agents": 2, "messages": True, "rays": 0}),
    ("PhysicsPlayground", {"task": "gather", "gripper": False, "nearest": 1, "stride": 1}),
    ("PhysicsPlayground", {"task": "keep_away", "agents": 3, "indices": "strides"}),
    ("PhysicsPlayground", {"objects": [{"kind": kind} for kind in ("ball", "crate", "cylinder")]}),
    ("SocialDilemma", {"game": "stag_hunt", "symbols": 1, "talk": 2, "choice_names": "neutral"}),
    ("SocialDilemma", {"game": "public_goods", "agents": 3, "noise": 0.2, "reputation": True}),
    ("SocialDilemma", {"game": "volunteers_dilemma", "choice_names": "roles", "rounds": 1}),
    ("SocialDilemma", {"game": "chicken", "horizon": "geometric", "shared_reward": True}),
    ("SocialDilemma", {"game": "harvest", "symbols": 2, "reputation": True, "timeout": 0}),
    ("ObjectSearch", {"agents": 1, "objects": 1}),
    ("ObjectSearch", {"agents": 2, "wandering": 1, "show_found": True}),
]
"""What shipped ids do not show."""
OWN = [
    name
    for name in registry.list_worlds()
    if registry.world_spec(name).config.startswith("piase_gym.")
]
CASES = [(task, {}) for world in WORLDS for task in registry.list_tasks(world)] + OTHER_CONFIGS
LINES = r"- .*|Action: .*|.* says: .*|Caption: .*|Last step: .*"
"""Lines of prompts that are commands, and what others write."""


@pytest.mark.parametrize(("name", "fields"), CASES)
def test_prompts_and_observations_are_english(name: str, fields: dict[str, Any]) -> None:
    need(name)
    env = piase_gym.parallel_env(name, view="text", actions="text", **fields)
    shown, _ = env.reset(seed=4)
    dice, texts = Stream(4), set()
    for agent in env.possible_agents:
        texts.add(env.instructions(agent))
    for _ in range(25):
        texts |= set(shown.values())
        if not env.agents:
            break
        acts = {}
        for agent in env.agents:
            lines = [*env.admissible_commands(agent), "xyzzy", "forward 0.2", "turn left 20"]
            acts[agent] = lines[dice.integer(len(lines))]
        shown, *_ = env.step(acts)
    env.close()
    found = sorted({fault for text in texts for fault in faults(text, LINES)})
    assert not found, found[:10]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("You see a apple.", "article"),
        ("There is an box.", "article"),
        ("It is is here.", "doubled"),
        ("After 1 steps.", "number"),
        ("After 2 step.", "number"),
        ("A ring made of golden.", "material"),
        ("You see .", "empty"),
        ("You see a box , a ball.", "space"),
        ("You see a box", "no stop"),
    ],
)
def test_the_rules_find_faults(text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults(text))
    assert not list(faults("An hour later you see a unicorn, 1 object and 11 steps."))


def test_a_box_is_pushed_home_in_few_decisions() -> None:
    pytest.importorskip("pybullet")
    page = (ROOT / "docs" / "worlds" / "PhysicsPlayground.md").read_text("utf-8")
    words = page.split("## In words")[1].split("## ")[0]
    assert words.count("\n> ") <= 25
    assert "Last step: go to zone; ok;" in words
    assert "milestones: placed, done." in words


@pytest.mark.parametrize("name", OWN)
def test_prompts_say_that_rewards_are_shared(name: str) -> None:
    need(name)
    for shared in (True, False):
        env = piase_gym.parallel_env(name, agents=2, shared_reward=shared)
        told = env.instructions(env.possible_agents[0])
        assert told.count("Everybody gets the mean of all.") == shared
        env.close()
