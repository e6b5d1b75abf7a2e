"""What a curriculum asks of logs: attempts, targets, slots, manifests; live and from the file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs, scenarios
from piase_gym.wrappers import AvtLogger
from tests.helpers.piaavt import lines
from tests.helpers.run_worlds import grid

RIGHT, STAY = 3, 4
ATTEMPT = "DSE_STEP_ATTEMPT_START"


def corridor(**config: Any) -> Any:
    """A corridor of four cells; the goal is at its end."""
    fields = {"width": 4, "height": 2, "start_pos": (0, 0), "goal_pos": (3, 0), "max_steps": 6}
    return grid(agents=1, **{**fields, **config})


def walk(env: Any, way: list[int]) -> None:
    """Play one episode, standing still at its end."""
    env.reset(seed=0)
    plan = iter(way)
    while env.agents:
        env.step(dict.fromkeys(env.agents, next(plan, STAY)))


@pytest.mark.parametrize("level", ["actions", "full"])
def test_reached_goal_is_of_the_attempt_at_that_step(level: str, tmp_path: Path) -> None:
    path, inner = tmp_path / "run.jsonl", corridor()
    live, found = runs.Metrics(inner), []
    env = AvtLogger(inner, path, level=level)
    for order, target, way in (
        (1, [2, 0], [RIGHT]),  # not far enough
        (1, [2, 0], [RIGHT, RIGHT, 1, 1]),  # was there, and went on
        (2, [1, 0], [STAY]),
        (2, None, [RIGHT, RIGHT]),  # without a target the world's goal counts
        (2, None, [RIGHT, RIGHT, RIGHT]),
    ):
        runs.log(env, ATTEMPT, {"order": order, "target_coords": target}, "agent_0")
        assert live.get_performance_metric("agent_0", "success_rate") is None
        walk(env, way)
        names = ("reached_goal_1", "reached_goal_2", "reached_goal_3")
        found.append([live.get_performance_metric("agent_0", name) for name in names])
    env.close()
    assert found == [
        [False, False, False],
        [True, False, False],
        [False, False, False],
        [False, False, False],
        [False, True, False],
    ]
    file = runs.Metrics(path)
    for window in (None, {"attempts": 3}, {"attempts": 9}, {"episodes": 4}, {"env_steps": 3}):
        for name in file.names():
            one = file.get_performance_metric("agent_0", name, window)
            assert one == live.get_performance_metric("agent_0", name, window), (name, window)
    assert file.get_performance_metric("agent_0", "reached_goal_1", {"attempts": 3}) is False
    assert file.get_performance_metric("agent_0", "reached_goal_1", {"attempts": 4}) is True
    assert {"reached_goal_1", "reached_goal_2"} <= set(file.names())
    assert runs.replay(path).ok
    assert runs.validate(path).ok


def test_reached_goal_has_no_value_before_the_first_attempt() -> None:
    env = corridor()
    metrics = runs.Metrics(env)
    walk(env, [RIGHT])
    assert metrics.get_performance_metric("agent_0", "reached_goal_1") is None


@pytest.mark.parametrize("room", ["study", "hall"])
def test_rooms_are_targets_too(room: str) -> None:
    env = piase_gym.parallel_env("TextRoom", scenario="lost_key", actions="text")
    metrics = runs.Metrics(env)
    agent = env.possible_agents[0]
    runs.log(env, ATTEMPT, {"order": 1, "target_coords": room}, agent)
    env.reset(seed=0)
    env.step({agent: "look"})
    assert env.unwrapped.world.position(0) == "study"
    assert metrics.get_performance_metric(agent, "reached_goal_1") is (room == "study")


def test_points_in_space_are_targets_too() -> None:
    from piase_gym.runs.targets import NEAR, Targets

    class World:
        agents = ("drone_0",)

        def position(self, agent: int) -> list[float]:
            return [1.0, 2.0, 0.25]

    for target, near in (([1.0, 2.0 + NEAR], True), ([1, 2.6, 0], False), ("roof", False)):
        targets = Targets()
        targets.hear(ATTEMPT, "drone_0", {"target_coords": target})
        assert targets.reached(World(), [0]) == ["drone_0"] * near  # type: ignore[arg-type]
        assert targets.reached(World(), [0]) == []  # type: ignore[arg-type]


def test_the_slots_of_a_batch_have_attempts_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    config: dict[str, Any] = {"width": 4, "height": 2, "start_pos": (0, 0), "goal_pos": (3, 0)}
    inner = piase_gym.batch_env("GridWorld", num_envs=3, max_steps=4, **config)
    live, env = runs.Metrics(inner), AvtLogger(inner, path)
    targets = {0: (1, [2, 0]), 1: (2, [1, 0]), 2: (2, None)}
    for slot, (order, target) in targets.items():
        data = {"order": order, "target_coords": target, "slot": slot}
        runs.log(env, ATTEMPT, data, "agent_0")
    env.reset(seed=0)
    for actions in ([RIGHT, STAY, RIGHT], [RIGHT, STAY, RIGHT], [STAY, STAY, RIGHT], [STAY] * 3):
        env.step(np.array(actions)[:, None])
    env.close()
    for metrics in (live, runs.Metrics(path)):
        get = metrics.get_performance_metric
        assert get("agent_0", "attempts") == 3
        values = [get("agent_0", f"reached_goal_{n}", slot=s) for s in range(3) for n in (1, 2)]
        assert values == [True, False, False, False, False, True]
        rates = [get("agent_0", "success_rate", slot=slot) for slot in range(3)]
        assert rates == [0.0, 0.0, 1.0]
        assert get("agent_0", "success_rate", {"episodes": 3}) == pytest.approx(1 / 3)
        assert get("agent_0", "success_rate") == 1.0  # the last attempt is that of slot 2
        assert metrics.check_event_occurred("agent_0", {"name": "goal_reached"}, slot=2)
        assert not metrics.check_event_occurred("agent_0", {"name": "goal_reached"}, slot=1)
    assert runs.replay(path).ok


def test_the_manifest_names_curricula_and_scenario(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    env = AvtLogger(piase_gym.parallel_env("TextRoom", scenario="lost_key"), first)
    agent = env.possible_agents[0]
    runs.declare_curriculum(env, agent, "stages", "1.0", "ab" * 32, steps=3)
    AvtLogger(env, second).close()
    content = scenarios.load("lost_key").head.model_dump(mode="json")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    scenario = {"name": "lost_key", "sha256": hashlib.sha256(text.encode()).hexdigest()}
    assert runs.read(first).manifest["scenario"] == scenario
    assert runs.read(first).manifest["curricula"] == {}
    assert runs.read(second).manifest["scenario"] == scenario
    entry = {"name": "stages", "version": "1.0", "sha256": "ab" * 32}
    assert runs.read(second).manifest["curricula"] == {agent: entry}
    (line,) = [e for e in lines(first) if e["event_type"] == "DSE_AGENT_CURRICULUM_START"]
    assert (line["agent_id"], line["event_data"]) == (agent, {**entry, "steps": 3})
    assert line["source_component_id"] == "PiaSE.DSE"
