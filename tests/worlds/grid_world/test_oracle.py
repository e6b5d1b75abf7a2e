"""GridWorld's oracle: shortest alone, never in each other's way in a team, and never lost."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest

from piase_gym.worlds.grid_world.cells import FLOOR, KEY, SYMBOLS
from piase_gym.worlds.grid_world.config import GridWorldConfig, Rewards
from piase_gym.worlds.grid_world.players.oracle import GridWorldOracle
from piase_gym.worlds.grid_world.rules.events import ARRIVED
from piase_gym.worlds.grid_world.world import GridWorld
from tests.worlds.grid_world.reference import Agent, ReferenceGridWorld

SIGNS = {sign: code for code, sign in SYMBOLS.items()}
STAY, INTERACT = 4, 5
Policy = Callable[[int], int]


CACHE: dict[GridWorldConfig, GridWorld] = {}


def make(**settings: Any) -> GridWorld:
    config = GridWorldConfig(**settings)
    if config not in CACHE:
        CACHE[config] = GridWorld(config)
    return CACHE[config]


def from_map(*rows: str, **settings: Any) -> GridWorld:
    """Make a world that looks like a map; digits are agents, each facing right."""
    width, height = len(rows[0]), len(rows)
    agents = sum(sign.isdigit() for row in rows for sign in row)
    world = make(width=width, height=height, agents=agents, **settings)
    world.reset(0)
    state = world.get_state()
    side = world.side
    for y, row in enumerate(rows):
        for x, sign in enumerate(row):
            state["cells"][y * side + x] = FLOOR if sign.isdigit() else SIGNS[sign]
            if sign.isdigit():
                state["x"][int(sign)], state["y"][int(sign)] = x, y
    world.set_state(state)
    return world


def play(world: GridWorld, policies: Sequence[Policy]) -> int:
    """Play until all have ended; return the number of steps."""
    steps = 0
    while any(world.alive):
        world.step([policies[a](a) if alive else None for a, alive in enumerate(world.alive)])
        steps += 1
    return steps


def all_won(world: GridWorld, agents: Sequence[int]) -> bool:
    return all(int(world.states["fate"][0, a]) == ARRIVED for a in agents)


def reference_of(world: GridWorld) -> ReferenceGridWorld:
    """Return the reference in the present state of a world with one agent."""
    reference = ReferenceGridWorld(world.config)
    record, side = world.states[0], world.side
    width, height = world.config.width, world.config.height
    cells = record["cells"].reshape(side, side)
    reference.cells = {(x, y): int(cells[y, x]) for y in range(height) for x in range(width)}
    x, y, heading, carry = (int(record[name][0]) for name in ("x", "y", "heading", "carry"))
    reference.agents = [Agent(0, x, y, heading, carry)]
    return reference


def brute_force(world: GridWorld) -> int | None:
    """Return the fewest steps to a goal, by trying every action in every state of the reference."""
    seen, wave, steps = set(), [reference_of(world)], 0
    while wave:
        steps += 1
        following = []
        for state in wave:
            for act in range(6):
                after = shallow(state)
                after.step([act])
                me = after.agents[0]
                if not me.alive:
                    return steps
                key = (me.x, me.y, me.heading, me.carrying, tuple(after.cells.values()))
                if key not in seen:
                    seen.add(key)
                    following.append(after)
        wave = following
    return None


def best_return(world: GridWorld) -> float:
    """Return the highest return of an arrival, by Dijkstra over all states of the reference."""
    start, order = reference_of(world), itertools.count()
    queue, done = [(0.0, next(order), start)], set()
    while True:
        loss, _, state = heapq.heappop(queue)
        me = state.agents[0]
        if not me.alive:
            return -loss
        key = (me.x, me.y, me.heading, me.carrying, tuple(state.cells.values()))
        if key in done:
            continue
        done.add(key)
        for act in range(6):
            after = shallow(state)
            reward = after.step([act]).rewards[0]
            # What arrives is as good as over, whatever the reward: nothing else is above zero.
            heapq.heappush(queue, (loss - reward, next(order), after))


def shallow(state: ReferenceGridWorld) -> ReferenceGridWorld:
    after = ReferenceGridWorld(state.config)
    after.cells = dict(state.cells)
    after.agents = [deepcopy(state.agents[0])]
    return after


# -- one agent ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "side", "seeds"),
    [("empty", 4, 24), ("obstacles", 5, 24), ("four_rooms", 5, 24), ("door_key", 4, 30)],
)
def test_certificates_are_the_least_number_of_steps(layout: str, side: int, seeds: int) -> None:
    world = make(layout=layout, width=side, height=side)
    for seed in range(seeds):
        world.reset(seed)
        world.states["heading"][0, 0] = seed % 4
        assert GridWorldOracle(world).certificate(0) == brute_force(world), seed


def test_certificates_are_least_among_scattered_keys_and_doors() -> None:
    """Random maps with several keys, which lie in the way, and every kind of door."""
    draw = random.Random(0)
    none = 0
    for _ in range(60):
        cells = [draw.choices(".#kL+'", (6, 5, 2, 2, 1, 1))[0] for _ in range(12)]
        cells[0], cells[-1] = "0", "G"
        world = from_map(*("".join(cells[row : row + 4]) for row in (0, 4, 8)))
        if sum(cell == "k" for cell in cells) > 3:
            continue
        best = brute_force(world)
        none += best is None
        assert GridWorldOracle(world).certificate(0) == best, cells
    assert none > 5


@pytest.mark.parametrize(
    ("rows", "carry", "steps"),
    [
        (("0kk.G", "#####"), 0, None),  # no room to put the first key away
        ((".0kkG", "#####"), 0, 8),  # take, on, back, drop behind, on, take, on, on
        ((".0kLG", "#####"), KEY, None),
        (("..0kLG", "######"), KEY, 8),  # back, drop, on, take, on, unlock, on, on
        (("0LG.", "####"), KEY, 3),
        (("0+G.", "####"), 0, 3),
        (("0L.k", "...G"), 0, 4),
        (("0L.G", "####"), 0, None),
    ],
)
def test_certificates_of_maps(rows: tuple[str, ...], carry: int, steps: int | None) -> None:
    world = from_map(*rows)
    world.states["carry"][0, 0] = carry
    assert GridWorldOracle(world).certificate(0) == brute_force(world) == steps


@pytest.mark.parametrize(
    ("rewards", "side"),
    [({}, 4), ({}, 5), ({"blocked": -0.1}, 4), ({"blocked": -0.3, "interact": -0.9}, 5)],
)
def test_the_best_return_is_the_best(rewards: dict[str, float], side: int) -> None:
    world = make(layout="door_key", width=side, height=side, rewards=Rewards(**rewards))
    oracle, dear = GridWorldOracle(world), 0
    for seed in range(15):
        world.reset(seed)
        world.states["heading"][0, 0] = seed % 4
        world.refresh()
        certificate, promised = oracle.certificate(0), oracle.best_return(0)
        assert promised == pytest.approx(best_return(world)), seed
        found, steps = 0.0, 0
        while world.alive[0]:
            assert oracle.best_return(0) == pytest.approx(promised - found)
            found += world.step([oracle.act(0)]).rewards[0]
            steps += 1
        assert found == pytest.approx(promised)
        assert all_won(world, [0])
        assert certificate is not None
        dear += steps - certificate
    assert (dear > 0) == (world.config.rewards.blocked < world.config.rewards.move)


@pytest.mark.parametrize(
    "settings",
    [
        {"layout": "foraging"},
        {"layout": "empty", "movers": 1},
        {"layout": "empty", "fruits": 2},
        {"layout": "empty", "energy": 40},
        {"layout": "empty", "rewards": Rewards(stay=0.1)},
        {"layout": "empty", "rewards": Rewards(goal=-100.0), "max_steps": 20},
    ],
)
def test_no_best_return_is_told_that_is_not_known(settings: dict[str, Any]) -> None:
    world = make(width=8, height=8, **settings)
    world.reset(0)
    assert GridWorldOracle(world).best_return(0) is None


def test_a_dear_way_is_taken_where_there_is_no_time_for_a_cheap_one() -> None:
    rows = "k0..", "....", "##L#", "##G#"
    plans = [GridWorldOracle(from_map(*rows, max_steps=most)).plan(0) for most in (8, 7)]
    right, left, down = 3, 2, 1
    assert plans[0] == [right, left, INTERACT, right, down, INTERACT, down, down]
    assert plans[1] == [left, INTERACT, right, down, INTERACT, down, down]


@pytest.mark.parametrize("layout", ["empty", "obstacles", "four_rooms"])
@pytest.mark.parametrize("side", [6, 9, 16])
def test_one_agent_wins_in_exactly_the_certified_steps(layout: str, side: int) -> None:
    world = make(layout=layout, width=side, height=side, border=side > 6)
    oracle = GridWorldOracle(world)
    for seed in range(40):
        world.reset(seed)
        certificate, plan = oracle.certificate(0), oracle.plan(0)
        assert plan is not None
        assert len(plan) == certificate
        assert play(world, [oracle.act]) == certificate
        assert all_won(world, [0])
        assert oracle.certificate(0) == 0
        assert oracle.plan(0) == []
        assert oracle.act(0) == STAY


def test_the_certificate_falls_by_one_with_every_step() -> None:
    world = make(layout="door_key", width=9, height=9, border=True, rewards=Rewards(blocked=-0.1))
    oracle = GridWorldOracle(world)
    for seed in range(10):
        world.reset(seed)
        left = oracle.certificate(0)
        while world.alive[0]:
            world.step([oracle.act(0)])
            assert left is not None
            left -= 1
            assert oracle.certificate(0) == left


def test_without_a_way_there_is_no_plan_and_the_agent_stays() -> None:
    world = from_map("0#.", "##.", "..G")
    oracle = GridWorldOracle(world)
    assert oracle.certificate(0) is None
    assert oracle.plan(0) is None
    assert oracle.act(0) == STAY
    world.states["cells"][0, 1] = FLOOR  # the wall falls: a new plan
    world.refresh()
    assert oracle.certificate(0) == 4
    assert oracle.act(0) == 3


def test_a_timed_out_agent_has_no_plan() -> None:
    world = make(width=9, height=9, max_steps=1, start_pos=(0, 0), goal_pos=(8, 8))
    world.reset(0)
    oracle = GridWorldOracle(world)
    assert oracle.certificate(0) == 16
    world.step([oracle.act(0)])
    assert oracle.certificate(0) is None


def test_the_oracle_changes_nothing_and_follows_restored_states() -> None:
    world = make(layout="door_key", width=8, height=8, agents=3, border=True)
    world.reset(5)
    oracle, start, digest = GridWorldOracle(world), world.get_state(), world.digest()
    first = [oracle.act(a) for a in range(3)]
    assert world.digest() == digest
    for _ in range(4):
        world.step([oracle.act(a) for a in range(3)])
    world.set_state(start)
    assert [oracle.act(a) for a in range(3)] == first
    play(world, [oracle.act] * 3)
    assert all_won(world, range(3))
    assert deepcopy(oracle).certificate(0) == 0


# -- several ------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["empty", "obstacles", "four_rooms"])
@pytest.mark.parametrize(("side", "agents"), [(8, 2), (8, 8), (12, 4), (16, 8)])
def test_teams_arrive_as_planned(layout: str, side: int, agents: int) -> None:
    """All arrive, and nobody is ever blocked: the plan of the first step holds to the end."""
    world = make(layout=layout, width=side, height=side, agents=agents, border=True)
    for seed in range(12):
        world.reset(seed)
        oracle = GridWorldOracle(world)
        while any(world.alive):
            acts = [oracle.act(a) if alive else None for a, alive in enumerate(world.alive)]
            outcomes = world.step(acts).outcomes
            assert {str(outcome.value) for outcome in outcomes} == {"ok"}
        assert all_won(world, range(agents)), seed


@pytest.mark.parametrize(("side", "agents"), [(8, 2), (8, 4), (8, 8), (12, 8), (16, 4)])
def test_teams_open_the_door(side: int, agents: int) -> None:
    """Also where the room before the door is so narrow that the key must be handed on."""
    world = make(layout="door_key", width=side, height=side, agents=agents, border=True)
    for seed in range(16):
        world.reset(seed)
        play(world, [GridWorldOracle(world).act] * agents)
        assert all_won(world, range(agents)), seed


def test_a_key_is_handed_on_where_nobody_can_pass() -> None:
    world = from_map("k0#..", ".##..", "..1LG")
    assert play(world, [GridWorldOracle(world).act] * 2) < 25
    assert all_won(world, range(2))
    assert world.states["carry"][0, 1] == KEY


@pytest.mark.parametrize("layout", ["four_rooms", "door_key"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_the_order_of_acting_is_planned_for(layout: str, order: tuple[int, ...]) -> None:
    world = make(layout=layout, width=10, height=10, agents=5, border=True)
    for seed in range(6):
        world.reset(seed)
        world.set_order(order)
        oracle = GridWorldOracle(world)
        while any(world.alive):
            acts = [oracle.act(a) if alive else None for a, alive in enumerate(world.alive)]
            outcomes = world.step(acts).outcomes
            if layout == "four_rooms":
                assert {str(outcome.value) for outcome in outcomes} == {"ok"}
        assert all_won(world, range(5)), seed


@pytest.mark.parametrize("layout", ["obstacles", "door_key"])
def test_one_oracle_each_plays_as_one_for_all(layout: str) -> None:
    world = make(layout=layout, width=9, height=9, agents=4, border=True)
    for seed in range(5):
        world.reset(seed)
        together = play(world, [GridWorldOracle(world).act] * 4)
        world.reset(seed)
        assert play(world, [GridWorldOracle(world).act for _ in range(4)]) == together
        assert all_won(world, range(4))


@pytest.mark.parametrize("layout", ["empty", "obstacles", "four_rooms"])
def test_agents_that_pass_each_other_need_no_more_steps_than_alone(layout: str) -> None:
    world = make(layout=layout, width=8, height=8, agents=6, collisions="pass")
    for seed in range(10):
        world.reset(seed)
        oracle = GridWorldOracle(world)
        longest = max(oracle.certificate(a) or 0 for a in range(6))
        assert play(world, [oracle.act] * 6) == longest
        assert all_won(world, range(6))


def test_agents_that_pass_each_other_share_a_key() -> None:
    world = make(layout="door_key", width=8, height=8, agents=6, collisions="pass")
    for seed in range(10):
        world.reset(seed)
        play(world, [GridWorldOracle(world).act] * 6)
        assert all_won(world, range(6)), seed


def random_policy(seed: int) -> Policy:
    draw = random.Random(seed)
    return lambda agent: draw.randrange(6)


@pytest.mark.parametrize("layout", ["empty", "obstacles", "four_rooms", "door_key"])
def test_it_gets_there_among_random_partners(layout: str) -> None:
    world = make(layout=layout, width=9, height=9, agents=4, border=True, max_steps=400)
    won = 0
    for seed in range(10):
        world.reset(seed)
        oracle = GridWorldOracle(world)
        play(world, [oracle.act, random_policy(seed), oracle.act, random_policy(~seed)])
        won += all_won(world, [0, 2])
    assert won >= (7 if layout == "door_key" else 10)  # a random partner may walk off with the key


def test_it_walks_around_a_partner_that_never_moves() -> None:
    rows = ("0.....", "####1#", "....#.", ".##.#.", "......", "..#..G")
    world = from_map(*rows)
    oracle = GridWorldOracle(world)
    play(world, [oracle.act, lambda agent: STAY])
    assert not all_won(world, [0])  # there is no other way
    world = from_map("#.###.#", "0..1..G", "#.###.#", "#.....#")
    oracle = GridWorldOracle(world)
    play(world, [oracle.act, lambda agent: STAY])
    assert all_won(world, [0])
