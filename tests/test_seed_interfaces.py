"""The seed interfaces do what the seeds say: names, words, buffering, perceptions, messages."""

from __future__ import annotations

import copy
import http.server
import inspect
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from piase_gym import faces
from piase_gym.errors import ConfigError, SnapshotError, UnknownNameError
from piase_gym.faces import (
    AbstractEnvironment,
    BaseEnv,
    Environment,
    EnvironmentInterface,
    PerceptionInterface,
)
from piase_gym.models import ActionCommand, ActionResult, EnvironmentInfo, PerceptionData
from piase_gym.surroundings import Surroundings, surroundings_by_name
from piase_gym.worlds.grid_world.config import GridWorldConfig
from tests import probes

probes.register()

# The reference project's GridWorld: 10 x 8 cells, (0, 0) at the top left.
REFERENCE: dict[str, Any] = {
    "grid_size": (10, 8),
    "walls": [(2, 2), (3, 3)],
    "start_pos": (0, 0),
    "goal_pos": (9, 7),
}
CORNERS: dict[str, Any] = {"agents": 2, "start_pos": [(0, 0), (3, 3)], "goal_pos": (1, 0)}


def move(direction: str, **more: Any) -> ActionCommand:
    return ActionCommand(action_type="move", parameters={"direction": direction}, **more)


STAY = ActionCommand(action_type="stay")


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
    ("face", "method"),
    [(face, method) for face, methods in SEEDS.items() for method in methods],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_methods_and_parameters_are_named_as_in_the_seeds(face: type[Any], method: str) -> None:
    given = list(inspect.signature(getattr(face, method)).parameters.values())[1:]
    wanted = SEEDS[face][method]
    assert [parameter.name for parameter in given][: len(wanted)] == wanted
    assert all(p.default is not inspect.Parameter.empty for p in given[len(wanted) :])


