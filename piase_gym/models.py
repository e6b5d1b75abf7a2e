"""The data models of the seed documents (000 and 001), as one coherent set.

Where the two papers differ, a model has the fields of both. These models stand at the boundary
(the four seed interfaces, logs, scenarios); inside, worlds use lighter types.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class _Model(BaseModel):
    """Common settings: arrays are allowed as values, unknown fields are not."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class Message(_Model):
    """One message between agents, or from the system."""

    sender: str = Field(description="ID of the sender, such as 'system' or 'agent_2'")
    content: str = Field(description="text of the message")
    timestamp: float | None = Field(None, description="simulation time of the message")
    recipient: str | None = Field(None, description="ID of the recipient, or 'all'")


class PerceptionData(_Model):
    """What one agent perceives at one time."""

    timestamp: float = Field(description="simulation time: the number of steps done")
    raw_observations: dict[str, Any] = Field(
        default_factory=dict, description="the world's own observations (seed 000)"
    )
    visible_text: str | None = Field(None, description="the scene in words")
    messages: list[Message] = Field(
        default_factory=list, description="messages received since the last perception"
    )
    inventory_update: dict[str, Any] | None = Field(
        None, description="changes of the inventory, {'added': [...], 'removed': [...]}"
    )
    self_stats_feedback: dict[str, Any] | None = Field(
        None, description="the agent's own state, such as {'energy': 0.9}"
    )
    visible_entities: list[dict[str, Any]] | None = Field(
        None, description="what can be seen, [{'id': ..., 'type': ..., 'properties': {...}}]"
    )
    last_action_result: dict[str, Any] | None = Field(
        None, description="the result of the agent's last action"
    )
    sensor_data: dict[str, Any] = Field(
        default_factory=dict, description="observations by sensor, {'vector': ..., 'text': ...}"
    )
    agent_specific_data: dict[str, Any] | None = Field(
        None, description="what only this agent gets, such as a hint"
    )


class ActionCommand(_Model):
    """One action of one agent."""

    action_type: str = Field(description="the verb, such as 'move'")
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="parameters, such as {'direction': 'up'}"
    )
    sequence_id: str | None = Field(None, description="the sequence this action belongs to")
    execution_priority: float | None = Field(
        None, description="higher goes first where actions conflict"
    )


class ActionResult(_Model):
    """What became of an action."""

    status: str = Field(description="success, failure, in_progress or invalid_action")
    timestamp: float | None = Field(None, description="simulation time of the result")
    message: str | None = Field(None, description="the outcome in words")
    state_changes_summary: dict[str, Any] | None = Field(None, description="what changed")
    rewards_obtained: dict[str, float] | None = Field(None, description="rewards by name")
    immediate_perception_snippet: dict[str, Any] | None = Field(
        None, description="a small perception that follows at once (seed 000)"
    )
    new_perception_snippet: PerceptionData | None = Field(
        None, description="the perception after the action (seed 001)"
    )
    error_details: str | None = Field(None, description="why the action failed")
    details: dict[str, Any] = Field(default_factory=dict, description="further values")


class ActionSchema(_Model):
    """One kind of action and its parameters."""

    description: str | None = None
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="parameter name -> JSON Schema of its value"
    )


class PerceptionFieldSchema(_Model):
    """One field of what an environment lets agents perceive."""

    type: str = Field(description="type of the field, such as 'string' or 'list[object]'")
    description: str | None = None
    is_optional: bool = False


class EnvironmentInfo(_Model):
    """What an environment is, what can be done in it, and what can be perceived."""

    environment_name: str
    description: str
    version: str | None = None
    action_schema: dict[str, ActionSchema]
    perception_schema: dict[str, PerceptionFieldSchema]
    max_agents: int | None = 1
    time_model: str = Field("discrete_steps", description="discrete_steps or real_time_ms")
    custom_properties: dict[str, Any] | None = None
