"""The same seed and commands lead to the same states through all ten environments."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from piase_gym.envs.aec import aec_env
from piase_gym.envs.batch import batch_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.errors import ActionError, PiaseError
from piase_gym.interfaces import AbstractEnvironment, Environment
from tests import probes
from tests.helpers import replays
from tests.helpers.replays import FOCAL, KINDS, Game

probes.register()

GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "four in a door-key grid": (
        "GridWorld",
        {"agents": 4, "layout": "door_key", "width": 7, "height": 6, "max_steps": 60},
    ),
    "three in four rooms": (
        "GridWorld",
        {"agents": 3, "layout": "four_rooms", "observe": "grid", "max_steps": 50},
    ),
    "two who stop at a crowded goal": (
        "GridWorld",
        {"agents": 2, "width": 2, "height": 2, "shared_reward": True, "max_steps": 30},
    ),
    "three of whom two come late": (
        "GridWorld",
        {"agents": 3, "width": 3, "height": 3, "join_at": (0, 2, 5), "max_steps": 30},
    ),
    "one by an id": ("piase/GridWorld-DoorKey-6x6-v1", {"max_steps": 40}),
    "late joiners with words": (
        "TextProbe",
        {"agents": 3, "items": 6, "join_at": (0, 2, 5), "slip": 0.3, "max_steps": 40},
    ),
    "three points in noise": ("PointProbe", {"agents": 3, "noise": 0.2, "max_steps": 30}),
}


@functools.cache
def game(name: str, seed: int) -> Game:
    world, config = GAMES[name]
    return replays.record(world, config, seed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GAMES)
def test_same_states_through_every_env(name: str, kind: str) -> None:
    if kind == "batch" and "Probe" in GAMES[name][0]:
        with pytest.raises(PiaseError, match="batch"):
            list(KINDS[kind](game(name, 0), np.random.default_rng(0)))
        return
    for seed in range(3):
        run = game(name, seed)
        digests = list(KINDS[kind](run, np.random.default_rng(seed)))
        assert len(digests) > 1
        assert digests == run.digests[: len(digests)]
        if kind not in FOCAL:
            assert len(digests) == len(run.digests)


def equal(one: Any, two: Any) -> bool:
    """Tell whether two values of an environment are the same in every part."""
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(equal(one[key], two[key]) for key in one)
    return bool(np.array_equal(one, two)) if isinstance(one, np.ndarray) else bool(one == two)


@pytest.mark.parametrize("name", [name for name in GAMES if "noise" not in name])
def test_turns_tell_what_all_at_once_are_told(name: str) -> None:
    """Of the AEC environment: observation, summed rewards, flags and infos of each agent."""
    world, config = GAMES[name]
    one, two = parallel_env(world, **config), aec_env(world, **config)
    rng = np.random.default_rng(3)
    for seed in range(4):
        seen, infos = one.reset(seed=seed)
        two.reset(seed=seed)
        told = {a: (0.0, False, False, infos[a]) for a in one.agents}
        while one.agents:
            acts = {a: int(rng.choice(np.flatnonzero(infos[a]["action_mask"]))) for a in one.agents}
            for agent in list(one.agents):
                while two.terminations[two.agent_selection] or two.truncations[two.agent_selection]:
                    two.step(None)
                assert two.agent_selection == agent
                observation, *rest = two.last()
                assert equal(observation, seen[agent])
                assert all(map(equal, rest, told[agent]))
                two.step(acts[agent])
            seen, rewards, terminated, truncated, infos = one.step(acts)
            told = {a: (rewards[a], terminated[a], truncated[a], infos[a]) for a in seen}
            for agent in seen:
                assert equal(two.observe(agent), seen[agent])
            for mine, theirs in (
                (two.rewards, rewards),
                (two.terminations, terminated),
                (two.truncations, truncated),
                (two.infos, infos),
            ):
                assert all(equal(mine[a], theirs[a]) for a in theirs)
        with pytest.raises(ActionError, match="its only action is None"):
            two.step(0)


@pytest.mark.parametrize(
    ("world", "config"),
    [
        ("piase/GridWorld-DoorKey-6x6-v1", {"max_steps": 40}),
        ("GridWorld", {"width": 3, "height": 3, "max_steps": 12}),
        ("TextRoom", {"scenario": "lost_key", "max_steps": 30}),
    ],
)
def test_one_learner_is_told_what_it_would_be_told_among_all(
    world: str, config: dict[str, Any]
) -> None:
    one, two = parallel_env(world, **config), gym_env(world, view="both", **config)
    (agent,), rng, keys = one.possible_agents, np.random.default_rng(5), set[str]()
    for seed in range(6):
        seen, infos = one.reset(seed=seed)
        observation, info = two.reset(seed=seed)
        assert equal(observation, seen[agent])
        assert equal(info, infos[agent])
        while one.agents:
            act = int(rng.choice(np.flatnonzero(info["action_mask"])))
            *told, infos = one.step({agent: act})
            *found, info = two.step(act)
            assert all(equal(mine, theirs[agent]) for mine, theirs in zip(found, told, strict=True))
            assert equal(info, infos[agent])
            keys |= info.keys()
    assert {"result", "milestones"} <= keys


def test_the_games_are_worth_the_name() -> None:
    runs = [game(name, seed) for name in GAMES for seed in range(3)]
    outcomes = {outcome for run in runs for row in run.outcomes for outcome in row.values()}
    assert {"ok", "failed", "illegal"} <= outcomes
    assert all(len(set(run.digests)) == len(run.digests) for run in runs)
    staggered = [run for run in runs if len({len(t.indices) for t in run.steps}) > 1]
    assert len(staggered) >= 3  # agents that end or enter in mid-game


def test_any_force_of_a_box_is_a_command() -> None:
    config: dict[str, Any] = {"agents": 2, "noise": 0.1, "max_steps": 25}
    one = parallel_env("PointProbe", actions="continuous", **config)
    two = Environment("PointProbe", **config)
    rng = np.random.default_rng(0)
    one.reset(seed=4)
    two.reset(seed=4)
    while one.agents:
        forces = {name: rng.uniform(-1, 1, 2).astype(np.float32) for name in one.agents}
        for name, force in forces.items():
            parameters = {"x": float(force[0]), "y": float(force[1])}
            two.step(name, {"action_type": "thrust", "parameters": parameters})
        one.step(forces)
        assert one.digest() == two.digest()


@pytest.mark.parametrize("seed", range(5))
def test_priorities_are_an_order(seed: int) -> None:
    """Random priorities do what `World.set_order` does; without them the order is the agents'."""
    config: dict[str, Any] = {"agents": 4, "width": 3, "height": 3, "max_steps": 40}
    one, two = parallel_env("GridWorld", **config), AbstractEnvironment("GridWorld", **config)
    rng = np.random.default_rng(seed)
    one.reset(seed=seed)
    two.reset_environment(seed=seed)
    while one.agents:
        moves = {name: int(rng.integers(5)) for name in one.agents}
        ranks = {name: float(rng.integers(-1, 2)) for name in one.agents}
        names = list(one.world.agents)
        order = sorted(range(4), key=lambda i, r=ranks: (-r.get(names[i], 0.0), i))  # type: ignore[misc]
        one.world.set_order(order)
        for name in rng.permutation(one.agents).tolist():
            command = one.world.command(0, moves[name])
            given = replays.model(command)  # type: ignore[arg-type]
            if ranks[name] or rng.random() < 0.5:
                given = given.model_copy(update={"execution_priority": ranks[name]})
            two.apply_action_from_agent(name, given)
        one.step(moves)
        assert one.digest() == two.digest()


