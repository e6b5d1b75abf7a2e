"""The rules of a story as data: conditions, triggers, events, interactions and responses."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from piase_gym.core.config import AgentId
from piase_gym.core.limits import MOST_STEPS, Reward
from piase_gym.core.shorthand import ShorthandModel

VERBS = ("look", "go", "take", "drop", "put", "open", "close", "unlock", "use", "read", "search")
"""The verbs that interactions and `action_taken` triggers can name, besides those below."""
SPOKEN = ("say", "tell", "give", "inventory", "wait")

Direction = Literal[
    "north",
    "east",
    "south",
    "west",
    "northeast",
    "southeast",
    "southwest",
    "northwest",
    "up",
    "down",
    "in",
    "out",
]
DIRECTIONS: tuple[str, ...] = get_args(Direction)
OPPOSITE = dict(
    pair
    for one, other in (
        ("north", "south"),
        ("east", "west"),
        ("northeast", "southwest"),
        ("southeast", "northwest"),
        ("up", "down"),
        ("in", "out"),
    )
    for pair in ((one, other), (other, one))
)
"""The way back, for each direction."""
Name = Annotated[
    str, Field(pattern=r"^[^\W\d_][\w' -]*$", max_length=40, description="letters, digits, _ - '")
]
"""The name of a room, thing, flag, ...; it starts with a letter, in any alphabet."""
Prose = Annotated[str, Field(max_length=2000)]
Who = Annotated[AgentId | None, Field(description="who; default: anybody")]
Whose = Annotated[AgentId | None, Field(description="whose; default: anybody's")]
Agents = AgentId | Literal["all"] | None


class Part(ShorthandModel):
    """Common settings of the parts of a story. A list in `LISTED` may be given as one entry."""

    @field_validator("description", "read_text", "content", mode="before", check_fields=False)
    @classmethod
    def _join(cls, text: object) -> object:
        """Join the lines of a description."""
        return " ".join(text.split()) if isinstance(text, str) else text


class ItemInInventory(Part):
    """An agent carries an item."""

    type: Literal["item_in_inventory"]
    item_name: Name = Field(description="the item")
    agent_id: Who = None


class FlagIsSet(Part):
    """A flag of an agent is set."""

    type: Literal["flag_set"]
    flag_name: Name = Field(description="the flag, such as has_read_old_document")
    agent_id: Whose = None


class AgentInRoom(Part):
    """An agent is in a room."""

    type: Literal["agent_in_room"]
    room: Name = Field(description="the room")
    agent_id: Who = None


class ItemInRoom(Part):
    """An object lies in a room, perhaps on something without a lid, and not in a hand or a box."""

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
    """An expression about an agent's state is true, such as ``energy <= 0``."""

    type: Literal["agent_state_condition"]
    condition: str = Field(
        max_length=500,
        description="rule-engine expression over stats, room, inventory, flags and steps",
    )
    agent_id: Whose = None


class MaxSteps(Part):
    """A number of steps have been taken; the episode is then truncated, and lost."""

    type: Literal["max_steps_reached"]
    steps: int = Field(ge=1, le=MOST_STEPS, description="how many steps")


_OfState = ItemInInventory | FlagIsSet | AgentInRoom | ItemInRoom | ObjectState | AgentState
Condition = Annotated[_OfState, Field(discriminator="type")]
LoseCondition = Annotated[_OfState | MaxSteps, Field(discriminator="type")]


class Message(Part):
    """Tell agents something, from the sender ``system``."""

    type: Literal["message_to_agent"]
    content: Prose = Field(min_length=1, description="what is said")
    agent_id: Agents = Field(None, description="whom to tell; default: whoever caused the event")


class LogMilestone(Part):
    """Note a milestone, once per agent."""

    type: Literal["log_milestone"]
    milestone_name: Name = Field(description="its name")
    agent_id: AgentId | None = Field(None, description="whose; default: whoever caused the event")


class SetFlag(Part):
    """Set or clear a flag of an agent."""

    type: Literal["set_flag"]
    flag_name: Name = Field(description="its name")
    value: bool = Field(True, description="True to set it, False to clear it")
    agent_id: Agents = Field(None, description="whose; default: whoever caused the event")


class ChangeState(Part):
    """Change an object or the description of a room."""

    type: Literal["change_state"]
    object: Name | None = Field(None, description="the object to change")
    room: Name | None = Field(None, description="or the room to change")
    is_open: bool | None = Field(None, description="open or close it")
    locked: bool | None = Field(None, description="lock or unlock it")
    description: Prose | None = Field(None, description="its description from now on")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.object is None) == (self.room is None):
            raise ValueError("change_state names either an object or a room")
        if self.room is not None and (self.is_open is not None or self.locked is not None):
            raise ValueError("a room has a description to change, but no is_open and no locked")
        return self