def test_the_faces_are_imported_when_they_are_asked_for() -> None:
    code = (
        "import sys, piase_gym.faces; "
        "print([m for m in sys.modules if m.startswith('piase_gym.faces.')]); "
        "print([n for n in piase_gym.faces.__all__ if not hasattr(piase_gym.faces, n)]); "
        "print('numba' in sys.modules, set(piase_gym.faces.__all__) - set(dir(piase_gym.faces)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["[]", "[]", "False set()"]
    with pytest.raises(AttributeError):
        _ = faces.Facade  # type: ignore[attr-defined]


# -- the reference project's grid, through each face -----------------------------------------------

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
        assert seen.visible_text == env.world.text(env.facts("agent_0"))
        assert np.array_equal(seen.sensor_data["vector"], env.world.vectors()[0])
        assert env.is_done("agent_0") is False
    assert "position" not in (result.state_changes_summary or {})


def test_the_goal_ends_the_episode_through_every_face() -> None:
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
        ({"action_type": "move", "parameters": {"direction": "north"}}, "invalid_action"),
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
    for face in SEEDS:
        for env in (face("GridWorld", **fields), face(config), face(config, max_steps=9)):
            start: Any = getattr(env, "reset_environment", env.reset)
            start(seed=3)
            digests.add(env.digest())
            env.close()
        assert face("piase/GridWorld-DoorKey-6x6-v0", agents=3).world.config.agents == 3
    assert len(digests) == 1


def test_two_faces_can_share_one_episode() -> None:
    env = AbstractEnvironment("TextProbe", agents=2)
    talk = EnvironmentInterface(env)
    explore = PerceptionInterface(env)
    env.reset_environment(seed=2)
    assert talk.submit_action("agent_0", {"action_type": "wait"})["status"] == "in_progress"
    assert explore.execute_action("agent_1", "wait")["status"] == "success"
    assert env.time_step == talk.time_step == explore.time_step == 1
    with pytest.raises(ConfigError, match="agents cannot be set"):
        EnvironmentInterface(env, agents=3)


# -- what is perceived -----------------------------------------------------------------------------


def test_environment_info_has_the_keys_of_both_papers() -> None:
    info = AbstractEnvironment("TextProbe", agents=3).get_environment_info()
    assert isinstance(info, EnvironmentInfo)
    assert (info.environment_name, info.version, info.max_agents) == ("TextProbe", "0", 3)
    assert info.time_model == "discrete_steps"
    assert info.action_schema["go"].parameters["direction"]["enum"][0] == "down"
    assert info.perception_schema["visible_text"].type == "string"
    assert info.perception_schema["raw_observations.exits"].type == "list[list[string]]"
    assert info.perception_schema["raw_observations.feedback"].is_optional
    plain = EnvironmentInterface("TextProbe", agents=3).get_environment_info()
    assert {"name", "version", "description", "max_agents"} <= set(plain)
    assert plain["perception_schema"]["exits"]["type"] == "list[list[string]]"
    layer = Environment("TextProbe").get_environment_info()
    assert set(layer["perception_schema"]) == {"text", "vector"}
    assert json.loads(json.dumps([plain, layer])) == [plain, layer]


def test_action_space_describes_each_verb() -> None:
    env = Environment("TextProbe")
    space = env.get_action_space("agent_0")
    assert space == env.get_action_space()
    assert space["go"]["parameters"]["direction"]["choices"][:2] == ["down", "east"]
    assert space["use"]["parameters"]["target_object"]["optional"] is True
    assert set(space) == {verb.name for verb in env.world.grammar}


@pytest.mark.parametrize("world", ["GridWorld", "TextProbe", "PointProbe"])
def test_every_perception_is_in_its_schema_and_goes_through_json(world: str) -> None:
    env = EnvironmentInterface(world, agents=2)
    env.reset(seed=0)
    schema = env.get_environment_info()["perception_schema"]
    for _ in range(5):
        for name in list(env.agents):
            seen = env.get_perceptions(name)
            assert json.loads(json.dumps(seen)) == seen
            assert {key for key in schema if "." not in key} == set(seen)
            env.submit_action(name, env.commands(name)[0])


def test_perceptions_of_the_model_can_be_written_as_json() -> None:
    env = Environment("GridWorld")
    seen = env.reset(seed=0)
    again = PerceptionData.model_validate_json(seen.model_dump_json())
    assert again.sensor_data["vector"] == seen.sensor_data["vector"].tolist()
    result = env.step("agent_0", STAY)
    assert ActionResult.model_validate_json(result.model_dump_json()).status == "success"


def test_inventory_updates_and_entities() -> None:
    env = Environment("TextProbe", items=7)
    seen = env.reset(seed=0)
    assert seen.visible_entities is not None
    item = seen.visible_entities[0]["id"]
    assert seen.inventory_update == {"added": [], "removed": []}
    take = ActionCommand(action_type="take", parameters={"item_name": item})
    result = env.step("agent_0", take)
    assert result.state_changes_summary == {"inventory": [item]}
    for _ in range(2):  # asking twice in one step changes nothing
        assert env.get_observation("agent_0").inventory_update == {"added": [item], "removed": []}
    env.step("agent_0", ActionCommand(action_type="drop", parameters={"item_name": item}))
    env.step("agent_0", ActionCommand(action_type="wait"))
    # step always perceives, so the last perception before this one was of the drop
    assert env.get_observation("agent_0").inventory_update == {"added": [], "removed": []}


def test_updates_are_since_the_last_perception() -> None:
    env = AbstractEnvironment("TextProbe", items=7)
    env.reset_environment(seed=0)
    seen = env.get_perceptual_data_for_agent("agent_0").visible_entities
    assert seen
    item = seen[0]["id"]
    env.apply_action_from_agent(
        "agent_0", ActionCommand(action_type="take", parameters={"item_name": item})
    )
    env.step(1)
    env.step(2)
    late = env.get_perceptual_data_for_agent("agent_0")
    assert (late.timestamp, late.inventory_update) == (3.0, {"added": [item], "removed": []})


def test_letters_are_perceived_once_and_none_is_lost() -> None:
    env = AbstractEnvironment("TextProbe", agents=2)
    env.reset_environment(seed=0)
    env.get_perceptual_data_for_agent("agent_1")
    for time, word in enumerate(("one", "two", "three")):
        say = ActionCommand(action_type="say", parameters={"message": word})
        env.apply_action_from_agent("agent_0", say)
        env.step(time)
    env.step(3)
    for _ in range(2):
        heard = env.get_perceptual_data_for_agent("agent_1").messages
        assert [(m.sender, m.content, m.timestamp, m.recipient) for m in heard] == [
            ("agent_0", "one", 2.0, "all"),
            ("agent_0", "two", 3.0, "all"),
            ("agent_0", "three", 4.0, "all"),
        ]
    env.step(4)
    assert env.get_perceptual_data_for_agent("agent_1").messages == []
    assert env.get_perceptual_data_for_agent("agent_0").messages == []


def test_native_wording_and_hints_are_shown() -> None:
    env = Environment("TextProbe", wording="native")
    seen = env.reset(seed=0)
    assert seen.visible_text is not None
    assert seen.visible_text.startswith("-= ")
    env.give_hint("agent_0", "look up")
    later = env.get_observation("agent_0")
    assert later.agent_specific_data == {"in_play": True, "done": False, "hint": "look up"}
    assert "look up" in str(later.visible_text)


def test_surroundings_tell_what_is_where_on_the_map() -> None:
    env = Environment("GridWorld", layout="door_key", agents=2, observe="grid")
    env.reset(seed=1)
    around = env.world.surroundings(env.facts("agent_0"))
    names = {thing.name for thing in around.objects}
    assert {"key", "goal", "locked door", "agent_1"} <= names
    assert not names & {"wall", "floor", "outside", "you"}
    (other,) = (thing for thing in around.objects if thing.name == "agent_1")
    theirs = env.get_observation("agent_1").raw_observations
    assert other.properties == {"position": theirs["position"], "heading": theirs["heading"]}
    assert (around.position, around.inventory) == (list(env.facts("agent_0").position), ())  # type: ignore[attr-defined]


def test_a_world_may_say_what_its_surroundings_are(monkeypatch: pytest.MonkeyPatch) -> None:
    env = EnvironmentInterface("PointProbe")

    def look(facts: Any) -> Surroundings:
        plain = surroundings_by_name(facts, ["agent_0"])
        return Surroundings(
            position="here", stats={"speed": 1.0}, perceptions={**plain.perceptions, "mood": "calm"}
        )

    monkeypatch.setattr(env.world, "surroundings", look)
    monkeypatch.setattr(type(env.world), "perception_types", {"mood": "string | None"})
    env.reset(seed=0)
    seen = env.get_perceptions("agent_0")
    assert (seen["mood"], seen["self_stats_feedback"]) == ("calm", {"speed": 1.0})
    schema = env.get_environment_info()["perception_schema"]
    assert (schema["mood"]["type"], schema["mood"]["is_optional"]) == ("string", True)
    assert "velocity" not in schema  # what the world says stands for the whole of its own
    assert seen["inventory_update"] is None


def test_state_and_snapshots_are_json() -> None:
    one = Environment("TextProbe", agents=2)
    one.reset(seed=1)
    assert json.loads(json.dumps(one.get_state())) == one.get_state()
    two = AbstractEnvironment("TextProbe", agents=2)
    two.reset_environment(seed=1)
    whole = two.get_current_state_snapshot()
    assert set(whole) == {"time", "config", "world", "agents"}
    assert whole["world"] == one.get_state()
    assert whole["time"]["seed"] == 1
    for scope in ("time", "config", "world", "agents"):
        assert two.get_current_state_snapshot(scope) == whole[scope]
    assert two.get_current_state_snapshot("agent_1") == whole["agents"]["agent_1"]
    assert json.loads(json.dumps(whole)) == whole


def test_configurations_hold_from_the_next_reset() -> None:
    env = AbstractEnvironment("GridWorld", width=6, height=6, envelope={"width": 9, "height": 9})
    env.reset_environment(seed=0)
    assert env.load_configuration({"width": 9, "max_steps": 7}) is True
    assert env.config.width == 6
    env.reset_environment({"height": 8, "seed": 4})
    assert (env.config.width, env.config.height, env.config.max_steps) == (9, 8, 7)
    assert env.seed == 4


# -- snapshots, copies -----------------------------------------------------------------------------


def rest(env: AbstractEnvironment) -> list[str]:
    """Play on: the open commands, then no-ops."""
    digests = []
    for _ in range(4):
        env.step(env.time_step)
        digests.append(env.digest())
    return digests


def half_way() -> AbstractEnvironment:
    env = AbstractEnvironment("TextProbe", agents=2, slip=0.5)
    env.reset_environment(seed=8)
    env.get_perceptual_data_for_agent("agent_0")
    say = ActionCommand(action_type="say", parameters={"message": "hello"})
    env.apply_action_from_agent("agent_1", say)
    env.step(0)
    env.apply_action_from_agent("agent_1", move("up"))  # no command here: a misread
    env.apply_action_from_agent("agent_0", say.model_copy(update={"execution_priority": -1.0}))
    env.reset_environment()
    env.apply_action_from_agent("agent_0", say.model_copy(update={"execution_priority": -1.0}))
    return env


def test_snapshots_hold_what_was_submitted() -> None:
    env = half_way()
    snapshot = json.loads(json.dumps(env.snapshot()))
    other = AbstractEnvironment("TextProbe", agents=2, slip=0.5)
    other.restore(snapshot)
    assert other.snapshot() == snapshot
    before, after = (e.get_perceptual_data_for_agent("agent_0") for e in (env, other))
    assert before.model_dump_json() == after.model_dump_json()
    futures = [rest(e) for e in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), other, env)]
    assert futures[0] == futures[1] == futures[2] == futures[3]
    env.restore(snapshot)
    assert rest(env) == futures[0]


