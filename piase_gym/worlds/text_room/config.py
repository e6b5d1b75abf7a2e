"""TextRoom's config: a written story, or the parameters of generated quests."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, model_validator

from piase_gym.core.limits import MOST_STEPS, Reward
from piase_gym.worlds.text_room.levels import names, words
from piase_gym.worlds.text_room.levels.recall import MOST_DELAY, recall_story
from piase_gym.worlds.text_room.levels.story import Story
from piase_gym.worlds.text_room.levels.story_rules import AddMetric, MaxSteps
from piase_gym.worlds.text_room.levels.validation import problems
from piase_gym.worlds.texts.config import TextConfig, TextEnvelope, TextRewards

MAX_AGENTS = 16
MOST_PARTS, MOST_TEXT = 1000, 10**7
"""The most rooms, objects, flags and so on of a story, each, and characters of a moment."""
MAX_MESSAGE = 200
"""Longest message between agents, in characters."""
MAX_FEEDBACK = 600
"""Longest answer to a command, in characters; the rest is cut off."""
DEFAULT_STEPS = 200
PHRASES = ("hello", "yes", "no", "I need help.", "Come here.", "Wait there.", "It is done.")
"""What can be said by index; text actions can say anything."""


class Rewards(TextRewards):
    """TextRoom's reward table."""

    win: Reward = Field(10.0, description="winning")
    lose: Reward = Field(-10.0, description="losing by a condition, not by time")
    step: Reward = Field(-0.1, description="every step")
    milestone: Reward = Field(1.0, description="the first time a milestone is reached")
    failed: Reward = Field(0.0, description="a command without effect")
    illegal: Reward = Field(-1.0, description="an illegal or unreadable command")


class TextRoomEnvelope(TextEnvelope):
    """The sizes that fix TextRoom's spaces."""

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="most agents")
    rooms: int = Field(1, ge=1, le=MOST_PARTS, description="most rooms")
    items: int = Field(0, ge=0, le=MOST_PARTS, description="most objects that can be taken")
    fixtures: int = Field(0, ge=0, le=MOST_PARTS, description="most objects that cannot be taken")
    stats: int = Field(0, ge=0, le=MOST_PARTS, description="most numbers of an agent's body")
    flags: int = Field(0, ge=0, le=MOST_PARTS, description="most flags")
    events: int = Field(0, ge=0, le=MOST_PARTS, description="most events")
    metrics: int = Field(0, ge=0, le=MOST_PARTS, description="most metrics")
    memory: int = Field(0, ge=0, le=1, description="1 if there is room for what was seen")
    text: int = Field(
        2000, ge=1, le=MOST_TEXT, description="longest words of a moment, in characters"
    )

    @property
    def objects(self) -> int:
        """The most objects."""
        return self.items + self.fixtures


