"""Live changes: what may change within an episode does so at once, the rest waits and says so."""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import registry, runs
from piase_gym.errors import ConfigError, EnvelopeError
from piase_gym.interfaces import Environment
from piase_gym.wrappers import AvtLogger
from tests.helpers.needs import need
from tests.helpers.piaavt import lines

WORLDS: dict[str, tuple[str, dict[str, Any], str, Any]] = {
    "GridWorld": ("GridWorld", {"agents": 2}, "width", 6),
    "matrix": ("SocialDilemma", {"game": "public_goods", "agents": 3, "rounds": 40}, "memory", 2),
    "commons": ("SocialDilemma", {"game": "cleanup", "agents": 3, "max_steps": 60}, "river", 2),
    "PhysicsPlayground": ("PhysicsPlayground", {"task": "reach"}, "gravity", 3.0),
    "TextRoom": ("TextRoom", {"agents": 2}, "distractors", 0),
    "Household": ("Household", {"agents": 2}, "objects", 12),
    "SqlQuery": ("SqlQuery", {"agents": 2, "max_steps": 30}, "rows", 20),
    "WordCraft": ("WordCraft", {"agents": 2, "depth": 2, "mixes": 20, "max_steps": 40}, "depth", 1),
    "ObjectSearch": ("ObjectSearch", {"agents": 2}, "furniture", 0.1),
}
"""World, config, and a field that has to wait, with another value."""
OWN_VALUES: dict[str, Any] = {
    "payoffs": None,
    "sight": 3,
    "end_when_found": True,
    "show_found": None,
    "max_steps": 25,
    "multiplier": 2.0,
}


def live_fields(name: str) -> tuple[str, ...]:
    """Return the fields of a world that may change within an episode."""
    spec = registry.world_spec(WORLDS[name][0])
    world: Any = registry.load(spec.world, spec)
    return world.live_fields  # type: ignore[no-any-return]


def another(config: Any, name: str) -> Any:
    """Return another value of a field, or ``None`` if this config has no use for the field."""
    now = getattr(config, name)
    if name in OWN_VALUES:
        value = OWN_VALUES[name]
    elif name == "rewards":
        value = {**now.model_dump(), "illegal": -7.5}
    elif isinstance(now, bool):
        value = not now
    elif isinstance(now, int):
        value = now + 1
    elif isinstance(now, float):
        value = now / 2 if now else 0.25
    elif isinstance(now, tuple):
        value = [number / 2 for number in now]
    else:
        options = typing.get_args(type(config).model_fields[name].annotation)
        value = next(option for option in options if option != now)
    try:
        return None if value is None or config.changed({name: value}) == config else value
    except ConfigError:
        return None  # it belongs to another game


def walk(env: Any, dice: np.random.Generator, steps: int) -> None:
    """Act at random among what is legal."""
    for _ in range(steps):
        acts = {}
        for name in env.agents:
            legal = env.unwrapped.commands(name)
            acts[name] = legal[int(dice.integers(len(legal)))]
        if acts:
            env.step(acts)


def field_cases() -> list[tuple[str, str]]:
    """Return every world with each of its fields that may change."""
    return [(name, field) for name in WORLDS for field in live_fields(name)]


@pytest.mark.parametrize("name", WORLDS)
def test_what_may_change_within_an_episode_does_so_at_once_is_logged_and_replayed(
    name: str, tmp_path: Path
) -> None:
    world, config, _, _ = WORLDS[name]
    need(world)
    path, dice = tmp_path / "run.jsonl", np.random.default_rng(0)
    env = AvtLogger(piase_gym.parallel_env(world, **config), path, level="full")
    env.reset(seed=3)
    walk(env, dice, 2)
    changed = []
    for field in live_fields(name):
        value = another(env.unwrapped.config, field)
        if value is None:
            continue
        before = env.unwrapped.digest()
        found = env.unwrapped.modify({field: value})
        assert (list(found), list(found.now), found.waiting) == ([field], [field], {})
        assert getattr(env.unwrapped.config, field) == found[field]
        assert env.unwrapped.digest() == before  # the state is as it was
        changed.append(field)
        walk(env, dice, 1)
    assert len(changed) >= 4
    walk(env, dice, 3)
    last = env.unwrapped.config
    env.reset()
    assert env.unwrapped.config == last  # it stays for the episodes that follow
    env.close()
    told = [e["event_data"] for e in lines(path) if e["event_data"].get("kind") == "modify"]
    assert [list(row["changes"]) for row in told] == [[field] for field in changed]
    assert runs.replay(path).verdict == "sound", str(runs.replay(path))


