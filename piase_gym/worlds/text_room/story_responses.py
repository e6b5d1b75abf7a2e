"""What events and interactions of a story are followed by."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from piase_gym.core.config import AgentId
from piase_gym.worlds.text_room.story_parts import (
    Name,
    Part,
    Prose,
)


class Message(Part):
    """Tell agents something, from the sender ``system``."""

    type: Literal["message_to_agent"]
    content: Prose = Field(min_length=1, description="what is said")
    agent_id: AgentId | Literal["all"] | None = Field(
        None, description="whom to tell; default whoever caused the event"
    )


class LogMilestone(Part):
    """Note a milestone, once an agent."""

    type: Literal["log_milestone"]
    milestone_name: Name = Field(description="its name")
    agent_id: AgentId | None = Field(None, description="whose; default whoever caused the event")


class SetFlag(Part):
    """Set or clear a flag of an agent."""

    type: Literal["set_flag"]
    flag_name: Name = Field(description="its name")
    value: bool = Field(True, description="set or clear")
    agent_id: AgentId | Literal["all"] | None = Field(
        None, description="whose; default whoever caused the event"
    )


class ChangeState(Part):
    """Change an object or the description of a room."""

    type: Literal["change_state"]
    object: Name | None = Field(None, description="the object to change")
    room: Name | None = Field(None, description="or the room to change")
    is_open: bool | None = Field(None, description="open or close it")
    locked: bool | None = Field(None, description="lock or unlock it")
    description: Prose | None = Field(None, description="how it looks from now on")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.object is None) == (self.room is None):
            raise ValueError("change_state names either an object or a room")
        if self.room is not None and (self.is_open is not None or self.locked is not None):
            raise ValueError("a room has a description to change, but no is_open and no locked")
        return self


class SpawnObject(Part):
    """Let an object appear: in a room, in another object, or in an agent's hands."""

    type: Literal["spawn_object"]
    object: Name = Field(description="an object of object_details that is nowhere yet")
    room: Name | None = Field(None, description="the room; default that of the agent")
    container: Name | None = Field(None, description="or the object to put it into")
    agent_id: AgentId | None = Field(None, description="or the agent to give it to")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(place is not None for place in (self.room, self.container, self.agent_id)) > 1:
            raise ValueError("spawn_object names one of room, container and agent_id")
        return self


class RemoveObject(Part):
    """Let an object, and what is in it, vanish."""

    type: Literal["remove_object"]
    object: Name = Field(description="the object")


class MoveAgent(Part):
    """Carry an agent to a room."""

    type: Literal["move_agent"]
    room: Name = Field(description="where to")
    agent_id: AgentId | None = Field(None, description="whom; default whoever caused the event")


class ChangeStat(Part):
    """Add to a number of an agent, such as its energy."""

    type: Literal["change_stat"]
    stat: Name = Field(description="a name from the agent's stats")
    amount: float = Field(description="what to add")
    agent_id: AgentId | None = Field(None, description="whose; default whoever caused the event")


class AddMetric(Part):
    """Add to a metric of the whole episode, such as harm done."""

    type: Literal["add_metric"]
    metric: Name = Field(description="its name")
    amount: float = Field(1.0, description="what to add")


class GiveReward(Part):
    """Reward or punish an agent."""

    type: Literal["reward"]
    amount: float = Field(description="what it is worth")
    agent_id: AgentId | Literal["all"] | None = Field(
        None, description="whom; default whoever caused the event"
    )


class End(Part):
    """End the episode."""

    type: Literal["end"]
    result: Literal["won", "lost", "drawn", "ended"] = Field("ended", description="how it ends")
    agent_id: AgentId | Literal["all"] = Field("all", description="for whom")


Response = Annotated[
    Message
    | LogMilestone
    | SetFlag
    | ChangeState
    | SpawnObject
    | RemoveObject
    | MoveAgent
    | ChangeStat
    | AddMetric
    | GiveReward
    | End,
    Field(discriminator="type"),
]
