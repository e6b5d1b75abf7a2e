"""The data models have the fields of both PiaSE documents and go through JSON."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from piase_gym.core.models import (
    ActionCommand,
    ActionResult,
    ActionSchema,
    EnvironmentInfo,
    Message,
    PerceptionData,
    PerceptionFieldSchema,
)

# Field -> whether it is required, as the first document (the PiaSE design) has it.
DESIGN: dict[type[BaseModel], dict[str, bool]] = {
    Message: {"sender": True, "content": True, "timestamp": False},
    PerceptionData: {
        "timestamp": True,
        "raw_observations": False,
        "visible_text": False,
        "messages": False,
        "inventory_update": False,
        "self_stats_feedback": False,
        "visible_entities": False,
        "last_action_result": False,
    },
    ActionCommand: {
        "action_type": True,
        "parameters": False,
        "sequence_id": False,
        "execution_priority": False,
    },
    ActionResult: {
        "status": True,
        "message": False,
        "state_changes_summary": False,
        "rewards_obtained": False,
        "immediate_perception_snippet": False,
        "error_details": False,
    },
    ActionSchema: {"description": False, "parameters": False},
    PerceptionFieldSchema: {"type": True, "description": False, "is_optional": False},
    EnvironmentInfo: {
        "environment_name": True,
        "description": True,
        "version": False,
        "action_schema": True,
        "perception_schema": True,
        "max_agents": False,
        "custom_properties": False,
    },
}

# The second document (the abstraction layer) gives names only.
LAYER: dict[type[BaseModel], list[str]] = {
    PerceptionData: ["timestamp", "sensor_data", "messages", "agent_specific_data"],
    ActionCommand: ["action_type", "parameters"],
    ActionResult: ["timestamp", "status", "new_perception_snippet", "message", "details"],
    EnvironmentInfo: ["environment_name", "description", "action_schema", "perception_schema"],
}

# What is in neither: a message needs somebody to go to.
OURS: dict[type[BaseModel], list[str]] = {Message: ["recipient"]}


@pytest.mark.parametrize("model", DESIGN, ids=lambda model: model.__name__)
def test_fields_are_those_of_both_documents(model: type[BaseModel]) -> None:
    expected = {*DESIGN[model], *LAYER.get(model, []), *OURS.get(model, [])}
    if model is EnvironmentInfo:
        expected.add("time_model")  # required there; here the worlds' only one is the default
    assert set(model.model_fields) == expected
    for name, required in DESIGN[model].items():
        assert model.model_fields[name].is_required() == required, name


@pytest.mark.parametrize("model", DESIGN, ids=lambda model: model.__name__)
def test_optional_fields_default_to_none_or_empty(model: type[BaseModel]) -> None:
    special = {"is_optional": False, "max_agents": 1, "time_model": "discrete_steps"}
    for name, field in model.model_fields.items():
        if not field.is_required():
            value = field.get_default(call_default_factory=True)
            if name in special:
                assert value == special[name]
            else:
                assert value in ((None,) if type(None) in get_args(field.annotation) else ([], {}))


FULL: list[BaseModel] = [
    Message(sender="system", content="A door opens.", timestamp=1.5, recipient="all"),
    PerceptionData(
        timestamp=1678886400.5,
        raw_observations={"x": [1, 2]},
        visible_text="In a room.",
        messages=[Message(sender="system", content="A door opens.")],
        inventory_update={"added": ["item_x"], "removed": []},
        self_stats_feedback={"energy": 0.9},
        visible_entities=[{"id": "obj1", "type": "box", "properties": {"color": "red"}}],
        last_action_result={"status": "success"},
        sensor_data={"text": "description", "vector": [0.0, 1.0]},
        agent_specific_data={"hint": "look"},
    ),
    ActionCommand(
        action_type="move",
        parameters={"direction": "east", "speed": "normal"},
        sequence_id="s1",
        execution_priority=0.5,
    ),
    ActionResult(
        status="success",
        timestamp=2.0,
        message="Moved north successfully.",
        state_changes_summary={"agent_location": [10, 11]},
        rewards_obtained={"score": 10, "energy_cost": -0.1},
        immediate_perception_snippet={"light": 1},
        new_perception_snippet=PerceptionData(timestamp=2.0, visible_text="A hall."),
        error_details=None,
        details={"cells": 1},
    ),
    EnvironmentInfo(
        environment_name="TextWorldDeluxe",
        description="...",
        version="1",
        action_schema={
            "move": ActionSchema(parameters={"direction": {"type": "string", "enum": ["N", "S"]}})
        },
        perception_schema={
            "visible_objects": PerceptionFieldSchema(type="list[string]", is_optional=True)
        },
        max_agents=None,
        time_model="discrete_steps",
        custom_properties={"room": 1},
    ),
]


@pytest.mark.parametrize("value", FULL, ids=lambda value: type(value).__name__)
def test_json_round_trip(value: BaseModel) -> None:
    model = type(value)
    assert model.model_validate_json(value.model_dump_json()) == value
    assert model.model_validate(value.model_dump(mode="json")) == value


@pytest.mark.parametrize(
    ("model", "fields", "wrong"),
    [
        (Message, {"sender": "a"}, "content"),
        (PerceptionData, {}, "timestamp"),
        (PerceptionData, {"timestamp": "noon"}, "timestamp"),
        (PerceptionData, {"timestamp": 0, "messages": [{"sender": "a"}]}, "content"),
        (ActionCommand, {"parameters": {}}, "action_type"),
        (ActionCommand, {"action_type": "go", "parameters": []}, "parameters"),
        (ActionCommand, {"action_type": "go", "speed": 1}, "speed"),
        (ActionResult, {"status": "success", "rewards_obtained": {"a": "b"}}, "rewards_obtained"),
        (EnvironmentInfo, {"environment_name": "X"}, "action_schema"),
    ],
)
def test_missing_unknown_and_wrong_fields_are_named(
    model: type[BaseModel], fields: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(ValidationError, match=wrong):
        model(**fields)


def test_defaults_are_not_shared() -> None:
    one, other = PerceptionData(timestamp=0), PerceptionData(timestamp=0)
    one.raw_observations["x"] = 1
    one.messages.append(Message(sender="a", content="b"))
    assert other.raw_observations == {}
    assert other.messages == []


def test_every_field_is_described_or_named_in_the_document() -> None:
    for model in (Message, PerceptionData, ActionCommand, ActionResult):
        assert all(field.description for field in model.model_fields.values())
