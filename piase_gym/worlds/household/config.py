"""Household's config: a given game, a folder of games, or homes to generate."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from piase_gym.core.config import RecallConfig
from piase_gym.core.limits import MOST_STEPS, Reward
from piase_gym.worlds.household.actions import PHRASES
from piase_gym.worlds.household.levels import files, words
from piase_gym.worlds.texts.config import TextConfig, TextEnvelope, TextRewards

MAX_AGENTS = 8
MOST_THINGS, MOST_COMMANDS = 1000, 10_000
"""The most receptacles and objects of a home, and commands that an agent has at once."""
MAX_MESSAGE = 200
"""Longest message between agents, in characters."""
ANY_GAME = 80, 140, 220
"""Receptacles, objects and commands of folders of games: only games that are played are read."""


class Rewards(TextRewards):
    """Household's reward table."""

    win: Reward = Field(1.0, description="winning, for everybody")
    subgoal: Reward = Field(
        0.0, description="the first time a milestone is reached, for who did it"
    )


class HouseholdEnvelope(TextEnvelope):
    """The sizes that fix Household's spaces."""

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="most agents")
    receptacles: int = Field(1, ge=1, le=MOST_THINGS, description="most receptacles")
    objects: int = Field(1, ge=1, le=MOST_THINGS, description="most objects")
    commands: int = Field(
        1, ge=1, le=MOST_COMMANDS, description="most commands that an agent has at once"
    )

    @property
    def actions(self) -> int:
        """The most commands, including speech, which depends on the number of agents."""
        return self.commands + (self.agents * len(PHRASES) if self.agents > 1 else 0)


class HouseholdConfig(TextConfig, RecallConfig):
    """Everything about a Household that can be set; see `Household` for what it means."""

    world: ClassVar[str] = "Household"
    levels = words.LEVELS

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="how many agents take part")
    max_steps: int = Field(50, ge=1, le=MOST_STEPS, description="steps until truncation")
    game: str | None = Field(
        None,
        description="a game.tw-pddl file, a folder of them or $ALFWORLD_DATA; "
        "default: homes are generated",
    )
    grammar: Literal["2.1.1", "2.1.3", "both"] | None = Field(
        None, description="wording of commands; default: the file's own, for generated homes 2.1.3"
    )
    problem_id: int | None = Field(
        None,
        ge=0,
        le=2**63 - 1,
        description="game of a folder, or seed of a home; default: chosen by the seed",
    )
    split: Literal["train", "valid_train", "valid_seen", "valid_unseen"] = Field(
        "train", description="which homes are generated, or which games of ALFWORLD_DATA are played"
    )
    tasks: tuple[words.TaskName, ...] = Field(
        ("pick", "look", "clean", "heat", "cool", "two"),
        min_length=1,
        description="tasks of generated homes",
    )
    rooms: tuple[words.RoomName, ...] = Field(
        ("kitchen", "bedroom", "bathroom", "livingroom"),
        min_length=1,
        description="kinds of rooms that are generated",
    )
    receptacles: int = Field(
        12, ge=3, le=words.MOST_RECEPTACLES, description="receptacles of a generated home"
    )
    objects: int = Field(16, ge=2, le=words.MOST_OBJECTS, description="objects of a generated home")
    feedback: Literal["native", "explain"] = Field(
        "native", description="answer impossible commands as the games do, or with the reason"
    )
    lists_commands: bool = Field(True, description="list commands in canonical text and vectors")
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")
    envelope: HouseholdEnvelope | None = Field(None, description="largest sizes")

    @model_validator(mode="after")
    def _check_game(self) -> Self:
        if self.game is not None:
            count = len(files.paths_of(self.game, self.split))
            if self.problem_id is not None and self.problem_id >= count:
                raise ValueError(f"problem_id={self.problem_id}, but there are {count} games")
        return self

    def home_key(self) -> tuple[tuple[str, Any], ...]:
        """Return the fields that decide which home a seed stands for."""
        names = ("split", "tasks", "rooms", "receptacles", "objects")
        return tuple((name, getattr(self, name)) for name in names)

    def sizes(self) -> HouseholdEnvelope:
        """Return this config's own sizes; those of a folder are large enough for any game."""
        receptacles, objects, commands = ANY_GAME
        if self.game is None:
            receptacles, objects = self.receptacles, self.objects + 2
            commands = 16 + self.receptacles + self.objects
        elif len(paths := files.paths_of(self.game, self.split)) == 1:
            game = files.load_game(paths[0]).game
            receptacles, objects = len(game.receptacles), max(1, len(game.objects))
            commands = game.most_commands
        return HouseholdEnvelope(
            agents=self.agents,
            message_history=self.message_history,
            receptacles=receptacles,
            objects=objects,
            commands=commands,
        )
