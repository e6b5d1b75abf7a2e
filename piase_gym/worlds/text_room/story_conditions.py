"""What can be asked of the state of a story: when it is won or lost, when events happen."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from piase_gym.core.config import AgentId
from piase_gym.worlds.text_room.story_parts import (
    Name,
    Part,
)


class ItemInInventory(Part):
    """An agent carries an item."""

    type: Literal["item_in_inventory"]
    item_name: Name = Field(description="the item")
    agent_id: AgentId | None = Field(None, description="who; default anybody")


class FlagIsSet(Part):
    """A flag of an agent is set."""

    type: Literal["flag_set"]
    flag_name: Name = Field(description="the flag, such as has_read_old_document")
    agent_id: AgentId | None = Field(None, description="whose; default anybody's")


class AgentInRoom(Part):
    """An agent is in a room."""

    type: Literal["agent_in_room"]
    room: Name = Field(description="the room")
    agent_id: AgentId | None = Field(None, description="who; default anybody")


class ItemInRoom(Part):
    """An object lies in a room (not in something or in somebody's hands)."""

    type: Literal["item_in_room"]
    item_name: Name = Field(description="the object")
    room: Name = Field(description="the room")


class ObjectState(Part):
    """An object is open or closed, locked or unlocked."""

    type: Literal["object_state"]
    object: Name = Field(description="the object")
    is_open: bool | None = Field(None, description="whether it is open")
    locked: bool | None = Field(None, description="whether it is locked")


class AgentState(Part):
    """A sentence about an agent's numbers holds, such as ``energy <= 0``."""

    type: Literal["agent_state_condition"]
    condition: str = Field(
        max_length=500, description="rule-engine syntax over stats, room, inventory, flags, steps"
    )
    agent_id: AgentId | None = Field(None, description="whose; default anybody's")


class MaxSteps(Part):
    """So many steps were taken; this truncates the episode, and it is lost."""

    type: Literal["max_steps_reached"]
    steps: int = Field(ge=1, le=2**31 - 1, description="how many steps")


Condition = Annotated[
    ItemInInventory | FlagIsSet | AgentInRoom | ItemInRoom | ObjectState | AgentState,
    Field(discriminator="type"),
]
LoseCondition = Annotated[
    ItemInInventory | FlagIsSet | AgentInRoom | ItemInRoom | ObjectState | AgentState | MaxSteps,
    Field(discriminator="type"),
]