def test_snapshots_of_other_faces_are_taken_up() -> None:
    from piase_gym.faces.parallel import parallel_env

    parallel = parallel_env("TextProbe", agents=2, view="vector")
    parallel.reset(seed=3)
    parallel.step(dict.fromkeys(parallel.agents, 0))
    env = Environment("TextProbe", agents=2)
    env.restore(parallel.snapshot())
    assert env.digest() == parallel.digest()
    parallel.restore(env.snapshot())
    assert env.get_observation("agent_0").timestamp == 1.0


@pytest.mark.parametrize("damage", [None, 3, {}, {"agent_0": {}}, {"agent_0": None}])
def test_damaged_seats_are_refused(damage: Any) -> None:
    env = Environment("PointProbe")
    env.reset(seed=0)
    before = env.snapshot()
    with pytest.raises(SnapshotError):
        env.restore({**before, "seats": damage})
    assert env.snapshot() == before


# -- events and queries ----------------------------------------------------------------------------


def test_agents_hear_of_what_concerns_them() -> None:
    env = EnvironmentInterface("TextProbe", agents=2)
    heard: list[dict[str, Any]] = []
    ends = [
        env.subscribe_to_event("agent_1", kind, heard.append)
        for kind in ("letter", "result", "reset")
    ]
    env.reset(seed=0)
    say = {"action_type": "say", "parameters": {"message": "hello"}}
    for _ in range(2):
        env.submit_action("agent_0", say)
        env.submit_action("agent_1", {"action_type": "wait"})
    kinds = [(event["event_type"], event["timestamp"]) for event in heard]
    assert kinds == [("reset", 0.0), ("result", 1.0), ("result", 2.0), ("letter", 2.0)]
    assert {event["agent_id"] for event in heard} == {"agent_1"}
    letter = {"sender": "agent_0", "recipient": "all", "message": "hello"}
    assert heard[-1]["payload"] == letter
    assert heard[1]["payload"]["status"] == "success"
    for end in ends:
        end()
    env.reset(seed=0)
    assert len(heard) == 4
    assert not env.events.active


