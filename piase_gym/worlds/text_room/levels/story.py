"""A story: the rooms, things, agents, conditions and events of one text adventure, as data.

The models use the terms of the PiaSE design document's scenario files (`rooms`, `object_details`,
`agent_setup`, `win_conditions`, ...). They check types; `validation`, next to this file, checks
that a story makes sense.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from piase_gym.core.config import AgentId
from piase_gym.core.limits import MOST_STEPS
from piase_gym.core.shorthand import as_list
from piase_gym.worlds.text_room.levels.story_rules import (
    Condition,
    Direction,
    Event,
    Interaction,
    LoseCondition,
    Name,
    Part,
    Prose,
)


class Exit(Part):
    """A way out of a room; the name of a room alone will do."""

    SHORT: ClassVar[dict[str, str]] = {"type": "string"}

    room: Name = Field(description="where it leads")
    door: Name | None = Field(None, description="an object that must be open to pass")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return {"room": value} if isinstance(value, str) else value


class Room(Part):
    """A room."""

    description: Prose = Field("", description="what an agent sees, such as 'a dim study.'")
    exits: dict[Direction, Exit] = Field(default_factory=dict, description="direction -> room")
    objects: tuple[Name, ...] = Field((), description="what stands or lies here at the start")


class Thing(Part):
    """An object. What can be set here can also be set under `custom_properties`."""

    LISTED: ClassVar[tuple[str, ...]] = ("hidden_item", "interactions")

    description: Annotated[str, Field(max_length=500)] = Field("", description="how it looks")
    can_be_taken: bool | None = Field(
        None, description="whether agents can take it; default: if hidden or carried at the start"
    )
    is_container: bool | None = Field(
        None, description="whether it holds things; default: if it contains something"
    )
    has_lid: bool = Field(True, description="whether a container can be closed; else it is open")
    is_open: bool = Field(False, description="whether a container or door is open")
    locked: bool = Field(False, description="whether it must be unlocked before it opens")
    key_required: Name | None = Field(None, description="the item that unlocks it")
    contains: tuple[Name, ...] = Field((), description="what is in it")
    hidden_item: tuple[Name, ...] = Field(
        (),
        description="what is revealed by searching it, or by opening it if it is no container and "
        "cannot be taken",
    )
    read_text: Prose | None = Field(None, description="what there is to read")
    searchable: bool | None = Field(None, description="False: searching it fails")
    interactions: tuple[Interaction, ...] = Field((), description="rules of the object's own")
    custom_properties: dict[str, Any] = Field(
        default_factory=dict, description="further values, which are kept"
    )

    @field_validator("hidden_item", "interactions", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else as_list(value)

    @model_validator(mode="before")
    @classmethod
    def _lift(cls, value: Any) -> Any:
        """Move the fields that this model knows from `custom_properties` to the top level."""
        if not isinstance(value, dict) or not isinstance(value.get("custom_properties"), dict):
            return value
        own = set(cls.model_fields) - {"custom_properties"}
        custom = value["custom_properties"]
        lifted = {key: entry for key, entry in custom.items() if key in own}
        twice = [key for key in lifted if key in value and value[key] != lifted[key]]
        if twice:
            raise ValueError(f"{twice[0]!r} is set twice, with different values")
        rest = {key: entry for key, entry in custom.items() if key not in own}
        return {**value, **lifted, "custom_properties": rest}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.locked and (self.is_open or not self.has_lid):
            raise ValueError("it is locked and open at once")
        return self


class Stat(Part):
    """A number that belongs to an agent, such as its energy; a bare number sets `start`."""

    SHORT: ClassVar[dict[str, str]] = {"type": "number"}

    start: float = Field(description="its value at the start")
    per_step: float = Field(0.0, description="what each step adds")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return {"start": value} if number else value


class AgentSetup(Part):
    """One agent: who it is, where it starts, and with what."""

    agent_id: AgentId = Field(description="its name")
    start_room: Name = Field(description="where it starts")
    initial_inventory: tuple[Name, ...] = Field((), description="what it carries at the start")
    initial_flags: tuple[Name, ...] = Field((), description="flags that are set at the start")
    stats: dict[Name, Stat] = Field(default_factory=dict, description="numbers such as its energy")
    goal: Prose | None = Field(None, description="its task in words, for prompts")
    join_at: int = Field(0, ge=0, le=MOST_STEPS, description="the step at which it enters")
    initial_agent_config: dict[str, Any] = Field(
        default_factory=dict, description="passed to the agent's `configure`"
    )
    prompt_reference: str | None = Field(None, description="a prompt file for the agent")


class Story(Part):
    """A whole text adventure."""

    LISTED: ClassVar[tuple[str, ...]] = ("agent_setup",)

    description: Prose = Field("", description="what it is about, for prompts")
    rooms: dict[Name, Room] = Field(min_length=1, description="name -> room")
    object_details: dict[Name, Thing] = Field(default_factory=dict, description="name -> object")
    shuffle: tuple[tuple[Name, ...], ...] = Field(
        (), description="groups of objects in rooms that exchange places at random in each episode"
    )
    agent_setup: tuple[AgentSetup, ...] = Field(min_length=1, description="one agent or a list")
    win_conditions: tuple[Condition, ...] = Field(
        min_length=1, description="conditions for winning"
    )
    win_logic: Literal["any", "all"] = Field("any", description="whether one of them is enough")
    lose_conditions: tuple[LoseCondition, ...] = Field(
        (), description="conditions for losing (any)"
    )
    ends: Literal["together", "each"] = Field(
        "together", description="whether a win or loss counts for everybody or for each agent alone"
    )
    events: tuple[Event, ...] = Field((), description="triggers and responses")

    @field_validator("agent_setup", mode="before")
    @classmethod
    def _cast(cls, value: Any) -> Any:
        return as_list(value)
