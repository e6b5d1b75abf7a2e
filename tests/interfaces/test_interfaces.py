"""The document interfaces: their names, the reference project's grid, and who waits for whom."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import interfaces
from piase_gym.core.commands import Command
from piase_gym.core.models import ActionCommand, PerceptionData
from piase_gym.envs.single import GymEnv
from piase_gym.errors import ConfigError
from piase_gym.interfaces import (
    AbstractEnvironment,
    BaseEnv,
    Environment,
    EnvironmentInterface,
    PerceptionInterface,
)
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grids.moves import FIRST_NAMES
from tests.interfaces.document_interfaces import CORNERS, REFERENCE, STAY, move

# -- the names of the seeds ------------------------------------------------------------------------

# As the papers print them: method -> parameters without `self`.
SEEDS: dict[type[Any], dict[str, list[str]]] = {
    Environment: {
        "reset": [],
        "step": ["agent_id", "action"],
        "get_observation": ["agent_id"],
        "get_state": [],
        "is_done": ["agent_id"],
        "get_action_space": ["agent_id"],
        "get_environment_info": [],
    },
    AbstractEnvironment: {
        "load_configuration": ["config_data"],
        "step": ["current_time_step"],
        "get_current_state_snapshot": ["scope"],
        "reset_environment": ["scenario_config"],
        "get_perceptual_data_for_agent": ["agent_id"],
        "apply_action_from_agent": ["agent_id", "action_command"],
        "get_environment_info": [],
    },
    EnvironmentInterface: {
        "get_environment_info": [],
        "get_perceptions": ["agent_id"],
        "submit_action": ["agent_id", "action_command"],
        "subscribe_to_event": ["agent_id", "event_type", "callback_url"],
        "query_environment_state": ["agent_id", "query"],
    },
    PerceptionInterface: {
        "get_visible_objects": ["agent_id", "position"],
        "get_agent_state": ["agent_id"],
        "execute_action": ["agent_id", "action", "params"],
        "get_environment_info": [],
        "send_message": ["sender", "recipient", "message"],
        "poll_messages": ["agent_id"],
    },
    BaseEnv: {
        "reset": [],
        "step": ["action"],
        "get_action_space": [],
        "get_available_actions": ["info"],
    },
}


@pytest.mark.parametrize(
    ("interface", "method"),
    [(interface, method) for interface, methods in SEEDS.items() for method in methods],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_methods_and_parameters_are_named_as_in_the_seeds(
    interface: type[Any], method: str
) -> None:
    given = list(inspect.signature(getattr(interface, method)).parameters.values())[1:]
    wanted = SEEDS[interface][method]
    assert [parameter.name for parameter in given][: len(wanted)] == wanted
    assert all(p.default is not inspect.Parameter.empty for p in given[len(wanted) :])


def test_interfaces_are_imported_when_they_are_asked_for() -> None:
    code = (
        "import sys, piase_gym.interfaces; "
        "print([m for m in sys.modules if m.startswith('piase_gym.interfaces.')]); "
        "print([n for n in piase_gym.interfaces.__all__ if not hasattr(piase_gym.interfaces, n)]); "
        "names = set(piase_gym.interfaces.__all__) - set(dir(piase_gym.interfaces)); "
        "print('numba' in sys.modules, names)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["[]", "[]", "False set()"]
    with pytest.raises(AttributeError):
        _ = interfaces.Facade  # type: ignore[attr-defined]


# -- the reference project's grid, through each environment
# -----------------------------------------------

# (command, position after it, reward, status): straight from the words.
WALK = [
    ("right", [1, 0], -0.1, "success"),
    ("up", [1, 0], -1.0, "failure"),
    ("down", [1, 1], -0.1, "success"),
    ("down", [1, 2], -0.1, "success"),
    ("right", [1, 2], -1.0, "failure"),
    ("stay", [1, 2], -0.05, "success"),
    ("left", [0, 2], -0.1, "success"),
    ("left", [0, 2], -1.0, "failure"),
]


def test_environment_plays_the_reference_grid() -> None:
    env = Environment("GridWorld", **REFERENCE)
    first = env.reset(seed=0)
    assert isinstance(first, PerceptionData)
    assert first.timestamp == 0.0
    assert first.raw_observations["position"] == [0, 0]
    assert first.last_action_result is None
    for time, (word, position, reward, status) in enumerate(WALK, start=1):
        result = env.step("agent_0", STAY if word == "stay" else move(word))
        assert (result.status, result.rewards_obtained) == (status, {"reward": reward})
        assert result.timestamp == time
        assert (result.error_details is None) == (status == "success")
        seen = result.new_perception_snippet
        assert seen is not None
        assert seen.timestamp == time
        assert seen.raw_observations["position"] == position
        assert seen.last_action_result is not None
        assert seen.last_action_result["status"] == status
        line, _, text = seen.visible_text.partition("\n")
        outcome = "ok" if status == "success" else "failed"
        command = "stay" if word == "stay" else f"move {FIRST_NAMES[word]}"
        assert line.startswith(f"Last step: {command}; {outcome}; reward {reward:g}.")
        assert text == env.world.text(env.facts("agent_0"))
        assert np.array_equal(seen.sensor_data["vector"], env.world.vectors()[0])
        assert env.is_done("agent_0") is False
    assert "position" not in (result.state_changes_summary or {})


def test_the_goal_ends_the_episode_through_every_interface() -> None:
    start = {**REFERENCE, "start_pos": (8, 7)}
    one, two = Environment("GridWorld", **start), AbstractEnvironment("GridWorld", **start)
    three, four = (
        EnvironmentInterface("GridWorld", **start),
        PerceptionInterface("GridWorld", **start),
    )
    one.reset()
    two.reset_environment()
    three.reset()
    four.reset()
    found: list[Any] = [
        one.step("agent_0", move("right")).model_dump(),
        two.apply_action_from_agent("agent_0", move("right")).model_dump(),
        three.submit_action(
            "agent_0", {"action_type": "move", "parameters": {"direction": "right"}}
        ),
        four.execute_action("agent_0", "move", {"direction": "right"})["last_action_result"],
    ]
    for result in found:
        assert result["status"] == "success"
        assert result["rewards_obtained"] == {"reward": 10.0}
        assert result["details"]["result"] == "won"
        assert result["details"]["milestones"] == ["goal_reached"]
        assert result["state_changes_summary"]["position"] == [9, 7]
    assert one.is_done("agent_0")
    assert two.get_current_state_snapshot("time")["is_over"]
    assert three.query_environment_state("agent_0", {"keys": ["agent_specific_data"]}) == {
        "agent_specific_data": {"in_play": False, "done": True}
    }
    assert four.get_agent_state("agent_0")["done"]
    assert (one.agents, one.possible_agents) == ([], ["agent_0"])


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ({"action_type": "fly"}, "invalid_action"),
        ({"action_type": "move"}, "invalid_action"),
        ({"action_type": "move", "parameters": {"direction": "aside"}}, "invalid_action"),
        ({"action_type": "move", "parameters": {"direction": 3}}, "invalid_action"),
        ({"action_type": "stay", "parameters": {"long": True}}, "invalid_action"),
        ({"action_type": "interact"}, "invalid_action"),  # known, but masked here
        ({"action_type": "walk", "parameters": {"direction": "down"}}, "success"),  # a synonym
    ],
)
def test_what_the_world_cannot_do_costs_a_step(command: dict[str, Any], status: str) -> None:
    one, two = Environment("GridWorld", **REFERENCE), EnvironmentInterface("GridWorld", **REFERENCE)
    one.reset(seed=0)
    two.reset(seed=0)
    first, second = one.step("agent_0", command), two.submit_action("agent_0", command)
    assert first.status == second["status"] == status
    assert (one.time_step, two.time_step) == (1, 1)
    assert one.digest() == two.digest()
    if status == "invalid_action":
        assert first.error_details
        assert first.error_details == second["error_details"]


# -- buffering -------------------------------------------------------------------------------------


def test_commands_wait_for_the_last_live_agent() -> None:
    env = Environment("GridWorld", agents=3, width=6, start_pos=[(0, 0), (2, 2), (4, 4)])
    env.reset(seed=1)
    before = env.digest()
    first = env.step("agent_2", move("down"))
    assert (first.status, first.new_perception_snippet) == ("in_progress", None)
    assert first.details["waiting_for"] == ["agent_0", "agent_1"]
    assert env.get_observation("agent_2").last_action_result == {
        "status": "in_progress",
        "timestamp": 0.0,
        "message": "Waiting for agent_0, agent_1.",
        "details": {"waiting_for": ["agent_0", "agent_1"]},
    }
    assert env.get_observation("agent_0").last_action_result is None
    again = env.step("agent_2", move("up"))
    assert (again.status, again.details["replaced"]) == ("in_progress", True)
    assert env.step("agent_0", STAY).status == "in_progress"
    assert env.digest() == before
    assert env.step("agent_1", STAY).status == "success"
    moved = env.get_observation("agent_2")
    assert moved.raw_observations["position"] == [4, 3]  # the second command, not the first
    assert moved.last_action_result is not None
    assert moved.last_action_result["state_changes_summary"] == {
        "position": [4, 3],
        "rotation": "up",
    }


def test_priority_then_order_settles_who_gets_the_cell() -> None:
    config: dict[str, Any] = {
        "agents": 2,
        "width": 5,
        "start_pos": [(1, 2), (3, 2)],
        "goal_pos": (0, 0),
    }
    env = Environment("GridWorld", **config)
    for first, second, winner in ((None, None, 0), (0.0, 0.5, 1), (-1.0, None, 1), (2.0, 1.0, 0)):
        env.reset(seed=0)
        env.step("agent_1", move("left", execution_priority=second))
        env.step("agent_0", move("right", execution_priority=first))
        results = [env.get_observation(name).last_action_result for name in env.agents]
        statuses = [result["status"] for result in results if result]
        assert statuses == (["success", "failure"] if winner == 0 else ["failure", "success"])


def test_a_priority_holds_for_one_tick() -> None:
    env = Environment("TextProbe", agents=2)
    env.reset(seed=0)
    env.step("agent_0", ActionCommand(action_type="wait"))
    env.step("agent_1", ActionCommand(action_type="wait", execution_priority=9.0))
    assert env.get_state()["house"]["order"] == [1, 0]
    for name in env.agents:
        env.step(name, ActionCommand(action_type="wait"))
    assert env.get_state()["house"]["order"] == [0, 1]


def test_step_closes_a_tick_with_no_ops_and_only_once() -> None:
    env = AbstractEnvironment("GridWorld", **CORNERS)
    assert env.reset_environment({"seed": 3}) is True
    env.apply_action_from_agent("agent_1", move("up"))
    env.step(0)
    assert env.time_step == 1
    seen = [env.get_perceptual_data_for_agent(name) for name in env.agents]
    assert [p.raw_observations["position"] for p in seen] == [[0, 0], [3, 2]]
    assert seen[0].last_action_result is not None
    assert seen[0].last_action_result["rewards_obtained"] == {"reward": -0.05}
    digest = env.digest()
    env.step(0)
    assert env.digest() == digest
    for name in env.agents:
        env.apply_action_from_agent(name, STAY)
    digest = env.digest()
    env.step(1)  # has happened: both have acted
    assert env.digest() == digest
    env.step(np.int64(2))  # type: ignore[arg-type]
    assert env.time_step == 3


def test_an_agent_that_has_ended_no_longer_holds_up_the_others() -> None:
    env = Environment("GridWorld", **CORNERS)
    env.reset(seed=0)
    env.step("agent_1", STAY)
    assert env.step("agent_0", move("right")).details["result"] == "won"
    last = env.get_observation("agent_0")
    assert env.agents == ["agent_1"]
    for _ in range(3):
        assert env.step("agent_1", move("left")).status != "in_progress"
    late = env.get_observation("agent_0")
    assert late.visible_text == last.visible_text
    assert np.array_equal(late.sensor_data["vector"], last.sensor_data["vector"])
    assert late.last_action_result == last.last_action_result
    assert late.agent_specific_data == {"in_play": False, "done": True}
    assert [env.is_done(name) for name in env.possible_agents] == [True, False]


def test_late_joiners_wait_and_are_waited_for() -> None:
    env = Environment("TextProbe", agents=2, join_at=(0, 2))
    env.reset(seed=1)
    early = env.get_observation("agent_1")
    assert (early.visible_text, early.sensor_data) == (None, {})
    assert early.agent_specific_data == {"in_play": False, "done": False}
    wait = ActionCommand(action_type="wait")
    assert env.step("agent_0", wait).status == "success"
    assert env.step("agent_0", wait).status == "success"
    assert env.agents == ["agent_0", "agent_1"]
    assert env.step("agent_0", wait).status == "in_progress"
    assert env.step("agent_1", wait).status == "success"
    assert env.get_observation("agent_1").visible_text


def test_the_first_of_the_callers_agents_may_come_late() -> None:
    env = Environment("TextProbe", agents=2, join_at=(3, 0), partners={"agent_1": "noop"})
    first = env.reset(seed=1)
    assert (first.timestamp, env.agents) == (3.0, ["agent_0"])
    assert env.step("agent_0", ActionCommand(action_type="look")).status == "success"


def test_partners_play_their_seats() -> None:
    env = Environment("GridWorld", agents=3, partners={"agent_1": "random", "agent_2": "noop"})
    env.reset(seed=5)
    assert env.possible_agents == ["agent_0"]
    assert env.step("agent_0", STAY).status == "success"


def test_a_world_is_a_name_an_id_or_a_config() -> None:
    config = GridWorldConfig(agents=2, layout="door_key", width=6, height=6)
    fields = config.model_dump(exclude_unset=True)
    digests = set()
    for interface in SEEDS:
        for env in (
            interface("GridWorld", **fields),
            interface(config),
            interface(config, max_steps=9),
        ):
            start: Any = getattr(env, "reset_environment", env.reset)
            start(seed=3)
            digests.add(env.digest())
            env.close()
        assert interface("piase/GridWorld-DoorKey-6x6-v1", agents=3).world.config.agents == 3
    assert len(digests) == 1


def test_two_interfaces_can_share_one_episode() -> None:
    env = AbstractEnvironment("TextProbe", agents=2)
    talk = EnvironmentInterface(env)
    explore = PerceptionInterface(env)
    env.reset_environment(seed=2)
    assert talk.submit_action("agent_0", {"action_type": "wait"})["status"] == "in_progress"
    assert explore.execute_action("agent_1", "wait")["status"] == "success"
    assert env.time_step == talk.time_step == explore.time_step == 1
    with pytest.raises(ConfigError, match="agents cannot be set"):
        EnvironmentInterface(env, agents=3)


BUMPS: list[tuple[str, dict[str, Any], str, str]] = [
    ("GridWorld", {"start_pos": (0, 0)}, "move up", "The edge of the grid is in the way."),
    ("GridWorld", {"start_pos": (0, 0), "walls": [(1, 0)]}, "move right",
     "The wall is in the way."),
    ("GridWorld", {"start_pos": (0, 0), "walls": [(1, 0)], "observe": "grid"}, "move right",
     "The wall is in the way."),
    ("GridWorld", {"start_pos": ((0, 0), (1, 0)), "agents": 2}, "move right",
     "agent_1 is in the way."),
    ("SocialDilemma", {"game": "harvest", "agents": 2}, "zap", "Nobody stands where the zap"),
]  # fmt: skip


@pytest.mark.parametrize(("world", "config", "line", "told"), BUMPS)
def test_who_bumps_is_told_into_what(
    world: str, config: dict[str, Any], line: str, told: str
) -> None:
    partners = {"agent_1": "noop"} if config.get("agents") == 2 else None
    engine = EnvironmentInterface(world, partners=partners, **config)
    engine.reset(seed=0)
    verb, _, where = line.partition(" ")
    given = {"action_type": verb, "parameters": {"direction": where} if where else {}}
    result = engine.submit_action("agent_0", given)
    assert (result["status"], told in result["message"]) == ("failure", True), result
    for name, space in (("parallel", piase_gym.parallel_env), ("single", GymEnv)):
        env = space(world, partners=partners, actions="text", **config)
        env.reset(seed=0)
        infos = env.step({"agent_0": line} if name == "parallel" else line)[-1]
        info = infos["agent_0"] if name == "parallel" else infos
        assert (info["outcome"], told in info["feedback"]) == ("failed", True)


@pytest.mark.parametrize("view", ["both", "text", "vector"])
@pytest.mark.parametrize("partners", [None, {"agent_1": "noop"}])
@pytest.mark.parametrize("way", ["index", "command"])
def test_who_gets_no_texts_is_told_what_is_in_the_way_of_commands_only(
    view: str, partners: dict[str, str] | None, way: str
) -> None:
    act: Any = 0 if way == "index" else Command("move", {"direction": "up"})
    config: dict[str, Any] = {"agents": 2, "start_pos": ((0, 0), (4, 4)), "view": view}
    for space in (piase_gym.parallel_env, GymEnv):
        env: Any = space("GridWorld", partners=partners, **config)
        env.reset(seed=0)
        acts = dict.fromkeys(getattr(env, "agents", ()), 4) | {"agent_0": act}
        infos = env.step(act if space is GymEnv else acts)[-1]
        info = infos if space is GymEnv else infos["agent_0"]
        told = "The edge of the grid is in the way."
        told = None if (view, way) == ("vector", "index") else told
        assert (info["outcome"], info.get("feedback")) == ("failed", told)
        assert space is GymEnv or "feedback" not in infos.get("agent_1", {})
