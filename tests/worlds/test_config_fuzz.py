"""Configs at random: each is an environment that plays, or one error that names what is wrong."""

from __future__ import annotations

import re
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym import registry
from piase_gym.errors import ConfigError, GenerationError
from tests.helpers.needs import need

ODD = (None, True, -1, 0, 10**30, 0.5, -0.0, float("nan"), float("inf"), "", "x" * 99, [], {}, b"x")
NUMBERS = st.one_of(st.integers(-2, 40), st.floats(-2.0, 40.0), st.sampled_from((64, 255, 1000)))
LIKELY = st.one_of(st.integers(1, 9), st.floats(0.0, 1.0), st.booleans())
PAIR = st.lists(NUMBERS, min_size=2, max_size=2)
PAIRS = st.lists(PAIR, min_size=2, max_size=2)
VALUES = st.one_of(
    st.sampled_from(ODD),
    NUMBERS,
    st.lists(NUMBERS, max_size=4),
    st.lists(PAIR, max_size=3),
    st.lists(
        st.lists(st.lists(NUMBERS, min_size=2, max_size=2), min_size=2, max_size=2), max_size=2
    ),
)
PARTS = {
    "PhysicsPlayground": {
        "objects": st.lists(
            st.fixed_dictionaries(
                {"kind": st.sampled_from(("box", "ball", "cylinder", "crate", "cube"))},
                optional={"mass": NUMBERS, "radius": st.floats(0.0, 0.6), "position": VALUES},
            ),
            max_size=4,
        ),
        "walls": st.lists(
            st.fixed_dictionaries({"position": VALUES, "length": NUMBERS}), max_size=2
        ),
        "randomise": st.fixed_dictionaries(
            {"mass": st.fixed_dictionaries({"low": NUMBERS, "high": NUMBERS})}
        ),
    },
    "SocialDilemma": {},
}
"""Fields that are made of parts, beside plain values."""
USUAL = {
    "PhysicsPlayground": {"picture": 16, "substeps": 2, "max_steps": 4},
    "SocialDilemma": {},
}
OURS = (ConfigError, GenerationError)


def configs(world: str) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a few fields of a world's config: words that it knows, plain values, and odd ones."""
    spec = registry.world_spec(world)
    fields = registry.load(spec.config, spec).model_fields
    ways: dict[str, Any] = {"zebra": VALUES}
    for name, field in fields.items():
        words = [word for word in get_args(field.annotation) if isinstance(word, str)]
        known = st.sampled_from(words) if words else VALUES
        usual = st.just(field.get_default(call_default_factory=True))
        part = PARTS[world].get(name, VALUES)
        ways[name] = st.one_of(usual, LIKELY, known, part, VALUES)
    kind = "task" if "task" in fields else "game"
    some = st.lists(st.sampled_from(sorted(set(ways) - {"max_steps"})), max_size=3, unique=True)
    drawn = some.flatmap(lambda names: st.fixed_dictionaries({name: ways[name] for name in names}))
    base = st.sampled_from(get_args(fields[kind].annotation)).map(lambda word: {kind: word})
    return st.builds(lambda usual, more: {**USUAL[world], **usual, **more}, base, drawn)


def walk(env: Any, world: str) -> None:
    """Play a few steps of an environment, read its texts back, and restore a snapshot."""
    inner = env.world
    observations, _ = env.reset(seed=3)
    for name, view in observations.items():
        assert env.observation_space(name).contains(view)
    kept, digest = env.snapshot(), env.digest()
    for step in range(3):
        acts = {}
        for name in env.agents:
            legal = np.flatnonzero(inner.masks()[inner.agents.index(name)]).tolist()
            acts[name] = legal[step % len(legal)]
            facts = env.facts(name)
            assert (
                piase_gym.parse_text(world, inner.to_text(facts, env.config), env.config) == facts
            )
        env.step(acts)
    env.restore(kept)
    assert env.digest() == digest


@pytest.mark.parametrize("world", sorted(USUAL))
def test_any_config_is_played_or_refused_in_our_words(world: str) -> None:
    need(world)
    seen = {"played": 0, "refused": 0}

    @settings(
        max_examples=150,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(configs(world))
    def run(fields: dict[str, Any]) -> None:
        try:
            env = piase_gym.parallel_env(world, view="both", **fields)
        except OURS as error:
            told = str(error)
            seen["refused"] += 1
            assert any(name in told for name in fields), told
            assert not re.search("[Ii]nput should|valid (dict|tuple|integer|list)", told), told
            return
        try:
            try:
                env.reset(seed=3)
            except GenerationError:
                return
            walk(env, world)
            seen["played"] += 1
        finally:
            env.close()

    run()
    assert min(seen.values()) > 20, seen
