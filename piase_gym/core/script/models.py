"""A script as data: goals, win and lose conditions, events with responses, and reward shaping.

A condition is about an agent, called the subject: for each agent it holds or not. A condition that
names an agent (or ``any``, ``all``) is the same for every subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from piase_gym.core.limits import MOST_STEPS, Reward
from piase_gym.core.shorthand import ShorthandModel

Name = Annotated[str, Field(pattern=r"^[^\W\d_][\w' -]*$", max_length=40)]
Someone = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=40)]
Words = Annotated[str, Field(min_length=1, max_length=300)]
Place = tuple[float, ...]
Value = bool | float | str | Place
Times = Literal["once", "every"] | Annotated[int, Field(ge=1, le=MOST_STEPS)]


# -- conditions -----------------------------------------------------------------------------------


class FactHolds(ShorthandModel):
    """A fact of the world is as required: all comparisons that are given hold."""

    fact: str = Field(max_length=60, description="its name; each world's page lists the facts")
    agent_id: Someone | None = Field(
        None, description="whose: a name, `any` or `all`; default: the agent in question"
    )
    of: str | Place | None = Field(None, description="what the fact is about, if it needs that")
    equals: Value | None = Field(None, description="the number, word or place that it must equal")
    one_of: tuple[Value, ...] | None = Field(
        None, min_length=1, description="or several, one of which it must equal"
    )
    at_least: float | None = Field(None, description="the least number allowed")
    at_most: float | None = Field(None, description="the greatest number allowed")
    contains: Words | None = Field(None, description="words that the text must contain")
    within: float | None = Field(
        None, ge=0, description="allowed distance from the place in `equals`; default: 0"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        limits = (self.equals, self.one_of, self.at_least, self.at_most, self.contains)
        if all(limit is None for limit in limits):
            raise ValueError(
                "nothing is compared; allowed: equals, one_of, at_least, at_most, contains"
            )
        if self.within is not None and not isinstance(self.equals, tuple):
            raise ValueError("within goes with a place in equals")
        low, high = self.at_least, self.at_most
        if low is not None and high is not None and low > high:
            raise ValueError(f"nothing is at least {low:g} and at most {high:g}")
        return self


class FlagIsSet(ShorthandModel):
    """A flag of an agent is set."""

    flag: Name = Field(description="its name")
    agent_id: Someone | None = Field(
        None, description="whose: a name, `any` or `all`; default: the agent in question"
    )


class MilestoneReached(ShorthandModel):
    """An agent has reached a milestone of the world or of the script."""

    milestone: Name = Field(description="its name")
    agent_id: Someone | None = Field(
        None, description="whose: a name, `any` or `all`; default: the agent in question"
    )


class AllHold(ShorthandModel):
    """All conditions in a list hold."""

    all: tuple[Condition, ...] = Field(min_length=1)


class AnyHolds(ShorthandModel):
    """At least one condition in a list holds."""

    any: tuple[Condition, ...] = Field(min_length=1)


class NoneHolds(ShorthandModel):
    """No condition in a list holds; ``not: {...}`` is short for a list of one."""

    SHORT: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "required": ["not"],
        "properties": {"not": {"type": "object"}},
        "additionalProperties": False,
    }

    none: tuple[Condition, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _read_not(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "not" in value:
            rest = {key: value[key] for key in value if key != "not"}
            return {"none": [value["not"]], **rest}
        return value


_KINDS = {kind: kind for kind in "fact flag milestone all any none".split()} | {"not": "none"}
CONDITION_KEYS = tuple(_KINDS)


def _kind(value: Any) -> str | None:
    """Tell conditions apart by the key that says what they are about."""
    if isinstance(value, ShorthandModel):
        return next((kind for kind in _KINDS if kind in type(value).model_fields), None)
    if isinstance(value, Mapping):
        return next((_KINDS[key] for key in _KINDS if key in value), None)
    return None


Condition = Annotated[
    Annotated[FactHolds, Tag("fact")]
    | Annotated[FlagIsSet, Tag("flag")]
    | Annotated[MilestoneReached, Tag("milestone")]
    | Annotated[AllHold, Tag("all")]
    | Annotated[AnyHolds, Tag("any")]
    | Annotated[NoneHolds, Tag("none")],
    Discriminator(
        _kind,
        custom_error_type="condition",
        custom_error_message=f"a condition has one of the keys {', '.join(CONDITION_KEYS)}; of its "
        "own type are goal_reached (to win) and max_steps_reached (to lose)",
    ),
]

for _compound in (AllHold, AnyHolds, NoneHolds):
    _compound.model_rebuild(force=True)  # what their conditions are is known from here on


def parts(condition: Any) -> tuple[Any, ...]:
    """Return the conditions that a condition is made of, or nothing."""
    for key in ("all", "any", "none"):
        if key in type(condition).model_fields:
            found: tuple[Any, ...] = getattr(condition, key)
            return found
    return ()


def leaves(condition: Any) -> Iterator[Any]:
    """Yield the innermost conditions of a condition."""
    inside = parts(condition)
    for part in inside:
        yield from leaves(part)
    if not inside:
        yield condition


# -- responses ------------------------------------------------------------------------------------

Whom = Annotated[
    Someone | None,
    Field(description="which agents: a name, `all`, `others`; default: whoever caused it, or all"),
]


class Message(ShorthandModel):
    """Tell agents something: both views show it until the next message."""

    type: Literal["message_to_agent", "hint"]
    content: Words = Field(description="what is said")
    agent_id: Whom = None


class LogMilestone(ShorthandModel):
    """Note a milestone, once per agent."""

    type: Literal["log_milestone"]
    milestone_name: Name = Field(description="its name")
    agent_id: Whom = None


class SetFlag(ShorthandModel):
    """Set or clear a flag."""

    type: Literal["set_flag"]
    flag_name: Name = Field(description="its name")
    value: bool = Field(True, description="True to set it, False to clear it")
    agent_id: Whom = None


class GiveReward(ShorthandModel):
    """Reward or punish."""

    type: Literal["reward"]
    amount: Reward = Field(description="size of the reward")
    agent_id: Whom = None


class AddMetric(ShorthandModel):
    """Add to a measure of the episode, such as harm done."""

    type: Literal["add_metric"]
    metric: Name = Field(description="its name")
    amount: float = Field(1.0, description="what to add")
    agent_id: Whom = None


class SpawnObject(ShorthandModel):
    """Make something appear, where there is room for it."""

    type: Literal["spawn_object"]
    object: str = Field(max_length=60, description="what appears; each world's page lists what can")
    place: Place | str = Field(description="where")


class RemoveObject(ShorthandModel):
    """Make something vanish: what is at a place, or everything of a kind."""

    type: Literal["remove_object"]
    object: str | None = Field(
        None, max_length=60, description="what vanishes; default: whatever is there"
    )
    place: Place | str | None = Field(None, description="where; default: everywhere")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.object is None and self.place is None:
            raise ValueError("remove_object names an object, a place, or both")
        return self


class ChangeSetting(ShorthandModel):
    """Change a field of the config that may change within an episode, until the episode ends."""

    type: Literal["change_setting"]
    setting: str = Field(max_length=60, description="the field; each world's page lists them")
    value: Any = Field(description="its new value")

    def __hash__(self) -> int:
        """Hash it, though its value may be a mapping, such as a table of rewards."""
        return hash((self.setting, repr(self.value)))


class End(ShorthandModel):
    """End the episode."""

    type: Literal["end"]
    result: Literal["won", "lost"] = Field("lost", description="how it ends")
    agent_id: Whom = Field("all", description="for whom: a name, `all` or `others`")


Response = Annotated[
    Message
    | LogMilestone
    | SetFlag
    | GiveReward
    | AddMetric
    | SpawnObject
    | RemoveObject
    | ChangeSetting
    | End,
    Field(discriminator="type"),
]


# -- the script -----------------------------------------------------------------------------------


class Event(ShorthandModel):
    """What happens when a condition becomes true."""

    LISTED: ClassVar[tuple[str, ...]] = ("response",)

    name: Name | None = Field(None, description="its name in logs; default: event_1, event_2, ...")
    when: Condition = Field(description="the condition, checked after each step")
    on: Literal["becomes", "holds", "ends"] = Field(
        "becomes", description="when it becomes true, in each step while it holds, or when it ends"
    )
    count: int = Field(
        1,
        ge=1,
        le=MOST_STEPS,
        description="only every n-th occurrence counts, counted per agent",
    )
    times: Times = Field("once", description="how often per episode: once, every time, at most n")
    response: tuple[Response, ...] = Field(description="one response or a list of them")

    @property
    def most(self) -> int:
        """The largest number of times that it can happen in an episode."""
        return {"once": 1, "every": MOST_STEPS}.get(self.times, self.times)  # type: ignore


class Goal(ShorthandModel):
    """One agent's task, in words and as conditions."""

    agent_id: Someone = Field(description="whose task it is")
    words: Words | None = Field(None, description="the task in words, for prompts and both views")
    win_conditions: tuple[Condition, ...] = Field((), description="conditions for winning (any)")
    lose_conditions: tuple[Condition, ...] = Field((), description="conditions for losing (any)")
    reward: Reward = Field(0.0, description="reward for winning")


