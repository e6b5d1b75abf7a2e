"""GridWorld's kernels against a slow reference written from the rules, and its two views."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from piase_gym.errors import TextParseError
from piase_gym.worlds.grid_world.config import GridWorldConfig, Rewards
from piase_gym.worlds.grid_world.facts import GridWorldFacts, parse
from piase_gym.worlds.grid_world.world import GridWorld
from tests.worlds.grid_world.reference import ReferenceGridWorld


def random_config(rng: random.Random) -> GridWorldConfig:
    """Draw a config over everything that the core knows."""
    layout = rng.choice(["empty", "obstacles", "four_rooms", "door_key"])
    border = rng.random() < 0.5
    width, height = rng.randint(7, 17), rng.randint(7, 17)
    observe = rng.choice(["window", "window", "window", "grid"])
    fields: dict[str, Any] = {
        "layout": layout,
        "border": border,
        "width": width,
        "height": height,
        "agents": rng.choice([1, 2, 4, 9]),
        "collisions": rng.choice(["block", "pass"]),
        "observe": observe,
        "window": rng.choice([3, 5, 7, 9, 15]),
        "see_through_walls": observe == "grid" or rng.random() < 0.5,
        "max_steps": rng.choice([15, 60]),
        "shared_reward": rng.random() < 0.3,
        "obstacle_density": rng.choice([0.0, 0.1, 0.3]),
        "rewards": Rewards(locked=-0.3, interact=-0.2),
    }
    if rng.random() < 0.3:
        fields["goal_pos"] = ((width - 2, height - 2), (width - 2, 1))
    if rng.random() < 0.3:
        fields["start_pos"] = (1, 1)
    return GridWorldConfig(**fields)


def both(config: GridWorldConfig, seed: int) -> tuple[GridWorld, ReferenceGridWorld]:
    """Return the world and its reference, reset to the same seed."""
    world, reference = GridWorld(config), ReferenceGridWorld(config)
    world.reset(seed)
    reference.reset(seed)
    return world, reference


def assert_same(world: GridWorld, reference: ReferenceGridWorld, agents: int) -> None:
    """Compare everything that agents get."""
    vectors, masks = world.vectors(), world.masks()
    for agent in range(agents):
        np.testing.assert_array_equal(vectors[agent], reference.vector(agent))
        np.testing.assert_array_equal(masks[agent], reference.mask(agent))


@pytest.mark.parametrize("case", range(60))
def test_kernels_equal_the_reference(case: int) -> None:
    rng = random.Random(case)
    config = random_config(rng)
    world, reference = both(config, seed=rng.randrange(2**40))
    assert_same(world, reference, config.agents)
    # Interacting and walking ahead often is what makes keys and doors happen.
    actions = [0, 1, 2, 3, 4, 5, 5]
    for _ in range(config.max_steps):
        acts = [rng.choice(actions) for _ in range(config.agents)]
        result, expected = world.step(acts), reference.step(acts)
        assert list(result.rewards) == expected.rewards
        assert list(result.terminated) == expected.terminated
        assert list(result.truncated) == expected.truncated
        assert [str(outcome) for outcome in result.outcomes] == expected.outcomes
        assert_same(world, reference, config.agents)


def test_the_reference_run_reaches_every_event() -> None:
    """Guard the test above: with an oracle's help keys, doors and goals do occur."""
    config = GridWorldConfig(layout="door_key", width=7, height=7, max_steps=4000)
    seen: set[str] = set()
    for seed in range(6):
        world, reference = both(config, seed)
        rng = random.Random(seed)
        for _ in range(config.max_steps):
            acts = [rng.choice([0, 1, 2, 3, 5])]
            result, expected = world.step(acts), reference.step(acts)
            assert list(result.rewards) == expected.rewards
            seen |= set(result.notes.get(0, {}).get("milestones", []))
            if result.ended:
                break
    assert seen == {"key_found", "door_opened", "goal_reached"}


def walk(config: GridWorldConfig, seed: int, steps: int) -> list[tuple[GridWorld, GridWorldFacts]]:
    """Return the facts of every agent along a random walk, each with the world's config."""
    world = GridWorld(config)
    world.reset(seed)
    rng = random.Random(seed)
    found = []
    for _ in range(steps):
        alive = world.alive
        found += [(world, world.facts(a)) for a in range(config.agents) if alive[a]]
        for a in range(config.agents):
            if alive[a]:
                facts = world.facts(a)
                np.testing.assert_array_equal(world.vectors()[a], world.vector(facts))
        world.step([rng.randrange(6) for _ in range(config.agents)])
    return found