@pytest.fixture
def address() -> Iterator[tuple[str, list[Any]]]:
    """A server on this machine, and what was posted to it."""
    posted: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/events", posted
    server.shutdown()
    thread.join()
    server.server_close()


def test_events_are_posted_to_addresses(address: tuple[str, list[Any]]) -> None:
    url, posted = address
    env = EnvironmentInterface("GridWorld", start_pos=(0, 0), goal_pos=(1, 0))
    env.subscribe_to_event("agent_0", "milestone", url)
    env.reset(seed=0)
    env.submit_action("agent_0", {"action_type": "move", "parameters": {"direction": "right"}})
    assert posted == [
        {
            "event_type": "milestone",
            "agent_id": "agent_0",
            "timestamp": 1.0,
            "payload": {"name": "goal_reached"},
        }
    ]


def test_an_address_that_does_not_answer_warns_and_stops_nothing() -> None:
    env = EnvironmentInterface("PointProbe")
    env.subscribe_to_event("agent_0", "reset", "http://127.0.0.1:9/nobody")
    with pytest.warns(RuntimeWarning, match="did not reach http://127.0.0.1:9"):
        env.reset(seed=0)
    assert env.submit_action("agent_0", {"action_type": "coast"})["status"] == "success"


def test_queries_answer_what_the_agent_may_know() -> None:
    env = EnvironmentInterface("TextProbe", agents=2)
    env.reset(seed=0)
    env.submit_action("agent_0", {"action_type": "wait"})
    some = env.query_environment_state("agent_1", {"keys": ["room", "waiting_for", "time_step"]})
    assert some == {
        "room": env.get_perceptions("agent_1")["room"],
        "waiting_for": ["agent_1"],
        "time_step": 0,
    }
    everything = env.query_environment_state("agent_1", {})
    assert set(env.get_perceptions("agent_1")) < set(everything)
    assert everything["admissible_commands"] == env.admissible_commands("agent_1")
    with pytest.raises(UnknownNameError, match="house"):
        env.query_environment_state("agent_1", {"keys": ["house"]})


