"""The data models of the PiaSE documents, as one coherent set.

The PiaSE design document and the environment-layer document have pydantic models; where the two
papers differ, a model has the fields of both. The explorer document has plain dicts (`MailMessage`,
`AgentState`, `SharedMemory`), and the LLM-environment document two dataclasses (`Observation`,
`Action`). These models are used at the boundary (the document interfaces, logs, scenarios); inside,
worlds use lighter types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from piase_gym.core.jsonable import jsonable
from piase_gym.errors import ConfigError

Values = Annotated[dict[str, Any], PlainSerializer(jsonable, when_used="json")]
"""Values by name; arrays among them are written to JSON as lists."""


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
    raw_observations: Values = Field(
        default_factory=dict, description="the world's own observations (the PiaSE design document)"
    )
    visible_text: str | None = Field(None, description="the scene in words")
    messages: list[Message] = Field(
        default_factory=list, description="messages received since the last perception"
    )
    inventory_update: Values | None = Field(
        None, description="changes of the inventory, {'added': [...], 'removed': [...]}"
    )
    self_stats_feedback: Values | None = Field(
        None, description="the agent's own state, such as {'energy': 0.9}"
    )
    visible_entities: list[dict[str, Any]] | None = Field(
        None, description="what can be seen, [{'id': ..., 'type': ..., 'properties': {...}}]"
    )
    last_action_result: Values | None = Field(
        None, description="the result of the agent's last action"
    )
    sensor_data: Values = Field(
        default_factory=dict, description="observations by sensor, {'vector': ..., 'text': ...}"
    )
    agent_specific_data: Values | None = Field(
        None, description="what only this agent gets, such as a hint"
    )


class ActionCommand(_Model):
    """One action of one agent."""

    action_type: str = Field(description="the verb, such as 'move'")
    parameters: Values = Field(
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
    state_changes_summary: Values | None = Field(None, description="what changed")
    rewards_obtained: dict[str, float] | None = Field(None, description="rewards by name")
    immediate_perception_snippet: Values | None = Field(
        None, description="a small perception that follows at once (the PiaSE design document)"
    )
    new_perception_snippet: PerceptionData | None = Field(
        None, description="the perception after the action (the environment-layer document)"
    )
    error_details: str | None = Field(None, description="why the action failed")
    details: Values = Field(default_factory=dict, description="further values")


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
    custom_properties: Values | None = None


class MailMessage(TypedDict):
    """One message between agents (the explorer document)."""

    sender: str
    recipient: str
    message: str


class AgentState(TypedDict):
    """What `PerceptionInterface.get_agent_state` returns (the explorer document)."""

    agent_id: str
    position: Any
    rotation: Any
    step_count: int
    visible_objects: list[str]
    visible_caption: str
    inventory: list[str] | None
    in_play: bool
    done: bool
    last_action_result: dict[str, Any] | None


class SharedMemory(TypedDict):
    """What all agents together know (the explorer document)."""

    objects: set[str]
    agent_positions: dict[str, Any]
    message_mailboxes: dict[str, list[MailMessage]]
    message_history: list[MailMessage]


@dataclass
class Observation:
    """What an LLM agent observes (the LLM-environment document).

    Attributes:
        structured: The observation as data.
        text: The observation in words; by default what `structured` has under ``text``.
    """

    structured: dict[str, Any] = field(default_factory=dict)
    text: str = ""

    def __post_init__(self) -> None:
        """Take the text out of the data if none was given.

        Raises:
            ConfigError: If the data are not a mapping.
        """
        if not isinstance(self.structured, Mapping):
            kind = type(self.structured).__name__
            raise ConfigError(f"the structured data of an Observation are a mapping, not {kind}")
        if not self.text:
            self.text = str(self.structured.get("text", ""))


@dataclass(frozen=True)
class Action:
    """What an LLM agent does (the LLM-environment document).

    Attributes:
        text: The action in words.
    """

    text: str