class SpawnObject(Part):
    """Make an object appear: in a room, in another object, or in an agent's hands."""

    type: Literal["spawn_object"]
    object: Name = Field(description="an object in object_details that is nowhere yet")
    room: Name | None = Field(None, description="the room; default: the agent's")
    container: Name | None = Field(None, description="or the object to put it into")
    agent_id: AgentId | None = Field(None, description="or the agent to give it to")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(place is not None for place in (self.room, self.container, self.agent_id)) > 1:
            raise ValueError("spawn_object names one of room, container and agent_id")
        return self


class RemoveObject(Part):
    """Make an object vanish, together with what is in it."""

    type: Literal["remove_object"]
    object: Name = Field(description="the object")


class MoveAgent(Part):
    """Move an agent to a room."""

    type: Literal["move_agent"]
    room: Name = Field(description="the room that it is moved to")
    agent_id: AgentId | None = Field(None, description="whom; default: whoever caused the event")


class ChangeStat(Part):
    """Add to a number of an agent, such as its energy."""

    type: Literal["change_stat"]
    stat: Name = Field(description="a name from the agent's stats")
    amount: float = Field(description="what to add")
    agent_id: AgentId | None = Field(None, description="whose; default: whoever caused the event")


class AddMetric(Part):
    """Add to a metric of the whole episode, such as harm done."""

    type: Literal["add_metric"]
    metric: Name = Field(description="its name")
    amount: float = Field(1.0, description="what to add")


class GiveReward(Part):
    """Reward or punish an agent."""

    type: Literal["reward"]
    amount: Reward = Field(description="size of the reward")
    agent_id: Agents = Field(None, description="whom; default: whoever caused the event")


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


class ActionTaken(Part):
    """An agent has done something for the `count`-th time."""

    type: Literal["action_taken"]
    action_type: str = Field(description="the verb")
    target: Name | None = Field(None, description="what it was done to")
    item_name: Name | None = Field(None, description="what it was done with")
    agent_id: Who = None
    count: int = Field(1, ge=1, le=MOST_STEPS, description="how many times, counted per agent")
    outcome: Literal["ok", "failed", "any"] = Field("ok", description="which attempts count")


class ItemFound(Part):
    """An item comes to light for the first time: it is revealed, uncovered or taken."""

    type: Literal["item_found"]
    item_name: Name = Field(description="the item")
    agent_id: AgentId | None = Field(None, description="by whom; default: anybody")


class FlagSet(Part):
    """A flag has just been set."""

    type: Literal["flag_set"]
    flag_name: Name = Field(description="the flag")
    agent_id: Whose = None


class StepReached(Part):
    """A number of steps have been taken."""

    type: Literal["step_reached"]
    step: int = Field(ge=1, le=MOST_STEPS, description="how many steps")


class AgentEnters(Part):
    """An agent has entered a room."""

    type: Literal["agent_enters"]
    room: Name = Field(description="the room")
    agent_id: Who = None


class AgentLeaves(Part):
    """An agent has left a room; with `last`, nobody in play may remain there."""

    type: Literal["agent_leaves"]
    room: Name = Field(description="the room")
    agent_id: Who = None
    last: bool = Field(False, description="whether it counts only if nobody in play remains there")


Trigger = Annotated[
    ActionTaken | ItemFound | FlagSet | StepReached | AgentEnters | AgentLeaves,
    Field(discriminator="type"),
]


class Event(Part):
    """A trigger and what follows from it."""

    LISTED: ClassVar[tuple[str, ...]] = ("response",)

    name: Name | None = Field(
        None, description="its name in logs; default: the kind of its trigger"
    )
    trigger: Trigger = Field(description="what sets it off")
    conditions: tuple[Condition, ...] = Field((), description="what else must hold")
    response: tuple[Response, ...] = Field(description="one response or a list of them")
    repeat: bool = Field(False, description="False: once per episode; True: each time")


class Interaction(Part):
    """What happens when an agent does something to an object: a rule of the object's own.

    It replaces the usual effect of the verb when its conditions hold.
    """

    LISTED: ClassVar[tuple[str, ...]] = ("response",)

    action: Literal["use", "look", "open", "search", "read", "take"] = Field(
        "use", description="the verb"
    )
    item_name: Name | None = Field(None, description="for `use X on <this>`: the X")
    conditions: tuple[Condition, ...] = Field((), description="what must hold; see `otherwise`")
    content: Prose = Field("Something happens.", description="what the agent is told")
    otherwise: Prose | None = Field(None, description="what the agent is told if they do not hold")
    response: tuple[Response, ...] = Field((), description="what happens")
    consumes: bool = Field(False, description="whether the item is used up")
