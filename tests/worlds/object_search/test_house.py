"""Houses: what is seen, against a slow second writing; moves, reports, rewards and measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym.core.rng import Stream
from piase_gym.errors import AgentError
from piase_gym.worlds.object_search.codes import ACTIONS, HEIGHT, VERBS
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.observe.text import parse
from piase_gym.worlds.object_search.world import ObjectSearch
from tests.worlds.object_search.reference import WAYS, House


def made(seed: int = 0, **fields: Any) -> ObjectSearch:
    world = ObjectSearch(ObjectSearchConfig(**{"agents": 4, "end_when_found": False, **fields}))
    world.reset(seed)
    return world


WORLD = made(furniture=0.3, objects=12, wandering=4, wander_period=2)


def bits(word: Any) -> set[int]:
    return {i for i in range(16) if int(word) >> i & 1}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 3, 6]))
def test_what_is_seen_is_that_of_the_slow_rules(seed: int, sight: int) -> None:
    world, dice = WORLD, Stream(seed)
    world.configure(world.config.changed({"sight": sight}))
    world.reset(seed)
    record, side, looked = world.states[0], world.side, [set[tuple[int, int]]() for _ in range(4)]
    found = set[int]()
    for _ in range(12):
        house = House(record, sight)
        for agent in range(4):
            assert world.facts(agent).cells == tuple(
                tuple(world.form.cell_names[c] for c in house.window(agent)[i : i + 7])
                for i in range(0, 49, 7)
            )
            assert bits(record["seen"][agent]) == house.objects(agent)
            looked[agent] |= house.looked_at(agent)
            found |= house.objects(agent)
        assert bits(record["found"]) == found
        inspected = record["inspected"].reshape(side, side)
        for agent in range(4):
            rows, columns = np.nonzero(inspected >> agent & 1)
            assert set(zip(columns.tolist(), rows.tolist(), strict=True)) == looked[agent]
        everything = set().union(*looked)
        assert int(record["covered"]) == len(everything)
        assert int(record["repeats"]) == sum(map(len, looked)) - len(everything)
        world.step([dice.integer(2 * ACTIONS) for _ in range(4)])


MOVES = {"forward": 0, "move_right": 1, "backward": 2, "move_left": 3}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_moves_are_those_of_the_page(seed: int) -> None:
    world, dice = WORLD, Stream(seed)
    world.reset(seed)
    record = world.states[0]
    for _ in range(20):
        poses = [[int(record[n][a]) for n in "x y z heading pitch roll".split()] for a in range(4)]
        acts = [dice.integer(ACTIONS) for _ in range(4)]
        outcomes = []
        for agent, action in enumerate(acts):
            verb, (x, y, z, heading, pitch, roll) = VERBS[action], poses[agent]
            if verb in MOVES:
                dx, dy = WAYS[(heading + MOVES[verb]) % 4]
                x, y = x + dx, y + dy
            z += {"move_up": 1, "move_down": -1}.get(verb, 0)
            heading = (heading + {"look_left": 3, "look_right": 1}.get(verb, 0)) % 4
            pitch += {"look_up": 1, "look_down": -1}.get(verb, 0)
            roll += {"tilt_right": 1, "tilt_left": -1}.get(verb, 0)
            others = [tuple(pose[:3]) for b, pose in enumerate(poses) if b != agent]
            inside = 0 <= z <= 2 and 0 <= pitch <= 2 and 0 <= roll <= 2
            free = HEIGHT[House(record, 6).code(x, y)] <= z and (x, y, z) not in others
            if inside and free:
                poses[agent] = [x, y, z, heading, pitch, roll]
            outcomes.append("ok" if inside and free else "failed")
        assert list(world.step(acts).outcomes) == outcomes
        for agent in range(4):
            now = [int(record[n][agent]) for n in "x y z heading pitch roll".split()]
            assert now == poses[agent]


def test_what_an_agent_bumps_into_is_named_if_it_perceives_that() -> None:
    world, dice, told = WORLD, Stream(1), dict[str, int]()
    names = {"wall": "A wall", "low": "Low furniture", "tall": "Tall furniture"}
    for seed in range(12):
        world.reset(seed)
        record = world.states[0]
        for _ in range(40):
            acts = [dice.integer(ACTIONS) for _ in range(4)]
            world.step(acts)
            places = [tuple(int(record[n][a]) for n in "xyz") for a in range(4)]
            for agent, last in enumerate(world.last_steps()):
                verb, (x, y, z) = VERBS[acts[agent]], places[agent]
                if last is None or last.outcome != "failed" or verb.startswith(("look", "tilt")):
                    continue
                way = WAYS[int(record["heading"][agent])] if verb == "forward" else (0, 0)
                to = x + way[0], y + way[1], z + {"move_up": 1, "move_down": -1}.get(verb, 0)
                code = House(record, 6).code(*to[:2])
                if verb in ("backward", "move_left", "move_right"):
                    expected = "Something is in the way there, or the place ends."
                elif not 0 <= to[2] <= 2:
                    edge = "The floor is right below you.", "There is no level above this one."
                    expected = edge[to[2] > 0]
                elif HEIGHT[code] > to[2]:
                    expected = f"{names[world.form.cell_names[code]]} is in the way."
                else:
                    there = [f"agent_{a} is in the way." for a in range(4) if places[a] == to]
                    told["agent"] = told.get("agent", 0) + bool(there)
                    assert last.reason in [*there, "Another agent was in the way."]
                    continue
                assert last.reason == expected
                told[expected] = told.get(expected, 0) + 1
    assert len(told) == 7, told
    line = ObjectSearch(ObjectSearchConfig(backend="mock"))
    line.step([VERBS.index("backward")])
    assert line.last_steps()[0].reason == "The line ends here."


def test_each_of_the_twelve_actions_changes_what_is_seen() -> None:
    changed, world = set(), made(agents=1, furniture=0.3)
    for seed in range(4):
        for action in range(12):
            for start in (12, 4, 8, 10):  # first also rise, look up, tilt the head
                world.reset(seed)
                world.step([start])
                before = House(world.states[0], 6).looked_at(0)
                world.step([action])
                if House(world.states[0], 6).looked_at(0) != before:
                    changed.add(VERBS[action])
    assert changed == set(VERBS[:12])


@pytest.mark.parametrize("size", [(5, 5), (16, 16), (9, 14), (32, 32)])
def test_houses_have_rooms_that_are_joined_and_objects_that_can_be_seen(
    size: tuple[int, int],
) -> None:
    world = made(agents=1, width=size[0], height=size[1], objects=4)
    for seed in range(10):
        world.reset(seed)
        house, record = House(world.states[0], 6), world.states[0]
        columns = {(x, y) for x in range(size[0]) for y in range(size[1])}
        walls = {(x, y) for x, y in columns if house.code(x, y) == 3}
        rim = {(x, y) for x, y in columns if x in (0, size[0] - 1) or y in (0, size[1] - 1)}
        assert rim <= walls
        start = next(iter(sorted(columns - walls)))
        reached, todo = {start}, [start]
        while todo:
            x, y = todo.pop()
            for dx, dy in WAYS.values():
                if (x + dx, y + dy) in columns - walls - reached:
                    reached.add((x + dx, y + dy))
                    todo.append((x + dx, y + dy))
        assert reached == columns - walls
        assert int(record["open"]) == len(reached)
        goal = bits(record["goal"])
        places = {divmod(int(record["place"][i]), world.side)[::-1] for i in goal}
        assert len(goal) == len(places) == 4
        assert places <= reached
        if size == (16, 16):
            assert walls - rim  # it is divided


def test_rewards_and_reports() -> None:
    world, dice = made(5), Stream(5)
    record = world.states[0]
    for _ in range(40):
        before = bits(record["found"])
        facts = [world.facts(agent) for agent in range(4)]
        acts = [dice.integer(2 * ACTIONS) for _ in range(4)]
        result = world.step(acts)
        new = bits(record["found"]) - before
        assert before <= bits(record["found"])
        reports = sum(act >= ACTIONS for act in acts)
        assert sum(result.rewards) == pytest.approx(len(new) - 0.04 - 0.02 * reports)
        first = {i: min(a for a in range(4) if record["seen"][a] >> i & 1) for i in new}
        for agent, act in enumerate(acts):
            own = sum(who == agent for who in first.values())
            paid = own - 0.01 - 0.02 * (act >= ACTIONS)
            assert result.rewards[agent] == pytest.approx(paid)
            letters = {letter.sender: letter.message for letter in world.facts(agent).messages}
            told = {f"agent_{b}" for b in range(4) if acts[b] >= ACTIONS and b != agent}
            assert set(letters) == told
            for b in range(4):
                if f"agent_{b}" in letters:
                    x, y, z = facts[b].position
                    names = ", ".join(map(named, facts[b].objects))
                    text = letters[f"agent_{b}"]
                    assert text.startswith(f"Column {x}, row {y}, level {z}, ")
                    assert text.endswith(f" I see {names}.") or not names
                    assert ("I see" in text) == bool(names)


def named(thing: Any) -> str:
    """Return the name of an object with its article."""
    return f"a{'n' * (thing.name[0] in 'aeiou')} {thing.name}"


BARE = made(furniture=0.0, width=15, height=15, room=15, objects=1)
"""A house of one room with nothing in it."""


@pytest.mark.parametrize(
    ("ahead", "aside", "seen"),
    [
        (1, 0, True),
        (1, 1, True),
        (1, -1, True),
        (1, 2, False),  # more to the side than ahead
        (1, -2, False),
        (3, 2, True),
        (3, -3, True),
        (6, 0, True),
        (7, 0, False),  # farther than it sees
        (-1, 0, False),  # behind it
        (0, 1, False),  # beside it
    ],
)
@pytest.mark.parametrize("heading", range(4))
def test_who_is_ahead_is_seen(heading: int, ahead: int, aside: int, seen: bool) -> None:
    dx, dy = [(0, -1), (1, 0), (0, 1), (-1, 0)][heading]
    here = 7 - dx, 7 - dy
    x, y = here[0] + ahead * dx - aside * dy, here[1] + ahead * dy + aside * dx
    state = BARE.get_state()
    for name, values in {
        "x": [here[0], x, 1, 13], "y": [here[1], y, 1, 13], "z": [1, 1, 0, 0],
        "heading": [heading, 0, 0, 0], "pitch": [1] * 4, "roll": [1] * 4,
    }.items():  # fmt: skip
        state[name][:4] = values
    BARE.set_state(state)
    others = {other.name: other.position for other in BARE.facts(0).others}
    assert others == ({"agent_1": (x, y, 1)} if seen else {})


def test_reports_are_illegal_without_a_channel() -> None:
    env = piase_gym.parallel_env("ObjectSearch", agents=2, channel=False, envelope={"channel": 1})
    _, infos = env.reset(seed=0)
    assert infos["agent_0"]["action_mask"].tolist() == [1] * 13 + [0] * 13
    _, rewards, *_, infos = env.step({"agent_0": 13, "agent_1": 12})
    assert infos["agent_0"]["outcome"] == "illegal"
    assert rewards["agent_0"] == pytest.approx(-0.1)


def test_what_the_team_has_found_is_shown_only_where_the_config_says_so() -> None:
    world = made(3, show_found=True)
    names = world.config.object_names
    for _ in range(10):
        world.step([0, 6, 7, 1])
        found = tuple(names[i] for i in sorted(bits(world.states[0]["found"])))
        assert world.facts(0).found == found
        told = ", ".join(f"a{'n' * (name[0] in 'aeiou')} {name}" for name in found) or "nothing"
        text = world.to_text(world.facts(0), world.config)
        assert f"The team has found {told}." in text
        assert parse(text, world.config) == world.facts(0)
    assert made(3).facts(0).found is None


def test_the_measures() -> None:
    world = made(2, max_steps=30)
    covered = []
    while any(world.alive):
        world.step([13 + len(covered) % 9, 6, 7, 0])
        covered.append(int(world.states[0]["covered"]))
    record, measures = world.states[0], world.measure(0)
    assert measures["coverage"] == covered[-1] / int(record["open"])
    assert measures["mean_coverage"] == pytest.approx(np.mean(covered) / int(record["open"]))
    assert measures["objects_found"] == len(bits(record["found"])) / 8
    assert measures["reports_sent"] == 30
    repeats = int(record["repeats"])
    assert measures["duplicate_work"] == repeats / (repeats + covered[-1]) > 0


def test_agents_enter_later_where_they_would_have_started() -> None:
    world = made(1, join_at=[0, 3, 0, None])
    assert list(world.alive) == [True, False, True, False]
    start = world.position(1)
    for step in range(1, 5):
        result = world.step([12, None, 12, None] if step <= 3 else [12] * 3 + [None])
        assert world.alive[1] == (step >= 3)
    assert world.position(1) == start
    assert result.rewards[3] == 0.0
    world.enter(3)
    assert list(world.alive) == [True] * 4


def test_who_cannot_enter_is_told_why() -> None:
    world = made(1, agents=2, envelope={"agents": 3})
    for agent, words in ((1, "in play already"), (2, "no part in this config: agents=2$")):
        with pytest.raises(AgentError, match=words):
            world.enter(agent)


def test_a_batch_plays_what_single_environments_play() -> None:
    batch = piase_gym.batch_env("ObjectSearch", num_envs=3, agents=4, max_steps=12)
    seen, _ = batch.reset(seed=4)
    dice = np.random.default_rng(0)
    worlds = [made(4 + i, end_when_found=None, max_steps=12) for i in range(3)]
    for _ in range(12):
        for i, world in enumerate(worlds):
            assert (seen[i] == np.stack(world.vectors())).all()
        acts = dice.integers(0, 26, (3, 4)).astype(np.int32)
        seen, rewards, *_ = batch.step(acts)
        for i, world in enumerate(worlds):
            if any(world.alive):
                assert rewards[i].tolist() == list(world.step(acts[i].tolist()).rewards)
