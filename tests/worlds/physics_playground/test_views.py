"""PhysicsPlayground's views: vector and text state the same; lidar against geometry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.errors import TextParseError
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.facts import (
    PLACES,
    PhysicsPlaygroundFacts,
    Sighting,
    facts_of,
    layout_of,
    row_of,
    text_length,
    touch_place,
)
from piase_gym.worlds.physics_playground.levels.items import COLOURS, KINDS
from piase_gym.worlds.physics_playground.observe.text import parse, text_of
from tests.helpers.needs import need

CONFIG = PhysicsPlaygroundConfig(
    task="gather", agents=3, messages=True, objects=[{"kind": kind} for kind in KINDS[:3]] * 2
)
FORM = layout_of(CONFIG)
NAMES = CONFIG.names()
lengths = st.integers(0, 3000)
signed = st.integers(-3000, 3000)
turns = st.integers(-179, 180)
sentences = st.text(max_size=30)


@st.composite
def facts(draw: Any) -> PhysicsPlaygroundFacts:
    """Draw facts that could be."""
    agent = draw(st.sampled_from(NAMES))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=6, max_size=6))
    things = [f"{COLOURS[i]} {kind}" for i, kind in enumerate(kinds)]

    def sighting(name: str, place: str) -> Sighting:
        return Sighting(name, draw(lengths), draw(turns), draw(signed), draw(signed), place)

    shown = draw(st.lists(st.sampled_from(things), unique=True, max_size=4))
    others = [name for name in NAMES if name != agent]
    met = [name for name in others if draw(st.booleans())]
    touched = [name for name in ["wall", "ramp", *things, *others] if draw(st.booleans())]
    goal = (draw(lengths), draw(turns)) if draw(st.booleans()) else None
    return PhysicsPlaygroundFacts(
        agent=agent,
        messages=tuple(
            Message(name, EVERYONE, draw(sentences)) for name in others if draw(st.booleans())
        ),
        hint=draw(st.none() | sentences),
        position=(draw(signed), draw(signed), draw(signed)),
        heading=draw(turns),
        velocity=(draw(signed), draw(signed)),
        turning=draw(signed),
        holding=draw(st.none() | st.sampled_from(things)),
        touching=tuple(sorted(touched, key=lambda name: touch_place(name, FORM)[0])),
        goal=goal,
        placed=(draw(st.integers(0, 6)), draw(st.integers(1, 6))),
        objects=tuple(sighting(name, draw(st.sampled_from(PLACES))) for name in shown),
        others=tuple(sighting(name, PLACES[0]) for name in met),
        lidar=tuple(draw(st.integers(0, FORM.range)) for _ in range(FORM.rays)),
    )


@settings(max_examples=150, deadline=None)
@given(facts())
def test_rows_and_texts_are_read_back(entry: PhysicsPlaygroundFacts) -> None:
    row = row_of(entry, FORM).tolist()
    assert facts_of(row, FORM, entry.messages, entry.hint) == entry
    text = text_of(entry, CONFIG)
    assert parse(text, CONFIG) == entry
    assert len(text) <= text_length(CONFIG)


@settings(max_examples=80, deadline=None)
@given(facts(), facts())
def test_vectors_tell_rows_apart(one: PhysicsPlaygroundFacts, two: PhysicsPlaygroundFacts) -> None:
    rows = np.array([row_of(one, FORM), row_of(two, FORM)])
    vectors = FORM.vectors(rows)
    assert FORM.box.contains(vectors[0])
    assert (rows[0] == rows[1]).all() == (vectors[0] == vectors[1]).all()


@settings(max_examples=100, deadline=None)
@given(facts(), st.data())
def test_edited_texts_are_refused_or_read_as_written(
    entry: PhysicsPlaygroundFacts, data: Any
) -> None:
    text = text_of(entry, CONFIG)
    place = data.draw(st.integers(0, len(text) - 1))
    edited = text[:place] + data.draw(st.sampled_from("0123456789ab -.\n")) + text[place + 1 :]
    try:
        read = parse(edited, CONFIG)
    except TextParseError:
        return
    assert text_of(read, CONFIG) == edited


@pytest.mark.parametrize("body", ["rover", "sphere"])
def test_lidar_is_the_distance_to_the_walls(body: str) -> None:
    pytest.importorskip("pybullet")
    from tests.worlds.physics_playground.helpers import make

    env = make("reach", body=body, rays=16, range=30.0, size=(5.0, 7.0))
    for seed in range(6):
        env.reset(seed=seed)
        facts = env.facts("agent_0")
        x, y, _ = env.world.reading.position[-1]
        ahead = env.world.arena.pose(0).ahead
        face = math.atan2(ahead[1], ahead[0])
        for number, told in enumerate(facts.lidar):
            turn = face + 2.0 * math.pi * number / 16
            dx, dy = math.cos(turn), math.sin(turn)
            to_x = (math.copysign(2.5, dx) - x) / dx if abs(dx) > 1e-9 else math.inf
            to_y = (math.copysign(3.5, dy) - y) / dy if abs(dy) > 1e-9 else math.inf
            # A ray starts outside the agent's hull; a wall nearer than that reads as its start.
            assert told == pytest.approx(max(100.0 * min(to_x, to_y), 22.7), abs=1.6)


def test_what_is_seen_is_where_it_is() -> None:
    pytest.importorskip("pybullet")
    from tests.worlds.physics_playground.helpers import make

    env = make("gather", agents=2, nearest=3)
    for seed in range(4):
        env.reset(seed=seed)
        for _ in range(15):
            env.step(dict.fromkeys(env.agents, 5))
        world = env.world
        for agent, name in enumerate(world.agents):
            told = env.facts(name)
            pose = world.arena.pose(agent)
            exact = []
            for number, body in enumerate(world.play.objects):
                dx, dy, _ = world.reading.position[number] - np.array(pose.position)
                bearing = math.degrees(math.atan2(dy, dx)) - math.degrees(
                    math.atan2(pose.ahead[1], pose.ahead[0])
                )
                exact.append((math.hypot(dx, dy), (bearing + 180.0) % 360.0 - 180.0, body.name))
            for seen, (distance, bearing, thing) in zip(told.objects, sorted(exact), strict=False):
                assert seen.name == thing
                assert seen.distance == pytest.approx(100.0 * distance, abs=0.51)
                assert abs((seen.bearing - bearing + 180.0) % 360.0 - 180.0) < 0.51
            assert len(told.objects) == 3


def test_messages_are_heard_by_the_others() -> None:
    pytest.importorskip("pybullet")
    from tests.worlds.physics_playground.helpers import make

    env = make("carry", messages=True, view="both", actions="text")
    env.reset(seed=0)
    env.step({"agent_0": "say I take the left end!", "agent_1": "wait"})
    assert env.facts("agent_0").messages == ()
    observations = env.step({"agent_0": "forward", "agent_1": "forward"})[0]
    assert env.facts("agent_1").messages == (Message("agent_0", EVERYONE, "I take the left end!"),)
    assert "agent_0 says: I take the left end!" in observations["agent_1"]["text"]
    quiet = make("carry", actions="text")
    quiet.reset(seed=0)
    info = quiet.step({"agent_0": "say hello", "agent_1": "wait"})[4]["agent_0"]
    assert info["outcome"] == "unparsable"


def test_texts_with_impossible_lengths_are_refused() -> None:
    need("PhysicsPlayground")
    config = PhysicsPlaygroundConfig()
    env = piase_gym.parallel_env("PhysicsPlayground", view="text")
    text = env.reset(seed=0)[0]["agent_0"]
    parse(text, config)
    rays = text.split("Lidar: ")[1].split(".\n")[0].split()
    seen = next(ray for ray in rays if ray != "-")
    for far in ("99.99", f"{config.range + 0.01:.2f}"):
        with pytest.raises(TextParseError, match="negative or out of range"):
            parse(text.replace(seen, far, 1), config)