def test_what_those_in_play_do_goes_straight_to_the_kernel_after_others_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Plain indices are not decoded one by one then, and nothing else changes by that."""
    config = {"agents": 3, "width": 3, "height": 3, "max_steps": 40, "view": "vector"}
    direct, decoded = (parallel_env("GridWorld", **config) for _ in range(2))
    rng, ended = np.random.default_rng(3), 0
    for seed in range(4):
        assert_same(direct.reset(seed=seed), decoded.reset(seed=seed))
        while direct.agents:
            acts = {name: int(rng.integers(4)) for name in direct.agents}
            with monkeypatch.context() as patch:
                patch.setattr(type(direct.world), "_step_decoded", None)
                found = direct.step(acts)
            # Arrays of one number are decoded one by one.
            assert_same(found, decoded.step({name: np.array([act]) for name, act in acts.items()}))
            assert direct.world.last_steps() == decoded.world.last_steps()
            assert direct.agents == decoded.agents
            assert direct.digest() == decoded.digest()
            ended += 0 < len(direct.agents) < 3
    assert ended > 20


def assert_same(found: Any, other: Any) -> None:
    """Compare what resets or steps return."""
    for part, like in zip(found, other, strict=True):
        assert list(part) == list(like)
        np.testing.assert_equal(part, like)


def test_an_index_out_of_the_table_is_refused_after_others_have_ended() -> None:
    env = parallel_env("GridWorld", agents=3, width=3, height=3, max_steps=200, view="vector")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    while len(env.agents) == 3:
        env.step({name: int(rng.integers(4)) for name in env.agents})
    before = env.digest()
    for wrong in (env.world.num_actions, -1, -(1 << 31), 1 << 32):
        with pytest.raises(ActionError, match=f"action {wrong} of"):
            env.step(dict.fromkeys(env.agents, wrong))
        with pytest.raises(ActionError, match=f"action {wrong} of"):
            env.step({name: 0 if name != env.agents[-1] else wrong for name in env.agents})
    assert env.digest() == before


def test_who_enters_gets_the_reward_that_a_batch_gives() -> None:
    config: dict[str, Any] = {"agents": 2, "join_at": (0, 2), "start": "apart", "objects": 10}
    one = parallel_env("ObjectSearch", **config, view="vector")
    many = batch_env("ObjectSearch", num_envs=1, **config)
    stay, found = one.world.commands.index(one.world.noop), 0
    for seed in range(20):
        one.reset(seed=seed)
        many.reset(seed=seed)
        for _ in range(2):
            _, told, *_ = one.step(dict.fromkeys(one.agents, stay))
            _, rewards, *_ = many.step(np.full((1, 2), stay))
        assert [told["agent_0"], told["agent_1"]] == rewards[0].tolist()
        found += told["agent_1"] > 0
    assert found  # some see an object as they enter
    one.close()
    many.close()
