"""Rewards of training: small costs by one rule, and shaping that changes no best policy."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.errors import ConfigError

torch = pytest.importorskip("torch")

from piase_gym.training import ppo  # noqa: E402
from piase_gym.training.rewards import (  # noqa: E402
    COSTS,
    NO_FIELDS,
    SMALL,
    Shaping,
    training_config,
    usual_reward,
)
from piase_gym.worlds.grid_world.cells import FLOOR, KEY  # noqa: E402

GAMMA = 0.9


def test_small_costs_change_costs_alone() -> None:
    task = "piase/GridWorld-DoorKey-8x8-v1"
    own = piase_gym.batch_env(task, num_envs=1).world.config
    mild = piase_gym.batch_env(
        task, num_envs=1, **training_config(task, {"rewards": {"stay": -0.01}}, "small_costs")
    ).world.config
    assert own.changed({"rewards": mild.rewards}).model_dump() == mild.model_dump()
    table, before = mild.rewards.model_dump(), own.rewards.model_dump()
    assert table.pop("stay") == -0.01  # what is smaller already stays as it is
    changed = {name for name in table if table[name] != before[name]}
    assert changed == {"move", "blocked", "interact", "locked", "illegal", "heavy"}
    assert {table[name] for name in changed} == {SMALL}


@pytest.mark.parametrize("world", sorted(COSTS))
def test_every_named_cost_is_one_of_the_world(world: str) -> None:
    made = training_config(world, {}, "small_costs")["rewards"]
    assert {made[name] for name in COSTS[world]} <= {SMALL, -0.01, 0.0}
    assert training_config(world, {"agents": 1}, "own") == {"agents": 1}


def test_arguments_of_batches_are_no_fields_of_configs() -> None:
    known = inspect.signature(piase_gym.batch_env).parameters
    assert {*NO_FIELDS} == {*known} - {"name", "config"}
    told = training_config("GridWorld", {"dtype": "float32"}, "small_costs")
    env = piase_gym.batch_env("GridWorld", num_envs=1, **told)
    assert env.reset(seed=0)[0].dtype == np.float32


def test_a_policy_is_tested_on_the_task_as_it_is() -> None:
    config = {"width": 4, "height": 4, "max_steps": 12}
    small = ppo.Settings(num_envs=8, num_steps=8, training_reward="small_costs")
    trainer = ppo.Trainer("GridWorld", small, 0, **config)
    trainer.act()
    seen = {round(float(r) / small.reward_scale, 4) for r in trainer.rollout.rewards.ravel()}
    assert SMALL in seen
    assert not seen & {-0.1, -1.0, -0.05}
    assert trainer.env.world.config.rewards.goal == 10.0


def test_what_a_world_lacks_is_said() -> None:
    small: dict[str, Any] = {"num_envs": 2, "num_steps": 2}
    with pytest.raises(ConfigError, match="SocialDilemma is none"):
        ppo.Trainer("SocialDilemma", ppo.Settings(**small, training_reward="small_costs"), 0)
    with pytest.raises(ConfigError, match="ObjectSearch has none"):
        ppo.Trainer("ObjectSearch", ppo.Settings(**small, training_reward="shaped"), 0)
    with pytest.raises(ConfigError, match="'small_costs_shaped' needs a planner's distance"):
        ppo.Trainer("TextRoom", ppo.Settings(**small, training_reward="small_costs_shaped"), 0)


def test_references_have_small_costs_where_acting_costs_anything() -> None:
    assert (usual_reward("GridWorld"), usual_reward("SocialDilemma")) == ("small_costs", "own")


# -- shaping ------------------------------------------------------------------------------


def every_transition() -> tuple[Any, Any, Any, Any, Any]:
    """Walk through all states of a locked room; both rewards of every action in each.

    Returns:
        Rewards, shaped rewards, next states and ends (states, actions), and the potentials.
    """
    env = piase_gym.batch_env(
        "GridWorld", num_envs=1, layout="door_key", width=5, height=5, max_steps=10**6
    )  # fmt: skip
    env.reset(3)
    shaping = Shaping(env, GAMMA, 0.7)
    fields = ("x", "y", "heading", "carry", "alive", "cells")

    def key() -> bytes:
        return b"".join(env.batch.states[name][0].tobytes() for name in fields)

    numbers, queue = {key(): 0}, [env.snapshot()]
    rows: list[Any] = []
    potentials: list[float] = []
    for snapshot in queue:
        row = []
        for action in range(6):
            env.restore(snapshot)
            shaping.before = shaping.potentials(0.5)
            if not action:
                potentials.append(float(shaping.before[0, 0]))
            _, rewards, terminated, truncated, _ = env.step(np.array([[action]]))
            assert not truncated.any()
            paid, more = float(rewards[0, 0]), rewards.copy()
            shaping.add(more, terminated, truncated, 0.5)
            if not terminated.any() and key() not in numbers:
                numbers[key()] = len(numbers)
                queue.append(env.snapshot())
            to = 0 if terminated.any() else numbers[key()]
            row.append((paid, float(more[0, 0]), to, bool(terminated.any())))
        rows.append(row)
    table = (np.array([[cell[k] for cell in row] for row in rows])
                                for k in range(4))  # fmt: skip
    own, shaped, after, ends = table
    return own, shaped, after.astype(int), ends.astype(bool), np.array(potentials)


def values_of(rewards: Any, after: Any, ends: Any, gamma: float) -> Any:
    """Return the value of every action under the best policy, by value iteration."""
    values = np.zeros(rewards.shape)
    for _ in range(600):
        values = rewards + gamma * ~ends * values.max(1)[after]
    return values


def test_shaping_changes_no_best_policy() -> None:
    own, shaped, after, ends, potentials = every_transition()
    assert len(own) > 50
    assert ends.any()
    plain = values_of(own, after, ends, GAMMA)
    other = values_of(shaped, after, ends, GAMMA)
    # Ng, Harada and Russell 1999: every value differs by the potential, so no rank does
    np.testing.assert_allclose(other, plain - potentials[:, None], atol=1e-9)
    best = [np.flatnonzero(row > row.max() - 1e-9).tolist() for row in plain]
    assert best == [np.flatnonzero(row > row.max() - 1e-9).tolist() for row in other]
    assert np.ptp(shaped - own) > 0.1  # it does something
    # a weight of 0.7, half of which is left: these are the steps, for all that is known
    least = -values_of(np.full(own.shape, -1.0), after, ends, 1.0).max(1)
    steps = potentials / -0.35
    assert (steps <= least + 2 + 1e-9).all()  # a key and a door may be on the way
    assert (least < 600).all()
    assert np.corrcoef(steps, least)[0, 1] > 0.8
    assert np.allclose(steps[ends.any(1)], 1.0)


def shaped(*rows: str) -> tuple[Any, Shaping]:
    """Return a map, and its shaping by whole steps."""
    env = piase_gym.batch_env(
        "GridWorld", num_envs=1, layout="custom", map=list(rows), autoreset="next_step"
    )
    env.reset(0)
    return env, Shaping(env, GAMMA, 1.0)


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        (("@..", "...", "..G"), 4),
        (("@.~.G", "..#..", "....."), 8),  # round a wall and what is deadly
        (("@+.G", "####"), 3),
        (("G.....@G", "########"), 1),
        (("...@", "G###"), 4),  # no row goes on at the other side
        (("k@L.G", "#####"), 1 + 4 + 2),  # to the key, from there to the goal, and both are used
        (("k.@L.G", "....#."), 2 + 5 + 2),
    ],
)
def test_steps_that_are_left_are_those_of_the_shortest_way(
    rows: tuple[str, ...], steps: int
) -> None:
    _, shaping = shaped(*rows)
    assert shaping.before.tolist() == [[-steps]]
    assert shaping.potentials(0.25).tolist() == [[-steps / 4]]


def test_who_has_the_key_has_a_door_before_it_and_who_is_out_has_nothing_left() -> None:
    env, shaping = shaped("k@L.G", "#####")
    states = env.batch.states
    states["cells"][states["cells"] == KEY] = FLOOR
    assert shaping.potentials(1.0).tolist() == [[0.0]]  # the key is nowhere
    states["carry"][:, 0] = KEY
    assert shaping.potentials(1.0).tolist() == [[-4.0]]
    states["alive"][:, 0] = False
    assert shaping.potentials(1.0).tolist() == [[0.0]]
    assert shaping.potentials(1.0, np.ones((1, 1), np.bool_)).tolist() == [[-4.0]]


def test_where_a_limit_cuts_off_the_potential_is_that_of_the_place() -> None:
    env = piase_gym.batch_env(
        "GridWorld", num_envs=4, agents=2, width=8, height=8, max_steps=5, autoreset="next_step"
    )
    env.reset(3)
    shaping, gains = Shaping(env, GAMMA, 0.1), np.zeros((4, 2))
    first = shaping.before
    for t in range(5):
        standing = np.full((4, 2), 4)
        _, rewards, terminated, truncated, _ = env.step(standing)
        more = rewards.copy()
        shaping.add(more, terminated, truncated, 1.0)
        gains += GAMMA**t * (more - rewards)
    assert truncated.all()
    assert (first < 0).all()
    # the sum telescopes: nobody moved, and nothing is given for being cut off far from the goal
    np.testing.assert_allclose(gains, (GAMMA**5 - 1) * first, atol=1e-12)


def test_the_weight_falls_to_nothing() -> None:
    config = {"width": 5, "height": 5, "max_steps": 9}
    small = ppo.Settings(
        num_envs=16, num_steps=8, total_steps=1024, training_reward="shaped", shaping_until=0.5,
        reward_scale=1.0, minibatch=64, width=8,
    )  # fmt: skip
    trainer = ppo.Trainer("GridWorld", small, 0, **config)
    trainer.act()
    own = {10.0, -0.1, -1.0, -0.05, -0.1}

    def strange() -> int:
        rollout = trainer.rollout
        kept = rollout.rewards[rollout.alive & ~rollout.dones.bool()]
        return sum(round(float(reward), 4) not in own for reward in kept)

    assert strange() > 10
    trainer.steps = 600
    trainer.act()  # its first step still takes back what the last one promised
    trainer.act()
    assert strange() == 0


def test_shaping_comes_on_top_of_small_costs() -> None:
    small = {"num_envs": 8, "num_steps": 16, "minibatch": 64, "width": 8, "reward_scale": 1.0}
    config: dict[str, Any] = {"width": 6, "height": 6, "max_steps": 40}
    seen = {}
    for kind in ("small_costs", "small_costs_shaped", "shaped"):
        settings = ppo.Settings(**small, training_reward=kind, shaping=0.5)
        trainer = ppo.Trainer("GridWorld", settings, 0, **config)
        paid: list[np.ndarray[Any, Any]] = []
        step = trainer.env.step

        def note(acts: Any, step: Any = step, paid: Any = paid) -> Any:
            found = step(acts)
            paid.append(found[1].copy())
            return found

        trainer.env.step = note
        trainer.act()
        own, got = np.array(paid).reshape(16, -1), trainer.rollout.rewards.numpy()
        seen[kind] = {round(float(x), 6) for x in np.unique(own)}, np.abs(got - own)
    costs = {name: found for name, (found, _) in seen.items()}
    assert costs["small_costs"] | costs["small_costs_shaped"] <= {-0.02, 0.0, 10.0}
    assert -0.1 in costs["shaped"]
    assert seen["small_costs"][1].max() < 1e-6
    more = seen["small_costs_shaped"][1]  # half a point for each step nearer, less gamma
    assert 0.4 < more[more > 0.3].min() <= more.max() < 5.0


def test_prosocial_rewards_are_the_mean_of_everybodys() -> None:
    small = {"num_envs": 16, "num_steps": 6, "minibatch": 64, "width": 8}
    task, seen = "piase/SocialDilemma-PrisonersDilemma-v1", {}
    for kind in ("own", "prosocial"):
        trainer = ppo.Trainer(task, ppo.Settings(**small, training_reward=kind), 0)
        trainer.act()
        seen[kind] = trainer.rollout.rewards.unflatten(1, (16, 2))
        seen[f"{kind} actions"] = trainer.rollout.actions
    assert torch.equal(seen["own actions"], seen["prosocial actions"])
    assert not torch.equal(seen["own"][..., 0], seen["own"][..., 1])
    mean = seen["own"].mean(-1, keepdim=True).expand(-1, -1, 2)
    torch.testing.assert_close(seen["prosocial"], mean)


def test_own_costs_come_back_in_the_second_half() -> None:
    task = "piase/GridWorld-DoorKey-6x6-v1"
    small = {"num_envs": 8, "num_steps": 16, "minibatch": 64, "width": 8, "total_steps": 1280}
    settings = ppo.Settings(**small, training_reward="own_costs_later", gamma=0.0)
    trainer = ppo.Trainer(task, settings, 0, max_steps=16)
    lowest: list[float] = []

    def note(rollout: Any) -> None:
        lowest.append(float(rollout.rewards.min()) / trainer.settings.reward_scale)

    trainer.after_rollout = note
    trainer.train()
    assert len(lowest) == 10
    assert min(lowest[:5]) == pytest.approx(SMALL)
    assert max(lowest[6:]) <= -0.9
    own = piase_gym.batch_env(task, num_envs=1, max_steps=16).configs[0]
    assert trainer.env.config_of(0).rewards == own.rewards
