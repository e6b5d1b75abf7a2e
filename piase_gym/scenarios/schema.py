"""The schema of scenario files, in the words of the PiaSE design document, as pydantic models.

`TextRoomScenario` is a whole text adventure. `WorldScenario` serves every other world: its
`initial_state` holds the fields of the world's config.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from piase_gym.core.config import AgentId
from piase_gym.core.limits import MOST_STEPS
from piase_gym.core.script import models
from piase_gym.core.shorthand import ShorthandModel
from piase_gym.scenarios.characters import Character
from piase_gym.worlds.text_room.levels.story import AgentSetup, Room, Thing
from piase_gym.worlds.text_room.levels.story_rules import (
    Condition,
    Event,
    LoseCondition,
    MaxSteps,
    Name,
    StepReached,
)

T = TypeVar("T")


def _how_many(given: Any) -> str:
    """Return whether a list or one entry is given, so that complaints are about that one alone."""
    return "list" if isinstance(given, list | tuple) else "one"


OneOrMore = Annotated[
    Annotated[T, Tag("one")] | Annotated[tuple[T, ...], Tag("list")], Discriminator(_how_many)
]
"""An entry, or a list of them."""


class ScenarioHead(ShorthandModel):
    """What every scenario file has."""

    scenario_name: str = Field(min_length=1, max_length=200, description="title of the scenario")
    environment_type: str = Field(description="the world: TextBasedRoom, TextRoom, GridWorld, ...")
    version: str = Field(
        "1.0",
        max_length=40,
        description="the version of this file",
        json_schema_extra={"type": ["string", "number"]},
    )
    description: str = Field("", max_length=2000, description="what it is about")
    base: str | None = Field(
        None,
        description="the scenario that this one extends: its name, or a path relative to this file",
    )
    rewards: dict[str, Any] = Field(
        default_factory=dict, description="entries of the world's reward table"
    )
    config: dict[str, Any] = Field(
        default_factory=dict, description="further fields of the world's config"
    )
    characters: tuple[Character, ...] = Field(
        (), description="simulated people, in TextRoom and GridWorld"
    )
    time_model: Literal["discrete_steps", "real_time_ms", "real_time", "event_based"] = Field(
        "discrete_steps", description="whether the world waits for the agents"
    )
    step_ms: int = Field(
        200,
        ge=1,
        le=600_000,
        description="length of a step of real_time_ms and period of event_based, in milliseconds",
    )
    max_wall_seconds: float | None = Field(
        None, gt=0, description="wall-clock budget of an episode in a simulation"
    )

    @field_validator("version", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int | float) else value

    @field_validator("description", mode="before")
    @classmethod
    def _one_line(cls, value: Any) -> Any:
        return " ".join(value.split()) if isinstance(value, str) else value


class TextRoomState(ShorthandModel):
    """The start of a text adventure."""

    rooms: dict[Name, Room] = Field(min_length=1, description="name -> room")
    object_details: dict[Name, Thing] = Field(default_factory=dict, description="name -> object")
    shuffle: tuple[tuple[Name, ...], ...] = Field(
        (), description="groups of objects in rooms that exchange places at random in each episode"
    )
    agent_setup: OneOrMore[AgentSetup] = Field(description="one agent or a list")


class TextRoomScenario(ScenarioHead):
    """A scenario of TextRoom."""

    initial_state: TextRoomState = Field(description="rooms, objects and agents")
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


class AgentPart(ShorthandModel):
    """One agent of a world that is not TextRoom."""

    agent_id: AgentId = Field(description="its name")
    start_pos: tuple[int | float, int | float] | None = Field(
        None, description="where it starts, in a world with positions"
    )
    goal: models.Words | None = Field(
        None, description="its task in words, for prompts and both views"
    )
    win_conditions: tuple[models.Condition, ...] = Field(
        (), description="conditions for winning (any)"
    )
    lose_conditions: tuple[models.Condition, ...] = Field(
        (), description="conditions for losing (any)"
    )
    reward: float = Field(0.0, description="reward for winning by these conditions")
    initial_agent_config: dict[str, Any] = Field(
        default_factory=dict, description="passed to the agent's `configure`"
    )
    prompt_reference: str | None = Field(None, description="a prompt file for the agent")


class WorldState(ShorthandModel):
    """The start of any other world: agents, and the fields of its config."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    agent_setup: OneOrMore[AgentPart] = Field((), description="one agent or a list")


