"""GridWorld's further objects: the kernels against a slow reference written from the rules."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from piase_gym.core.commands import InvalidAction, Outcome
from piase_gym.core.world import StepResult
from piase_gym.errors import GenerationError
from piase_gym.worlds.grid_world.config import GridWorldConfig, Rewards
from piase_gym.worlds.grid_world.world import GridWorld
from tests.worlds.grid_world.reference_objects import ReferenceGridRules

SIGNS = {
    "mixed": ".......#GkL+'OOsS=-~*,d",
    "doors": "........#kkL+'O",
    "gates": "......sSs=-==--",
    "garden": ".......#**,,~dO",
    "food": "........#1122d*",
}
EVENTS = {
    "key_found door_opened goal_reached box_pushed switch_used fruit_eaten food_gathered tagged",
    "arrived died starved caught cleared escaped grown hurt late illegal locked dropped jammed",
    "heavy together single",
}
SEEN: set[str] = set()
CASES = 60


def random_config(rng: random.Random) -> GridWorldConfig:
    """Draw a config over everything that the further rules know."""
    agents = rng.choice([1, 2, 4, 4, 6])
    fields: dict[str, Any] = {
        "agents": agents,
        "collisions": rng.choice(["block", "block", "pass"]),
        "observe": rng.choice(["window", "window", "grid"]),
        "window": rng.choice([3, 7]),
        "max_steps": rng.choice([40, 250]),
        "shared_reward": rng.random() < 0.2,
        "hazard_ends": rng.random() < 0.3,
        "regrow": rng.choice([0.0, 0.02, 0.3, 1.0]),
        "mover_period": rng.choice([1, 1, 3]),
        "mover_chance": rng.choice([0.0, 0.2, 1.0]),
        "energy": rng.choice([0, 0, 30, 250]),
        "fruit_energy": rng.choice([10, 100]),
        "symbols": rng.choice([0, 0, 3]),
        "levels": tuple(rng.choices([1, 1, 2], k=agents)),
        "random_goals": rng.choice([0, 0, 1]),
    }
    fields["see_through_walls"] = fields["observe"] == "grid" or rng.random() < 0.5
    width, height = rng.randint(4, 10), rng.randint(5, 10)
    kind = rng.choice([*SIGNS, "food", "strewn", "tag", "tag"])
    if kind in SIGNS:
        rows = ["".join(rng.choices(SIGNS[kind], k=width)) for _ in range(height)]
        fields["map"] = tuple(rows)
        if "1" in SIGNS[kind]:
            fields["random_goals"] = 0
    else:
        fields |= {"width": width + 2, "height": height + 2, "boxes": 3, "hazards": 2, "fruits": 3}
        fields |= {"movers": 2, "food": rng.choice([None, 3]), "layout": "empty"}
        if kind == "tag" and agents > 1:
            fields |= {"layout": "tag", "taggers": rng.randint(1, agents - 1), "food": None}
    return GridWorldConfig(**fields)


def random_world(rng: random.Random) -> GridWorld:
    """Draw configs until one has a level."""
    while True:
        try:
            return GridWorld(random_config(rng))
        except (GenerationError, ValueError):  # too many drones, or no way to a goal
            continue


def random_act(rng: random.Random, mask: np.ndarray, symbols: int, eager: float) -> int | None:
    """Draw an action; `eager` is the chance to interact where that is possible."""
    if rng.random() < 0.02:
        return None
    action = (
        5 if mask[5] and rng.random() < eager else rng.choice([0, 1, 2, 3, 4, rng.randrange(6)])
    )
    return action + 6 * rng.randint(0, symbols)


def compare(world: GridWorld, reference: ReferenceGridRules, case: str) -> None:
    """Compare everything that agents get, and the state."""
    state, n = world.get_state(), world.config.agents
    side = world.side
    found: dict[str, Any] = {"counter": state["counters"][1], "movers": []}
    found["movers"] = state["movers"][: state["num_movers"]]
    width, height = world.config.width, world.config.height
    cells = state["cells"]
    found["cells"] = [cells[y * side + x] for y in range(height) for x in range(width)]
    for name, expected in reference.state(world.milestones).items():
        value = found.get(name, state.get(name))
        if name not in found and isinstance(value, list):
            value = value[:n]
        assert value == expected, (case, name)
    vectors, masks = world.vectors(), world.masks()
    for a in range(n):
        np.testing.assert_array_equal(vectors[a], reference.vector(a), f"{case} {a}")
        np.testing.assert_array_equal(masks[a], reference.mask(a), f"{case} {a}")


def step_both(
    world: GridWorld, reference: ReferenceGridRules, acts: list[int | None], episode: int
) -> StepResult:
    """Let both take a step, and compare everything that comes of it."""
    result, expected = world.step(acts), reference.step(acts)
    case = f"{episode} {reference.t} {acts}"
    assert list(result.rewards) == pytest.approx(expected.rewards, abs=1e-12), case
    assert list(result.terminated) == expected.terminated, case
    assert list(result.truncated) == expected.truncated, case
    assert [str(outcome) for outcome in result.outcomes] == expected.outcomes, case
    compare(world, reference, case)
    return result


@pytest.mark.parametrize("number", range(CASES))
def test_kernels_equal_the_reference(number: int) -> None:
    rng = random.Random(number)
    world = random_world(rng)
    config = world.config
    for episode in range(2):
        seed = rng.randrange(2**40)
        try:
            world.reset(seed)
        except GenerationError:  # this map has a way for some starts only
            continue
        reference = ReferenceGridRules(config, world.get_state(), seed)
        reference.order = rng.sample(range(config.agents), config.agents)
        world.set_order(reference.order)
        compare(world, reference, f"{episode} start")
        eager = rng.choice([0.3, 0.95])
        while any(world.alive):
            masks, n = world.masks(), config.agents
            acts = [random_act(rng, masks[a], config.symbols, eager) for a in range(n)]
            step_both(world, reference, acts, episode)
        SEEN.update(reference.events)
        for player in reference.agents:
            won = player.fate in ("arrived", "cleared", "escaped")
            assert str(world.result(player.number)) == ("won" if won else "lost")


def test_a_runner_is_tagged_below_a_tagger() -> None:
    """Where agents pass each other, a runner that shares a cell with a tagger is not hidden."""
    config = GridWorldConfig(layout="tag", agents=4, taggers=2, collisions="pass", width=6)
    world = GridWorld(config)
    world.reset(0)
    state = world.get_state()
    state["x"][:4], state["y"][:4] = [3, 2, 3, 0], [3, 3, 3, 0]
    world.set_state(state)
    reference = ReferenceGridRules(config, state, 0)
    result, expected = world.step([4, 3, 4, 4]), reference.step([4, 3, 4, 4])
    assert list(result.rewards) == expected.rewards
    assert list(result.terminated) == expected.terminated == [False, False, True, False]
    compare(world, reference, "below")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("act", "outcome", "cost"),
    [
        (4, ("failed", "ok"), -0.05),  # if it is caught first, and if it acts first
        (None, ("failed", "ok"), -0.05),
        (5, ("illegal", "illegal"), -1.0),
        (11, ("illegal", "illegal"), -1.0),  # a symbol that this config does not have
        (InvalidAction(Outcome.UNPARSABLE, ""), ("unparsable", "unparsable"), -1.0),
        (InvalidAction(Outcome.REFUSED, ""), ("refused", "refused"), -1.0),
    ],
)
def test_who_is_caught_first_did_what_it_did_wrong(
    order: tuple[int, int], act: Any, outcome: tuple[str, str], cost: float
) -> None:
    """Commands are judged by the state before anybody acts, and paid for in any order."""
    fields: dict[str, Any] = {"layout": "tag", "agents": 2, "width": 6, "height": 6}
    envelope = GridWorldConfig(**fields, symbols=1).fixed_envelope()
    rewards = Rewards(stay=-0.05)
    world = GridWorld(GridWorldConfig(**fields, rewards=rewards, envelope=envelope))
    world.reset(0)
    state = world.get_state()
    state["x"][:2], state["y"][:2] = [2, 3], [3, 3]
    world.set_state(state)
    world.set_order(order)
    assert not world.masks()[1][5]
    result = world.step([3, act])
    assert str(result.outcomes[1]) == outcome[order[0]]
    first = order[0] == 1 or outcome[0] != "failed"  # else it did not come to it
    assert result.rewards[1] == pytest.approx(rewards.caught + cost * first)
    assert result.terminated[1]
    assert world.result(1) == "lost"


def test_the_reference_runs_reach_every_event() -> None:
    """Guard the test above, if it was run in full."""
    if len(SEEN) > 20:
        assert {event for line in EVENTS for event in line.split()} <= SEEN