class Shaping(ShorthandModel):
    """A reward for each unit by which a fact grows in a step, for the agent whose fact it is."""

    fact: str = Field(max_length=60, description="a fact that is a number")
    of: str | Place | None = Field(None, description="what the fact is about, if it needs that")
    weight: Reward = Field(description="reward per unit; negative where less is better")
    agent_id: Someone | None = Field(
        None, description="the only agent that gets it; default: everybody"
    )


class Script(ShorthandModel):
    """What a scenario adds to a world."""

    goals: tuple[Goal, ...] = Field((), description="the agents' own goals")
    win_conditions: tuple[Condition, ...] = Field((), description="conditions for winning")
    win_logic: Literal["any", "all"] = Field("any", description="whether one of them is enough")
    lose_conditions: tuple[Condition, ...] = Field((), description="conditions for losing (any)")
    ends: Literal["together", "each"] = Field(
        "together", description="whether a win or loss counts for everybody or for each agent alone"
    )
    win_reward: Reward = Field(0.0, description="reward for those who win by these conditions")
    lose_reward: Reward = Field(0.0, description="reward for those who lose by these conditions")
    shaping: tuple[Shaping, ...] = Field((), description="rewards along the way")
    events: tuple[Event, ...] = Field((), max_length=100, description="what happens when")

    @property
    def tasks(self) -> bool:
        """Whether it says when somebody has won, so that time running out is a defeat."""
        return bool(self.win_conditions or any(goal.win_conditions for goal in self.goals))

    def responses(self, kind: type[Any]) -> list[Any]:
        """Return the responses of one kind, in order."""
        found = [r for event in self.events for r in event.response]
        return [response for response in found if isinstance(response, kind)]

    def _named(self, kind: type[Any], field: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(getattr(r, field) for r in self.responses(kind)))

    @property
    def milestones(self) -> tuple[str, ...]:
        """The milestones that its events note."""
        return self._named(LogMilestone, "milestone_name")

    @property
    def metrics(self) -> tuple[str, ...]:
        """The measures that its events add to."""
        return self._named(AddMetric, "metric")

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that its events set or clear."""
        return self._named(SetFlag, "flag_name")

    @property
    def settings(self) -> tuple[str, ...]:
        """The fields of the config that its events change."""
        return self._named(ChangeSetting, "setting")