@pytest.mark.parametrize("name", WORLDS)
def test_the_rest_waits_for_the_next_reset_and_says_so(name: str, tmp_path: Path) -> None:
    world, config, field, value = WORLDS[name]
    need(world)
    path, dice = tmp_path / "run.jsonl", np.random.default_rng(0)
    env = AvtLogger(piase_gym.parallel_env(world, **config), path)
    inner = env.unwrapped
    env.reset(seed=3)
    walk(env, dice, 1)
    before = getattr(inner.config, field)
    found = inner.modify({field: value, "shared_reward": True})
    assert found.now == {"shared_reward": True}
    assert found.waiting == {field: value}
    assert dict(found) == {field: value, "shared_reward": True}
    assert (getattr(inner.config, field), inner.config.shared_reward) == (before, True)
    walk(env, dice, 2)
    assert getattr(inner.config, field) == before
    env.reset()
    assert (getattr(inner.config, field), inner.config.shared_reward) == (value, True)
    walk(env, dice, 1)
    env.close()
    assert runs.replay(path).verdict == "sound", str(runs.replay(path))


def changing(name: str) -> dict[str, Any]:
    """Return a scenario that changes each field that may change, one at each step."""
    world, fields, _, _ = WORLDS[name]
    base = piase_gym.parallel_env(world, **fields).config
    found = {field: another(base, field) for field in live_fields(name)}
    found |= {"show_found": True, "sight": 2, "max_steps": 21}
    fresh = [(k, v) for k, v in found.items() if v is not None and k in live_fields(name)]
    events = [
        {
            "trigger": {"type": "step_reached", "step": 2 + k},
            "response": [{"type": "change_setting", "setting": field, "value": value}],
        }
        for k, (field, value) in enumerate(fresh)
    ]
    return {"environment_type": world, "initial_state": fields, "events": events}


def require_same_facts(env: Any, agent: str, shown: Mapping[str, Any]) -> None:
    """Check that an agent's text and vector say what its facts say."""
    facts, world = env.facts(agent), env.unwrapped.world
    assert shown["text"] == world.observation_text(world.agents.index(agent))
    assert piase_gym.parse_text(world.name, shown["text"], world.config) == facts
    np.testing.assert_array_equal(shown["vector"], world.vector(facts))


SCRIPTED = [name for name in WORLDS if name != "TextRoom"]  # its scenarios are stories


@pytest.mark.parametrize("name", SCRIPTED)
def test_text_and_vector_follow_a_script_that_changes_settings(name: str) -> None:
    need(WORLDS[name][0])
    scenario, dice = changing(name), np.random.default_rng(0)
    env: Any = piase_gym.parallel_env(WORLDS[name][0], scenario=scenario)
    before = env.reset(seed=1) and env.config
    for _ in scenario["events"]:
        acts = {}
        for agent in env.agents:
            legal = env.commands(agent)
            acts[agent] = legal[int(dice.integers(len(legal)))]
        shown, *_ = env.step(acts)
        for agent in env.agents:
            require_same_facts(env, agent, shown[agent])
            assert env.observation_space(agent).contains(shown[agent])
    shown, *_ = env.step({agent: env.commands(agent)[0] for agent in env.agents})
    assert len(before.diff(env.config)) == len(scenario["events"]) >= 4
    for agent in env.agents:
        require_same_facts(env, agent, shown[agent])
    shown, _ = env.reset(seed=1)
    for agent in env.agents:  # the config of the reset is back
        require_same_facts(env, agent, shown[agent])
    env.close()