class GoalReached(ShorthandModel):
    """An agent reaches what its world calls winning."""

    type: Literal["goal_reached"]
    agent_id: AgentId | None = Field(None, description="who; default: each agent")


class WorldEvent(ShorthandModel):
    """A condition, or a step, and what follows from it."""

    LISTED: ClassVar[tuple[str, ...]] = ("response",)

    name: Name | None = Field(None, description="its name in logs")
    trigger: StepReached | None = Field(None, description="a step; or give `when`")
    when: models.Condition | None = Field(None, description="a condition; or give `trigger`")
    on: Literal["becomes", "holds", "ends"] = Field(
        "becomes", description="when it becomes true, in each step while it holds, or when it ends"
    )
    count: int = Field(
        1,
        ge=1,
        le=MOST_STEPS,
        description="only every n-th occurrence counts, counted per agent",
    )
    times: models.Times = Field(
        "once", description="how often per episode: once, every time, at most n"
    )
    response: tuple[models.Response, ...] = Field(description="one response or a list of them")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.trigger is None) == (self.when is None):
            raise ValueError("an event has either `when` or `trigger`")
        return self

    def as_rule(self) -> models.Event:
        """Return it as an event of a script."""
        when = self.when
        if self.trigger is not None:
            when = models.FactHolds(fact="step", at_least=self.trigger.step)
        kept = {name: getattr(self, name) for name in ("name", "on", "count", "times", "response")}
        return models.Event(when=when, **kept)


def _of_world(kind: str, field: str) -> Any:
    """Return the discriminator between the world's own word for an end and a condition."""

    def tell(value: Any) -> str:
        found = value.get("type") if isinstance(value, Mapping) else getattr(value, "type", None)
        return field if found == kind else "condition"

    return Discriminator(tell)


WinCondition = Annotated[
    Annotated[GoalReached, Tag("goal")] | Annotated[models.Condition, Tag("condition")],
    _of_world("goal_reached", "goal"),
]
LoseWhen = Annotated[
    Annotated[MaxSteps, Tag("time")] | Annotated[models.Condition, Tag("condition")],
    _of_world("max_steps_reached", "time"),
]


class WorldScenario(ScenarioHead):
    """A scenario of any world but TextRoom; unless it says when it is won, the world decides."""

    LISTED: ClassVar[tuple[str, ...]] = ("shaping",)

    initial_state: WorldState = Field(
        default_factory=lambda: WorldState(), description="agents and fields of the world's config"
    )
    win_conditions: tuple[WinCondition, ...] = Field((), description="conditions for winning")
    win_logic: Literal["any", "all"] = Field("any", description="whether one of them is enough")
    lose_conditions: tuple[LoseWhen, ...] = Field((), description="conditions for losing (any)")
    ends: Literal["together", "each"] = Field(
        "together", description="whether a win or loss counts for everybody or for each agent alone"
    )
    win_reward: float = Field(0.0, description="reward for those who win by these conditions")
    lose_reward: float = Field(0.0, description="reward for those who lose by these conditions")
    shaping: tuple[models.Shaping, ...] = Field((), description="rewards along the way")
    events: tuple[WorldEvent, ...] = Field((), max_length=100, description="what happens when")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files (draft 2020-12), for editors."""
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(TextRoomScenario | WorldScenario)
    schema = adapter.json_schema(mode="validation")
    extends = {"type": "object", "required": ["base"], "properties": {"base": {"type": "string"}}}
    schema["anyOf"].append({"description": "what changes in a scenario", **extends})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "piase_gym scenario",
        **schema,
    }
