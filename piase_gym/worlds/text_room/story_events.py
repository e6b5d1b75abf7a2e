"""Events of a story, what sets them off, and interactions of its objects."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from piase_gym.core.config import AgentId
from piase_gym.worlds.text_room.story_conditions import Condition
from piase_gym.worlds.text_room.story_parts import (
    Name,
    Part,
    Prose,
    as_list,
)
from piase_gym.worlds.text_room.story_responses import Response


class ActionTaken(Part):
    """An agent has done something for the `count`-th time."""

    type: Literal["action_taken"]
    action_type: str = Field(description="the verb")
    target: Name | None = Field(None, description="what it was done to")
    item_name: Name | None = Field(None, description="what it was done with")
    agent_id: AgentId | None = Field(None, description="who; default anybody")
    count: int = Field(1, ge=1, description="how often, counted for each agent")
    outcome: Literal["ok", "failed", "any"] = Field("ok", description="which attempts count")


class ItemFound(Part):
    """An item comes to light for the first time: it is revealed, uncovered or taken."""

    type: Literal["item_found"]
    item_name: Name = Field(description="the item")
    agent_id: AgentId | None = Field(None, description="by whom; default by anybody")


class FlagSet(Part):
    """A flag has just been set."""

    type: Literal["flag_set"]
    flag_name: Name = Field(description="the flag")
    agent_id: AgentId | None = Field(None, description="whose; default anybody's")


class StepReached(Part):
    """So many steps were taken."""

    type: Literal["step_reached"]
    step: int = Field(ge=1, description="how many steps")


class AgentEnters(Part):
    """An agent has come into a room."""

    type: Literal["agent_enters"]
    room: Name = Field(description="the room")
    agent_id: AgentId | None = Field(None, description="who; default anybody")


class AgentLeaves(Part):
    """An agent has left a room, and `alone` asks that nobody is left in it."""

    type: Literal["agent_leaves"]
    room: Name = Field(description="the room")
    agent_id: AgentId | None = Field(None, description="who; default anybody")
    last: bool = Field(False, description="only when nobody in play remains there")


Trigger = Annotated[
    ActionTaken | ItemFound | FlagSet | StepReached | AgentEnters | AgentLeaves,
    Field(discriminator="type"),
]


class Event(Part):
    """A trigger and what follows from it."""

    LISTED: ClassVar[tuple[str, ...]] = ("response",)

    name: Name | None = Field(None, description="for logs; default the kind of its trigger")
    trigger: Trigger = Field(description="what sets it off")
    conditions: tuple[Condition, ...] = Field((), description="what must hold besides")
    response: tuple[Response, ...] = Field(description="one response or a list of them")
    repeat: bool = Field(False, description="False: once an episode; True: each time")

    @field_validator("response", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return as_list(value)


class Interaction(Part):
    """What comes of doing something to an object that has no rule of its own.

    It replaces the usual effect of the verb when its conditions hold.
    """

    LISTED: ClassVar[tuple[str, ...]] = ("response",)

    action: Literal["use", "look", "open", "search", "read", "take"] = Field(
        "use", description="the verb"
    )
    item_name: Name | None = Field(None, description="for `use X on <this>`: the X")
    conditions: tuple[Condition, ...] = Field((), description="what must hold; see `otherwise`")
    content: Prose = Field("Something happens.", description="what the agent is told")
    otherwise: Prose | None = Field(None, description="what it is told while they do not hold")
    response: tuple[Response, ...] = Field((), description="what happens")
    consumes: bool = Field(False, description="whether the item is used up")

    @field_validator("response", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return as_list(value)