@pytest.mark.parametrize("texts", ["eager", "lazy"])
def test_texts_of_every_env_follow_a_script(texts: str) -> None:
    change = {"type": "change_setting", "setting": "max_steps", "value": 9}
    scenario = {
        "environment_type": "WordCraft",
        "initial_state": {"max_steps": 14, "mixes": 12},
        "events": [{"trigger": {"type": "step_reached", "step": 2}, "response": [change]}],
    }
    given: dict[str, Any] = {"scenario": scenario, "view": "both", "texts": texts}
    gym = piase_gym.gym_env("WordCraft", **given)
    aec = piase_gym.aec_env("WordCraft", **given)
    only = piase_gym.parallel_env("WordCraft", scenario=scenario, view="text")
    for env in (gym, aec, only):
        env.reset(seed=0)
    for left in (13, 7, 6):
        shown = gym.step(0)[0]
        aec.step(0)
        text = only.step({"agent_0": 0})[0]["agent_0"]
        assert f"Steps left: {left}." in text
        assert text == shown["text"] == aec.observe("agent_0")["text"]
        require_same_facts(gym, "agent_0", shown)


# -- the effect, step by step, against the rules --------------------------------------------------


def test_a_reward_changes_with_the_very_next_step() -> None:
    env = piase_gym.parallel_env("GridWorld", width=6, height=6)
    env.reset(seed=0)
    assert env.step({"agent_0": 4})[1] == {"agent_0": -0.05}
    env.modify({"rewards": {**env.config.rewards.model_dump(), "stay": 3.0}})
    assert env.step({"agent_0": 4})[1] == {"agent_0": 3.0}


def test_max_steps_ends_the_episode_where_it_says() -> None:
    env = piase_gym.parallel_env("TextRoom", max_steps=50, actions="text")
    env.reset(seed=0)
    for _ in range(3):
        env.step({"agent_0": "wait"})
    env.modify({"max_steps": 5})
    assert not env.step({"agent_0": "wait"})[3]["agent_0"]
    assert env.step({"agent_0": "wait"})[3]["agent_0"]


def test_payoffs_of_the_next_round_are_the_new_ones() -> None:
    env = piase_gym.parallel_env("SocialDilemma", game="public_goods", agents=3, multiplier=1.5)
    env.reset(seed=0)
    give = dict.fromkeys(env.agents, 0)
    assert env.step(give)[1]["agent_0"] == pytest.approx(0.5)  # 3 * 1.5 / 3 - 1
    env.modify({"multiplier": 2.0})
    assert env.step(give)[1]["agent_0"] == pytest.approx(1.0)


def test_the_state_goes_on_as_from_a_snapshot_with_the_other_config() -> None:
    need("PhysicsPlayground")
    live = piase_gym.parallel_env("PhysicsPlayground", task="push")
    fresh = piase_gym.parallel_env("PhysicsPlayground", task="push")
    live.reset(seed=1)
    dice = np.random.default_rng(0)
    walk(live, dice, 5)
    state = live.snapshot()
    fresh.restore({**state, "config": {**state["config"], "substeps": 4}})
    live.modify({"substeps": 4})
    for _ in range(5):
        acts = {"agent_0": int(dice.integers(4))}
        assert live.step(acts)[1] == fresh.step(acts)[1]
        assert live.digest() == fresh.digest()
    live.close()
    fresh.close()


# -- the hooks, batches, and what cannot be -------------------------------------------------------


