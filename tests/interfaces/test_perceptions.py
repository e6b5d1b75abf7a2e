"""What agents perceive through the document interfaces."""

from __future__ import annotations

import json
from typing import Any

import pytest

from piase_gym.core.models import ActionCommand, ActionResult, EnvironmentInfo, PerceptionData
from piase_gym.core.surroundings import Surroundings, surroundings_by_name
from piase_gym.interfaces import AbstractEnvironment, Environment, EnvironmentInterface
from tests.helpers.needs import need
from tests.interfaces.document_interfaces import STAY

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


@pytest.mark.parametrize(
    ("world", "config"),
    [
        ("GridWorld", {"width": 5, "height": 5}),
        ("SocialDilemma", {"game": "harvest", "rounds": 20}),
        ("SocialDilemma", {"game": "stag_hunt", "rounds": 20}),
        ("PhysicsPlayground", {"max_steps": 20}),
    ],
)
def test_messages_heard_before_are_an_optional_entry(world: str, config: dict[str, Any]) -> None:
    need(world)
    config = {**config, "agents": 2, "symbols": 2, "message_history": 2, "message_delay": 0}
    env = EnvironmentInterface(world, **config)
    env.reset(seed=0)
    row = env.get_environment_info()["perception_schema"]["message_history"]
    assert row["is_optional"]
    assert row["type"] == "list[object]"
    one, two = env.agents
    speaking = next(c for c in env.commands(one) if c.parameters.get("symbol") == 2)
    silent = next(c for c in env.commands(two) if "symbol" not in c.parameters)
    assert env.get_perceptions(two)["message_history"] == []
    for command in (speaking, silent, silent):
        env.submit_action(one, command)
        env.submit_action(two, silent)
    said = {"sender": one, "content": "2", "timestamp": 1.0, "recipient": "all"}
    assert env.get_perceptions(two)["message_history"] == [said]
    assert env.get_perceptions(one)["message_history"] == []
    plain = EnvironmentInterface(world, **{**config, "message_history": 0})
    plain.reset(seed=0)
    assert "message_history" not in plain.get_perceptions(one)
    assert "message_history" not in plain.get_environment_info()["perception_schema"]


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


def test_a_letter_to_one_agent_names_it() -> None:
    env = AbstractEnvironment("TextRoom", agents=2, message_delay=0)
    env.reset_environment(seed=0)
    tell = {"agent_id": "agent_1", "message": "come"}
    env.apply_action_from_agent("agent_0", ActionCommand(action_type="tell", parameters=tell))
    env.step(0)
    seen = env.get_perceptual_data_for_agent("agent_1")
    assert [(m.sender, m.recipient) for m in seen.messages] == [("agent_0", "agent_1")]
    assert "agent_0 tells agent_1: come" in str(seen.visible_text)


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
