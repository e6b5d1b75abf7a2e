"""What environments show: plain dicts of texts and arrays, and texts that are written when read."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import orjson
import pytest

import piase_gym
from piase_gym.envs.observations import LazyViews
from piase_gym.worlds.grid_world.world import GridWorld
from tests.helpers.needs import each

PARTNERS = {"agent_0": "random", "agent_2": "random"}
WORLDS = ("GridWorld", "TextRoom", "SocialDilemma", "PhysicsPlayground")


def observations(name: str, **options: Any) -> dict[str, dict[str, Any]]:
    """Return what agents see after two steps, when the environment has gone on."""
    env = piase_gym.parallel_env(name, view="both", **options)
    env.reset(seed=3)
    shown: dict[str, dict[str, Any]] = {}
    for _ in range(2):
        shown = env.step(dict.fromkeys(env.agents, 0))[0]
    env.reset(seed=4)
    return shown


def single(name: str, **options: Any) -> dict[str, Any]:
    """Return what the learner of a Gymnasium environment sees."""
    env = gymnasium.make(f"piase/{name}-v1", view="both", **options)
    shown: dict[str, Any] = env.reset(seed=3)[0]
    env.close()
    return shown


def plainly(views: Any) -> None:
    """Check that views are a dict of a text and an array, of exactly these types."""
    assert type(views) is dict
    assert {key: type(value) for key, value in views.items()} == {
        "text": str,
        "vector": np.ndarray,
    }


@pytest.mark.parametrize("name", each(WORLDS))
def test_both_views_are_a_plain_dict(name: str) -> None:
    shown = observations(name)
    for views in (*shown.values(), single("GridWorld")):
        plainly(views)
        read = orjson.loads(orjson.dumps(views, option=orjson.OPT_SERIALIZE_NUMPY))
        assert read["text"] == views["text"]
        found = np.array(read["vector"], views["vector"].dtype)
        np.testing.assert_array_equal(found, views["vector"])
        for other in (copy.copy(views), copy.deepcopy(views), pickle.loads(pickle.dumps(views))):
            plainly(other)
            assert other["text"] == views["text"]
            np.testing.assert_array_equal(other["vector"], views["vector"])
        assert views == dict(views)
    masked = observations("GridWorld", mask="obs")["agent_0"]
    plainly(masked["observation"])


def test_torch_takes_both_views_apart() -> None:
    pytree = pytest.importorskip("torch.utils._pytree")
    shown = observations("GridWorld")
    kinds = pytree.tree_map(lambda leaf: type(leaf).__name__, shown)
    assert kinds == {agent: {"text": "str", "vector": "ndarray"} for agent in shown}


@pytest.mark.parametrize("name", each(WORLDS))
def test_lazy_texts_are_those_of_the_moment(name: str) -> None:
    expected, shown = observations(name), observations(name, texts="lazy")
    assert shown.keys() == expected.keys()
    for agent, views in shown.items():
        assert isinstance(views, LazyViews)
        assert isinstance(views, dict)
        text, vector = expected[agent]["text"], expected[agent]["vector"]
        found = [
            views.copy(),
            dict(views),
            {**views},
            views | {},
            {} | views,
            dict(views.items()),
            dict(zip(views, views.values(), strict=True)),
            copy.copy(views),
            copy.deepcopy(views),
            pickle.loads(pickle.dumps(views)),
        ]
        for other in found:
            plainly(other)
            assert other["text"] == text
            np.testing.assert_array_equal(other["vector"], vector)
        assert views["text"] == views.get("text") == text
        assert (views == dict(views), views != dict(views)) == (True, False)
        assert repr(views) == repr(dict(views))
        assert views.pop("text") == text
        assert list(views) == ["vector"]


@pytest.mark.parametrize("change", [dict, copy.copy, lambda views: {"text": views.pop("text")}])
def test_each_way_of_reading_writes_the_text(change: Any) -> None:
    """The first way to read is as good as any: none of them shows what is kept for later."""
    text = observations("GridWorld")["agent_0"]["text"]
    assert change(observations("GridWorld", texts="lazy")["agent_0"])["text"] == text


def test_lazy_views_are_in_their_space() -> None:
    env = piase_gym.parallel_env("GridWorld", texts="lazy")
    for agent, views in env.reset(seed=0)[0].items():
        assert env.observation_space(agent).contains(views)
    assert single("GridWorld", texts="lazy")["text"] == single("GridWorld")["text"]
    turns = piase_gym.aec_env("GridWorld", texts="lazy")
    turns.reset(seed=0)
    assert type(turns.last()[0]) is LazyViews


def test_texts_are_written_for_the_callers_agents_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text is written for partners, who do not read it, and none for lazy views."""
    told: list[int] = []

    def writer(self: Any) -> Any:
        def write(kept: Any, agent: int) -> str:
            told.append(agent)
            return ""

        return write

    monkeypatch.setattr(GridWorld, "text_writer", writer)
    for options, expected in (({}, [1, 1]), ({"texts": "lazy"}, [])):
        env = piase_gym.parallel_env("GridWorld", agents=3, partners=PARTNERS, **options)
        env.reset(seed=0)
        env.step({"agent_1": 0})
        assert told == expected
        told.clear()
    lone = piase_gym.gym_env("GridWorld", agents=3, view="both")
    lone.reset(seed=0)
    lone.step(0)
    assert told == [0, 0]
