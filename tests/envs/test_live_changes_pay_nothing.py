"""What a live change itself moves is paid to nobody, in any world, by the rules or by a script."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pybullet")


import piase_gym
from piase_gym import runs
from piase_gym.wrappers import AvtLogger
from tests.envs.test_live import WORLDS, another, field_cases, walk
from tests.helpers.needs import need

PRICES = "rewards shared_reward payoffs multiplier benefit cost apple zap_cost noise".split()
"""Fields that say what something is worth, or let agents do something else."""


def waits(env: Any) -> dict[str, Any]:
    """Return the command of everybody in play that does nothing."""
    return dict.fromkeys(env.agents, env.unwrapped.world.noop)


@pytest.mark.parametrize(
    ("name", "field"), [case for case in field_cases() if case[1] not in PRICES]
)
def test_who_does_nothing_is_paid_what_it_would_have_been_paid_without_the_change(
    name: str, field: str
) -> None:
    world, config, _, _ = WORLDS[name]
    need(world)
    live, dice = piase_gym.parallel_env(world, **config), np.random.default_rng(0)
    live.reset(seed=3)
    walk(live, dice, 2)
    other = piase_gym.parallel_env(world, **config)
    other.reset(seed=3)
    other.restore(live.snapshot())
    value = another(live.config, field)
    if value is None:
        pytest.skip("this config has no use for the field")
    live.modify({field: value})
    for _ in range(2):
        if live.agents:
            assert live.step(waits(live))[1] == other.step(waits(other))[1]
    live.close()
    other.close()


def crates(**more: Any) -> Any:
    """Return a yard with a crate in the zone, one beside it, and one further away."""
    need("PhysicsPlayground")
    places = ((0.0, 1.0), (1.0, 1.0), (2.5, -1.0))
    things = [{"kind": "box", "position": place} for place in places]
    config = {"task": "push", "objects": things, "goal_pos": (0.0, 1.0), "zone": 0.5}
    return piase_gym.parallel_env("PhysicsPlayground", **config, **more)


@pytest.mark.parametrize(("zone", "placed"), [(1.6, 2), (0.2, 1), (3.0, 2)])
def test_a_zone_that_grows_or_shrinks_pays_nobody(zone: float, placed: int) -> None:
    env = crates()
    env.reset(seed=0)
    step = env.config.rewards.step
    assert env.step(waits(env))[1]["agent_0"] == pytest.approx(step, abs=1e-3)
    assert env.world.play.placed == 1
    env.modify({"zone": zone})
    assert env.world.play.placed == placed  # which everybody is told at once
    for _ in range(2):
        assert env.step(waits(env))[1]["agent_0"] == pytest.approx(step, abs=1e-3)
    env.close()


def test_a_task_that_a_live_change_completes_is_won_and_nothing_but_that_is_paid() -> None:
    env = crates()
    env.reset(seed=0)
    env.step(waits(env))
    env.modify({"zone": 4.9})
    _, rewards, ended, _, _ = env.step(waits(env))
    worth = env.config.rewards
    assert (ended["agent_0"], env.world.play.status) == (True, ["won"])
    assert rewards["agent_0"] == pytest.approx(worth.done + worth.step, abs=1e-3)
    env.close()


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({"reward_mode": "order_aware"}, None),  # asked again, it would be worth more
        ({"answer": "submitted"}, "submit"),  # submitted, it would be paid again
    ],
)
def test_what_an_answer_is_worth_waits_for_the_next_episode(
    changes: dict[str, Any], last: str | None
) -> None:
    config = {"task": 0, "kinds": ("list",), "reward_mode": "original", "answer": "best"}
    env = piase_gym.parallel_env("SqlQuery", actions="text", **config)
    env.reset(seed=0)
    turned = f"SELECT * FROM ({env.world.setting.task.gold}) ORDER BY 1 DESC LIMIT 3"
    paid = env.step({"agent_0": turned})[1]["agent_0"] - env.config.rewards.step
    assert 0.0 < paid < 1.0
    found = env.modify(changes)
    assert (found.now, found.waiting) == ({}, changes)
    assert env.step({"agent_0": last or turned})[1] == {"agent_0": env.config.rewards.step}
    env.close()


def test_what_a_script_shapes_by_is_measured_from_where_the_change_has_left_it() -> None:
    shaping = [{"fact": "to_go", "weight": -1.0}, {"fact": "placed", "weight": 5.0}]
    env = crates(scenario={"shaping": shaping})
    env.reset(seed=0)
    quiet = env.config.rewards.step
    for _ in range(2):
        env.step(waits(env))
    for zone in (1.6, 0.2, 3.0):
        env.modify({"zone": zone})
        assert env.step(waits(env))[1]["agent_0"] == pytest.approx(quiet, abs=1e-3)
    env.close()


def vault() -> dict[str, Any]:
    """Return a scenario with a flag, a count, a setting that changes, and shaping."""
    return {
        "initial_state": {
            "agents": 2,
            "width": 6,
            "height": 6,
            "start_pos": [[1, 1], [1, 4]],
            "random_goals": 1,
            "movers": 2,
            "mover_period": 2,
            "max_steps": 12,
            "agent_setup": [{"agent_id": "agent_0"}, {"agent_id": "agent_1"}],
        },
        "shaping": {"fact": "distance", "of": [5, 5], "weight": -0.5},
        "events": [
            {
                "trigger": {"type": "step_reached", "step": 2},
                "response": [
                    {"type": "set_flag", "flag_name": "open", "agent_id": "all"},
                    {"type": "change_setting", "setting": "mover_period", "value": 1},
                ],
            },
            {
                "when": {"all": [{"flag": "open"}, {"fact": "return", "at_most": -0.4}]},
                "times": "every",
                "response": [
                    {"type": "reward", "amount": 3.0},
                    {"type": "add_metric", "metric": "late", "amount": 1.0},
                    {"type": "message_to_agent", "content": "It is late."},
                ],
            },
        ],
        "lose_conditions": [{"fact": "step", "at_least": 9}],
    }


@pytest.mark.parametrize("ending", ["jsonl", "arrow"])
@pytest.mark.parametrize("changes", [{"hazard_ends": False}, {"mover_period": 5}])
def test_scripts_in_a_batch_go_on_through_a_live_change_as_in_single_environments(
    changes: dict[str, Any], ending: str, tmp_path: Path
) -> None:
    path, dice = tmp_path / f"run.{ending}", np.random.default_rng(1)
    inner = piase_gym.batch_env("GridWorld", num_envs=3, scenario=vault())
    batch = AvtLogger(inner, path)
    single = piase_gym.parallel_env("GridWorld", scenario=vault())
    batch.reset(seed=4)
    single.reset(seed=5)  # as slot 1 is
    for step in range(20):
        acts = dice.integers(5, size=(3, 2))
        if step == 4:
            found = batch.modify(changes, [1, 2])
            assert found.now == single.modify(changes).now == changes
        told = batch.step(acts)
        if not single.agents:
            single.reset()
            assert single.runner.seed == inner.seeds()[1]
            continue
        own = single.step({name: int(acts[1, i]) for i, name in enumerate(single.agents)})
        assert [*own[1].values()] == told[1][1].tolist()
        assert [*own[2].values()] == told[2][1].tolist()
        assert single.config == inner.config_of(1)
        assert single.digest() == inner.digest(1)
    batch.close()
    assert runs.replay(path).verdict == "sound", str(runs.replay(path))


def test_a_live_change_holds_against_a_script_and_the_rest_of_it_ends_with_the_episode() -> None:
    env = piase_gym.parallel_env("GridWorld", scenario=vault())
    env.reset(seed=0)
    for _ in range(2):
        env.step(waits(env))
    assert env.config.mover_period == 1  # by the script
    env.modify({"hazard_ends": False})
    assert env.config.mover_period == 1
    env.modify({"mover_chance": 0.25, "hazards": 1})
    snapshot = copy.deepcopy(env.snapshot())
    env.reset(seed=0)
    assert (env.config.mover_period, env.config.hazards) == (2, 1)
    assert (env.config.hazard_ends, env.config.mover_chance) == (False, 0.25)
    env.restore(snapshot)
    assert env.config.mover_period == 1
    env.modify({"mover_period": 4})
    assert env.config.mover_period == 4
    env.reset(seed=0)
    assert env.config.mover_period == 4
