"""What sequential envs show, in the data models of the documents: perceptions, results, schemas."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Literal

from pydantic import ValidationError

from piase_gym.core.commands import Command, Param
from piase_gym.core.config import explain
from piase_gym.core.jsonable import jsonable
from piase_gym.core.models import (
    ActionCommand,
    ActionSchema,
    EnvironmentInfo,
    PerceptionData,
    PerceptionFieldSchema,
)
from piase_gym.core.surroundings import COMMON
from piase_gym.core.world import World
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import ActionError
from piase_gym.interfaces.results import (
    MESSAGE_HISTORY,
    message_of,
    messages_before,
    perception,
    simple_result,
)
from piase_gym.interfaces.turns import AgentRecord, TurnEngine

Shape = Literal["model", "flat", "sensors"]
"""Where perceptions are: the design document's model or dict, or `sensor_data`."""


def read_command_model(command: object) -> ActionCommand:
    """Check what was given as a command.

    Args:
        command: An `ActionCommand`, a mapping of its fields, or a `Command`.

    Raises:
        ActionError: If it is none of these, or a field is unknown, missing or of a wrong type.
    """
    if isinstance(command, Command):
        given: Any = {"action_type": command.verb, "parameters": dict(command.parameters)}
    elif isinstance(command, ActionCommand):
        given = dict(command)
    elif isinstance(command, Mapping):
        given = {str(key): value for key, value in command.items()}
    else:
        raise ActionError(
            f"a command is an ActionCommand or a dict with its fields, not {type(command).__name__}"
        )
    try:
        checked = ActionCommand.model_validate(given)
    except ValidationError as error:
        raise ActionError(explain(error, ActionCommand)) from None
    priority = checked.execution_priority
    if priority is not None and not math.isfinite(priority):
        raise ActionError(f"execution_priority must be a finite number, not {priority}")
    return checked


def perceive(engine: TurnEngine, record: AgentRecord, peek: bool = False) -> PerceptionData:
    """Return what an agent perceives now.

    An agent that has ended goes on perceiving what it saw then; one that is not in play yet
    perceives nothing. After a peek, messages and the inventory's changes are still new.
    """
    perceived = engine.perceived(record)
    own = {"in_play": engine.in_play(record), "done": engine.done(record)}
    now = float(engine.runner.steps)
    if perceived is None:
        return PerceptionData(timestamp=now, agent_specific_data=own)
    letters, inventory = engine.news(record, peek)
    return perception(
        perceived.facts,
        engine.runner.world.surroundings(perceived.facts),
        perceived.text,
        engine.vector(record),
        engine.runner.steps,
        own=own,
        messages=[message_of(letter, time) for time, letter in letters],
        earlier=messages_before(engine.runner.world, perceived.facts, engine.runner.steps),
        inventory=inventory,
        result=simple_result(record.result),
    )


# -- schemas -----------------------------------------------------------------------------------


def parameter_schema(param: Param) -> dict[str, Any]:
    """Return the JSON Schema of a parameter; the environment-layer document says `choices`."""
    schema = param.schema()
    if param.choices:
        schema["choices"] = list(param.choices)
    return schema | ({"optional": True} if param.optional else {})


def action_schema(world: World[Any, Any]) -> dict[str, ActionSchema]:
    """Return the grammar of a world by verb."""
    return {
        verb.name: ActionSchema(
            description=verb.description,
            parameters={param.name: parameter_schema(param) for param in verb.params},
        )
        for verb in world.grammar
    }


def environment_info(runner: EpisodeRunner, shape: Shape) -> EnvironmentInfo:
    """Return what a world is and what can be done and perceived in it."""
    world = runner.world
    return EnvironmentInfo(
        environment_name=world.name,
        description=runner.spec.summary,
        version=str(world.version_of(world.config)),
        action_schema=action_schema(world),
        perception_schema=perception_schema(world, shape),
        max_agents=len(runner.caller_agents),
        custom_properties={
            "agents": [world.agents[i] for i in runner.caller_agents],
            "max_steps": int(world.config.max_steps),
            "milestones": list(world.milestones),
            "capabilities": asdict(world.capabilities),
        },
    )


def perception_schema(world: World[Any, Any], shape: Shape) -> dict[str, PerceptionFieldSchema]:
    """Return the structure of perceptions; dots lead into dicts."""
    own = own_schema(world)
    box = world.vector_space
    vector = f"array[{box.dtype}, {box.shape[0]}]"
    sensors = {
        "text": PerceptionFieldSchema(type="string", description="the scene in words"),
        "vector": PerceptionFieldSchema(type=vector, description="the same as numbers"),
    }
    if shape == "sensors":
        return sensors
    model = {
        name: PerceptionFieldSchema(
            type=_word(info.annotation)[0],
            description=info.description,
            is_optional=not info.is_required(),
        )
        for name, info in PerceptionData.model_fields.items()
    }
    if shape == "flat":
        del model["raw_observations"]
    inside = {f"sensor_data.{name}": row for name, row in sensors.items()}
    prefix = "" if shape == "flat" else "raw_observations."
    return model | inside | {prefix + name: row for name, row in own.items()}


def own_schema(world: World[Any, Any]) -> dict[str, PerceptionFieldSchema]:
    """Return what agents can perceive under the names of the world: by default, its facts."""
    rows = _own_rows(world)
    if getattr(world.config, "message_history", 0):
        rows[MESSAGE_HISTORY] = PerceptionFieldSchema(
            type="list[object]",
            description="messages heard before, the newest of each sender first",
            is_optional=True,
        )
    return rows


def _own_rows(world: World[Any, Any]) -> dict[str, PerceptionFieldSchema]:
    """Return what a world says about its perceptions, or what the types of its facts imply."""
    rows = {}
    for name, kind in world.perception_types.items():
        bare = kind.removesuffix(" | None")
        rows[name] = PerceptionFieldSchema(type=bare, is_optional=bare != kind)
    record = typing.get_type_hints(type(world).facts).get("return")
    if rows or not (isinstance(record, type) and is_dataclass(record)):
        return rows
    hints = typing.get_type_hints(record)
    for item in fields(record):
        if item.name not in COMMON:
            kind, optional = _word(hints[item.name])
            rows[item.name] = PerceptionFieldSchema(type=kind, is_optional=optional)
    return rows


_WORDS = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}


def _word(annotation: Any) -> tuple[str, bool]:
    """Return a Python type in the words of the PiaSE documents, and whether ``None`` is allowed."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        kinds = [_word(part)[0] for part in args if part is not type(None)]
        return " or ".join(dict.fromkeys(kinds)), type(None) in args
    if origin is typing.Annotated:
        return _word(args[0])
    if origin in (tuple, list) or annotation in (tuple, list):
        kinds = [_word(part)[0] for part in args if part is not Ellipsis]
        inner = ", ".join(dict.fromkeys(kinds))
        return (f"list[{inner}]" if inner else "list"), False
    return _WORDS.get(origin or annotation, "object"), False


def flat(perception: PerceptionData) -> dict[str, Any]:
    """Return a perception as data for JSON, with the world's own keys on the first level."""
    common = perception.model_dump(mode="json", exclude={"raw_observations"})
    return {**jsonable(perception.raw_observations), **common}