def test_to_ask_is_no_perception() -> None:
    env = EnvironmentInterface("TextProbe", agents=2)
    env.reset(seed=0)
    say = {"action_type": "say", "parameters": {"message": "hello"}}
    for command in (say, {"action_type": "wait"}, {"action_type": "wait"}):
        env.submit_action("agent_0", command)
        env.submit_action("agent_1", {"action_type": "wait"})
        answer = env.query_environment_state("agent_1", {"keys": ["messages"]})
    contents = [letter["content"] for letter in answer["messages"]]
    assert contents == ["hello"]
    assert env.get_perceptions("agent_1")["messages"] == answer["messages"]
    env.submit_action("agent_0", say)
    env.submit_action("agent_1", {"action_type": "wait"})
    assert env.get_perceptions("agent_1")["messages"] == []


# -- PerceptionInterface ---------------------------------------------------------------------------


def test_explorers_see_act_and_share_discoveries() -> None:
    env = PerceptionInterface("TextProbe", agents=2, items=7)
    env.reset(seed=0)
    state = env.get_agent_state("agent_0")
    assert state["position"] == state["visible_caption"].split("the ")[1].split(".")[0]
    seen = env.get_visible_objects("agent_0", state["position"])
    assert seen == state["visible_objects"]
    assert "agent_1" in seen
    waiting = env.execute_action("agent_0", "go", {"direction": "up"})
    assert (waiting["status"], waiting["position"]) == ("in_progress", state["position"])
    assert waiting["reward"] == 0
    done = env.execute_action("agent_1", "go up")
    assert (done["status"], done["position"], done["step_count"]) == ("success", "hall", 1)
    memory = env.shared_memory
    assert set(seen) <= memory["objects"]
    assert set(env.get_visible_objects("agent_1")) <= memory["objects"]
    assert memory["agent_positions"] == {"agent_0": "hall", "agent_1": "hall"}
    info = env.get_environment_info()
    assert (info["step_count"], info["max_steps"], info["agents"]) == (1, 100, env.agents)
    env.reset(seed=1)
    assert env.shared_memory["objects"] == {
        name for agent in env.agents for name in env.get_visible_objects(agent)
    }


def test_messages_of_a_world_without_mailboxes_arrive_at_once() -> None:
    """The mock of seed 003: to one or to all others, reading empties, the history stays."""
    env = PerceptionInterface("GridWorld", agents=3)
    env.reset(seed=0)
    digest = env.digest()
    env.send_message("agent_0", "all", "I found a keyboard at position 5")
    env.send_message("agent_1", "agent_2", "come")
    first = {"sender": "agent_0", "recipient": "all", "message": "I found a keyboard at position 5"}
    second = {"sender": "agent_1", "recipient": "agent_2", "message": "come"}
    assert env.shared_memory["message_mailboxes"]["agent_2"] == [first, second]
    assert env.poll_messages("agent_2") == [first, second]
    assert env.poll_messages("agent_2") == []
    assert env.poll_messages("agent_1") == [first]
    assert env.poll_messages("agent_0") == []
    assert env.shared_memory["message_history"] == [first, second]
    assert env.digest() == digest
    again = PerceptionInterface("GridWorld", agents=3)
    again.restore(json.loads(json.dumps(env.snapshot())))
    assert again.shared_memory == env.shared_memory
    env.reset()
    assert env.shared_memory["message_history"] == []


def test_messages_of_a_world_with_mailboxes_follow_its_rules() -> None:
    env = PerceptionInterface("TextProbe", agents=2)
    env.reset(seed=0)
    env.send_message("agent_0", "agent_1", "x" * 100)
    assert env.poll_messages("agent_1") == []
    for _ in range(2):  # delivered one step later
        for name in env.agents:
            env.execute_action(name, "wait")
    heard = {"sender": "agent_0", "recipient": "agent_1", "message": "x" * 80}
    assert env.poll_messages("agent_1") == [heard]
    assert env.poll_messages("agent_1") == []


def test_a_shared_face_forgets_with_the_episode() -> None:
    env = Environment("GridWorld", agents=2)
    talk = PerceptionInterface(env)
    env.reset(seed=0)
    talk.send_message("agent_0", "agent_1", "hi")
    env.reset()
    assert talk.poll_messages("agent_1") == []
    assert talk.shared_memory["message_history"] == []