class TextRoomConfig(TextConfig):
    """Everything about a TextRoom that can be set; see `TextRoom` for what it means."""

    world: ClassVar[str] = "TextRoom"
    has_places: ClassVar[bool] = True
    length_unit: ClassVar[str] = "rooms"

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="how many agents take part")
    max_steps: int = Field(DEFAULT_STEPS, ge=1, le=MOST_STEPS, description="steps until truncation")
    story: Story | None = Field(None, description="a written story; default: quests are generated")
    rooms: int = Field(5, ge=1, le=words.MOST_ROOMS, description="rooms of a generated quest")
    depth: int = Field(
        2, ge=0, le=words.MOST_DEPTH, description="obstacles on the way in a generated quest"
    )
    distractors: int = Field(
        3, ge=0, le=words.MOST_DISTRACTORS, description="objects that nobody needs"
    )
    theme: Literal["house", "castle", "ship"] = Field(
        "house", description="vocabulary of generated quests"
    )
    recall: Annotated[int, Field(strict=True, ge=0, le=MOST_DELAY)] | Literal["map"] | None = Field(
        None,
        description="'map': agents are also shown what they have seen before; a number: steps "
        "between cue and choice in a delayed recall, in place of a story",
    )
    hearing: Literal["everywhere", "room"] = Field(
        "everywhere", description="who hears what is said: everybody, or those in the same room"
    )
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")
    envelope: TextRoomEnvelope | None = Field(None, description="largest sizes")

    @model_validator(mode="before")
    @classmethod
    def _follow_the_story(cls, data: Any) -> Any:
        """Take the number of agents and of steps from the story, where they are not given."""
        if not isinstance(data, dict):
            return data
        if type(data.get("recall")) is int and 0 <= data["recall"] <= MOST_DELAY:
            data = _recalling(data)
        if data.get("story") is None:
            return data
        story = data["story"]
        if not isinstance(story, Story):
            try:
                story = Story.model_validate(story)
            except ValidationError:
                return data  # validation of the field itself then reports the error, with its place
        filled = {"agents": len(story.agent_setup)}
        if limits := _limits(story):
            filled["max_steps"] = min(limits)
        return {**filled, **data, "story": story}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.story is None:
            return self
        count = len(self.story.agent_setup)
        if self.agents < count:
            raise ValueError(f"agents={self.agents}, but the story has {count} agents")
        wrong = [p for p in problems(self.story) if p.fatal]
        if wrong:
            problems_found = (f"{'.'.join(map(str, p.path))}: {p.message}" for p in wrong)
            raise ValueError("the story cannot be played: " + "; ".join(problems_found))
        return self

    def names(self, count: int | None = None) -> tuple[str, ...]:
        """Return the agents' names: `agent_ids`, else those of the story."""
        if self.agent_ids is None and self.story is not None:
            own = tuple(agent.agent_id for agent in self.story.agent_setup)
            count = self.agents if count is None else count
            rest = tuple(f"{self.agent_kind}_{i}" for i in range(len(own), count))
            return (own + rest)[:count]
        return super().names(count)

    def sizes(self) -> TextRoomEnvelope:
        """Return this config's own sizes."""
        if self.story is None:
            quest_names = words.quest_names(self.theme, self.rooms, self.depth, self.distractors)
            return TextRoomEnvelope(
                agents=self.agents,
                message_history=self.message_history,
                rooms=self.rooms,
                items=len(quest_names.items),
                fixtures=len(quest_names.fixtures),
                memory=int(self.recall == "map"),
                text=words.LONGEST_ROOM + words.LONGEST_OBJECT * quest_names.size,
            )
        story = self.story
        takeable = names.takeable(story)
        stats = {name for agent in story.agent_setup for name in agent.stats}
        metrics = {r.metric for r, _ in names.responses(story) if isinstance(r, AddMetric)}
        return TextRoomEnvelope(
            agents=self.agents,
            message_history=self.message_history,
            rooms=len(story.rooms),
            items=sum(takeable.values()),
            fixtures=len(takeable) - sum(takeable.values()),
            stats=len(stats),
            flags=len(names.flags(story)),
            events=len(story.events),
            metrics=len(metrics),
            memory=int(self.recall == "map"),
            text=longest_words(story),
        )


def _limits(story: Story) -> list[int]:
    """Return the numbers of steps that end a story."""
    return [c.steps for c in story.lose_conditions if isinstance(c, MaxSteps)]


def _recalling(data: dict[str, Any]) -> dict[str, Any]:
    """Insert the story of a delayed recall, and drop steps that follow from another story."""
    old, agents = data.get("story"), data.get("agents", 1)
    limits = _limits(old) if isinstance(old, Story) else []
    kept = {key: v for key, v in data.items() if key != "max_steps" or v not in limits}
    count = agents if agents in range(1, MAX_AGENTS + 1) else 1
    return {**kept, "story": recall_story(data["recall"], count)}


def longest_words(story: Story) -> int:
    """Return an upper bound on the characters that rooms, objects and events can show at once.

    One character may be escaped as ten.
    """

    def length(text: str) -> int:
        return sum(1 if " " <= char <= "~" else 10 for char in text)

    changed = [getattr(r, "description", None) or "" for r, _ in names.responses(story)]
    extra = max(map(length, changed), default=0)
    rooms = max(length(name) + length(room.description) for name, room in story.rooms.items())
    objects = [
        3 * length(name) + length(names.thing_of(story, name).description)
        for name in names.all_objects(story)
    ]
    messages = sum(length(getattr(r, "content", "")) for r, _ in names.responses(story))
    longest = max(map(length, names.all_objects(story)), default=0)
    goals = [length(setup.goal or "") for setup in story.agent_setup]
    rooms += sum(map(length, story.rooms)) + max(goals) + 900 * len(story.win_conditions)
    return rooms + sum(objects) + len(objects) * (60 + longest + extra) + extra + messages + 200