def test_adjust_difficulty_in_real_time_or_between_segments() -> None:
    env = Environment("GridWorld", hazards=0, movers=1, mover_period=4)
    env.reset(seed=0)
    assert env.adjust_difficulty({"hazards": 2}).waiting == {"hazards": 2}
    assert env.introduce_element({"type": "hazard"}).waiting == {"hazards": 3}
    assert env.modify({"mover_period": 2}).now == {"mover_period": 2}
    assert (env.config.hazards, env.config.mover_period) == (0, 2)
    env.reset(seed=0)
    assert (env.config.hazards, env.config.mover_period) == (3, 2)


@pytest.mark.parametrize("ending", ["jsonl", "arrow"])
@pytest.mark.parametrize("autoreset", ["disabled", "next_step", "same_step"])
def test_slots_of_a_batch_change_like_single_environments(
    ending: str, autoreset: str, tmp_path: Path
) -> None:
    path, dice = tmp_path / f"run.{ending}", np.random.default_rng(0)
    config: dict[str, Any] = {"agents": 2, "width": 5, "height": 5, "max_steps": 9}
    inner = piase_gym.batch_env("GridWorld", num_envs=3, autoreset=autoreset, **config)
    env = AvtLogger(inner, path)
    single = piase_gym.parallel_env("GridWorld", **config)
    env.reset(seed=4)
    single.reset(seed=5)  # as slot 1 is
    rewards = {**inner.configs[0].rewards.model_dump(), "move": 2.0, "blocked": 1.0, "stay": 0.5}
    for step in range(6):
        acts = dice.integers(5, size=(3, 2))
        if step == 2:
            found = env.modify({"rewards": rewards, "hazards": 1}, [1, 2])
            assert (list(found.now), list(found.waiting)) == (["rewards"], ["hazards"])
            assert list(single.modify({"rewards": rewards}).now) == ["rewards"]
        told = env.step(acts)
        if single.agents:
            own = single.step({name: int(acts[1, i]) for i, name in enumerate(single.agents)})
            if len(own[1]) == 2:
                assert list(own[1].values()) == told[1][1].tolist()
    assert [inner.config_of(slot).rewards.move for slot in range(3)] == [-0.1, 2.0, 2.0]
    env.reset(which=np.array([True, True, True]))
    assert [inner.config_of(slot).hazards for slot in range(3)] == [0, 1, 1]
    env.close()
    assert runs.replay(path).verdict == "sound", str(runs.replay(path))


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"nonsense": 1}, ConfigError, "nonsense"),
        ({"mover_period": 0}, ConfigError, "mover_period"),
        ({"width": 60}, EnvelopeError, "width"),
        ({"max_steps": 2}, ConfigError, "max_steps cannot change now"),
        ({"max_steps": 2, "rewards": {"move": 5.0}}, ConfigError, "cannot change now"),
        ([("mover_period", 2)], ConfigError, "a mapping"),
    ],
)
def test_changes_that_cannot_be_leave_everything_as_it_was(
    changes: Any, error: type[Exception], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", width=6, height=6), path)
    batch = piase_gym.batch_env("GridWorld", num_envs=2, width=6, height=6)
    env.reset(seed=0)
    batch.reset(seed=0)
    for _ in range(3):
        env.step({"agent_0": 4})
        batch.step([[4], [4]])
    before = json.dumps(env.unwrapped.snapshot(), sort_keys=True)
    for one in (env.unwrapped, batch):
        with pytest.raises(error, match=told):
            one.modify(changes)
    assert json.dumps(env.unwrapped.snapshot(), sort_keys=True) == before
    assert [batch.config_of(slot) for slot in range(2)] == [batch.configs[0]] * 2
    env.step({"agent_0": 4})
    env.close()
    assert runs.replay(path).verdict == "sound"


def test_without_an_episode_in_course_everything_waits() -> None:
    env = piase_gym.parallel_env("GridWorld", max_steps=1)
    assert env.modify({"mover_period": 3}).waiting == {"mover_period": 3}
    env.reset(seed=0)
    assert env.config.mover_period == 3
    env.step({"agent_0": 4})
    assert env.modify({"mover_period": 5}).waiting == {"mover_period": 5}
    assert env.config.mover_period == 3