@pytest.mark.parametrize("case", range(25))
def test_vector_and_text_say_the_same(case: int) -> None:
    rng = random.Random(1000 + case)
    config = random_config(rng)
    for world, facts in walk(config, case, 12):
        text = world.text(facts)
        assert parse(text, world.config) == facts
        assert len(text) <= world.text_length
        assert not set(text) & set("{}[]<>")


NUMBER = re.compile(r"\d+")
SWAPS = {
    "nothing": "a key",
    "north": "south",
    "south": "north",
    "east": "west",
    "west": "east",
    "wall": "key",
    "agent_1": "agent_0",
}


def changes_one_fact(facts: GridWorldFacts, edited: str, config: GridWorldConfig) -> bool:
    """Check that an edited text changes one fact at most; tell whether it does."""
    try:
        other = parse(edited, config)
    except TextParseError:
        return False  # the edit made a sentence that means nothing, and that is said
    names = facts.__dataclass_fields__
    changed = [name for name in names if getattr(facts, name) != getattr(other, name)]
    assert len(changed) <= 1, (edited, changed)
    return bool(changed)


@pytest.mark.parametrize("observe", ["window", "grid"])
def test_an_edited_number_changes_one_fact(observe: str) -> None:
    config = GridWorldConfig(
        layout="door_key", width=9, height=9, agents=3, observe=observe, border=True
    )
    edits = 0
    for world, facts in walk(config, 3, 15):
        text = world.text(facts)
        for match in NUMBER.finditer(text):
            if text[match.start() - 1] == "_":
                continue  # part of a name
            for number in (int(match.group()) + 1, max(0, int(match.group()) - 1)):
                edited = text[: match.start()] + str(number) + text[match.end() :]
                edits += changes_one_fact(facts, edited, world.config)
    assert edits > 200


def test_an_edited_noun_changes_one_fact() -> None:
    config = GridWorldConfig(layout="door_key", width=9, height=9, agents=2, border=True)
    edits = 0
    for world, facts in walk(config, 5, 15):
        text = world.text(facts)
        for match in re.finditer(
            r"\b(wall|goal|key|nothing|north|south|east|west|agent_1)\b", text
        ):
            new = SWAPS.get(match.group(), "wall")
            edited = text[: match.start()] + new + text[match.end() :]
            edits += changes_one_fact(facts, edited, world.config)
    assert edits > 100


def test_hints_are_in_both_views() -> None:
    world = GridWorld(GridWorldConfig())
    world.reset(0)
    before = world.vectors()[0]
    world.give_hint(0, "Try the door —\nit is \\open {now}")
    facts = world.facts(0)
    assert facts.hint == "Try the door —\nit is \\open {now}"
    text = world.text(facts)
    assert parse(text, world.config) == facts
    np.testing.assert_array_equal(world.vectors()[0], world.vector(facts))
    assert (world.vectors()[0] != before).any()
    world.reset(0)
    assert world.facts(0).hint is None


@pytest.mark.parametrize(
    "config",
    [
        GridWorldConfig(
            width=10, height=8, walls=[(2, 2), (3, 3)], start_pos=(0, 0), goal_pos=(9, 7)
        )
    ],
)
def test_the_reference_projects_grid(config: GridWorldConfig) -> None:
    """10 x 8 with two walls: the figures of the reference project's GridWorld."""
    world = GridWorld(config)
    world.reset(0)
    up, down, _, right, stay = range(5)
    assert world.facts(0).position == (0, 0)
    result = world.step([up])
    assert (result.rewards[0], str(result.outcomes[0])) == (-1.0, "failed")
    assert result.outcomes[0].status == "failure"
    assert world.step([stay]).rewards[0] == -0.05
    assert world.step([right]).rewards[0] == -0.1
    for act in [right, down, down]:
        result = world.step([act])
    assert result.rewards[0] == -1.0  # the wall at (2, 2)
    assert world.facts(0).position == (2, 1)
    for act in [right] * 7 + [down] * 6:
        result = world.step([act])
    assert world.facts(0).position == (9, 7)
    assert (result.rewards[0], result.terminated[0], world.result(0)) == (10.0, True, "won")


def test_a_start_on_a_wall_moves_to_the_first_free_cell() -> None:
    world = GridWorld(GridWorldConfig(walls=[(0, 0), (4, 4)], start_pos=(4, 4), goal_pos=(7, 7)))
    world.reset(0)
    assert world.facts(0).position == (1, 0)
