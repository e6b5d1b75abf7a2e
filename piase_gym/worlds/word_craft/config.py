"""WordCraft's config: which book, which tasks, how much help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from piase_gym.core.config import Envelope, RecallConfig
from piase_gym.core.limits import MOST_STEPS, SmallReward
from piase_gym.errors import ConfigError
from piase_gym.worlds.word_craft.levels.book import MOST_ENTITIES, RecipeBook
from piase_gym.worlds.word_craft.levels.tasks import MOST_DEPTH, PoolKey, Side, Split, pool_of

MOST_AGENTS: Final = 8
MOST_SLOTS: Final = 512
MOST_FEATURES: Final = 4096
MOST_MIXES: Final = 100
Features = Literal["index", "one_hot", "random", "embeddings"]
EMBEDDED: Final = 384
"""The length of an embedding."""
NAMES: Final = {
    "data_path": "recipes",
    "max_depth": "depth",
    "num_distractors": "distractors",
    "max_mix_steps": "mixes",
    "max_mixes": "mixes",
    "feature_type": "features",
    "random_feature_size": "feature_size",
    "seed_of_split": "split_seed",
    "goal": "goals",
}
"""The original's names of arguments, and what they are called here."""


class Rewards(BaseModel):
    """WordCraft's reward table."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    goal: SmallReward = Field(1.0, description="making the goal")
    needed: SmallReward = Field(
        1.0, description="being the first to make something that is needed for the goal"
    )
    useless: SmallReward = Field(-0.1, description="a pair that makes nothing that is needed")


class WordCraftEnvelope(Envelope):
    """The sizes that fix WordCraft's spaces."""

    agents: int = Field(1, ge=1, le=MOST_AGENTS, description="most agents")
    given: int = Field(2, ge=1, le=MOST_SLOTS, description="most things at the start")
    made: int = Field(1, ge=1, le=MOST_SLOTS, description="most things that an agent can make")
    features: int = Field(1, ge=1, le=MOST_FEATURES, description="numbers that stand for a thing")
    trade: int = Field(0, ge=0, le=1, description="1: each agent may have a table of its own")

    @property
    def slots(self) -> int:
        """How many things a table has room for."""
        return min(self.given + self.agents * self.made, MOST_SLOTS)

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return self.agents if self.trade else 1


class WordCraftConfig(RecallConfig):
    """Everything about a WordCraft that can be set; see `WordCraft` for what it means."""

    world: ClassVar[str] = "WordCraft"

    agents: int = Field(1, ge=1, le=MOST_AGENTS, description="how many agents take part")
    recipes: str | None = Field(
        None, description="a recipe book, a JSON file in the original's schema; default: our own"
    )
    lenient: bool = Field(
        False, description="take books in which things are made of each other in a circle"
    )
    entities: int | None = Field(
        None, ge=3, le=MOST_ENTITIES, description="only the first so many entities of the book"
    )
    depth: int = Field(
        1, ge=1, le=MOST_DEPTH, description="how many recipes a task takes at the most"
    )
    least_depth: int | None = Field(
        None, ge=1, le=MOST_DEPTH, description="how many at the least; default: as many"
    )
    goals: tuple[str, ...] | None = Field(
        None, min_length=1, description="what there is to make; default: anything"
    )
    distractors: int = Field(0, ge=0, le=100, description="things on the table that are no use")
    uniform_distractors: bool = Field(
        False, description="draw them all alike, not the more often the more recipes have them"
    )
    mixes: int | None = Field(
        None, ge=1, le=MOST_MIXES, description="pairs that an agent may combine; default: `depth`"
    )
    split: Split = Field("by_recipe", description="what the tasks held out for testing differ in")
    train_ratio: float = Field(1.0, gt=0.0, le=1.0, description="share that is not held out")
    split_seed: int = Field(0, ge=0, lt=2**63, description="by which the held-out ones are drawn")
    tasks: Side = Field("train", description="from which side tasks are drawn")
    subgoal_rewards: bool = Field(True, description="reward what has to be made on the way")
    evaluation: bool = Field(False, description="reward nothing but the goal")
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")
    trade: bool = Field(False, description="give each agent a table of its own, and `give`")
    features: Features = Field("index", description="what stands for a thing in vectors")
    feature_size: int = Field(
        300, ge=1, le=MOST_FEATURES, description="how many numbers, if they are random"
    )
    shuffle_features: bool = Field(False, description="let the features of other things stand")
    max_steps: int = Field(
        2, ge=1, le=MOST_STEPS, description="steps until truncation; default: twice `mixes`"
    )
    envelope: WordCraftEnvelope | None = Field(None, description="largest sizes")

    @classmethod
    def meaning(cls, name: str, value: Any) -> dict[str, Any]:
        """Also accept the original's names."""
        if name == "recipe_book_path":
            if value is None:
                return {}
            raise ConfigError(
                f"{cls.world}: recipe_book_path names a pickled object, which is not read; "
                "give recipes=<JSON file> and split_seed"
            )
        if name in ("features", "feature_type") and value == "glove":
            raise ConfigError(f"{cls.world}: there are no glove features; use 'embeddings'")
        if name in ("goal", "goals") and isinstance(value, str):
            value = (value,)
        return super().meaning(NAMES.get(name, name), value)

    def kept(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Let `max_steps` follow the mixes where it is what these usually take."""
        usual = {"max_steps"} if self.max_steps == self.usual_steps else set()
        return {name: v for name, v in super().kept(changes).items() if name not in usual}

    @model_validator(mode="after")
    def _check(self) -> Self:
        least = self.least_depth
        if least is not None and least > self.depth:
            raise ValueError(f"least_depth={least} is more than depth={self.depth}")
        if self.trade and self.agents == 1:
            raise ValueError("trade needs two agents or more")
        if "max_steps" not in self.model_fields_set:
            self.__dict__["max_steps"] = self.usual_steps
        book = self.book
        if not book.pairs:
            raise ValueError(
                f"nothing can be made in a book of {len(book.entities)} entities without recipes "
                "among them"
            )
        spare = len(book.entities) - 2 * self.depth - 1
        if self.distractors > max(spare, 0):
            raise ValueError(
                f"distractors={self.distractors}, but a book of {len(book.entities)} entities has "
                f"{max(spare, 0)} to spare at this depth"
            )
        sizes = self.sizes()
        things = sizes.given + self.agents * sizes.made
        if things > MOST_SLOTS:
            raise ValueError(
                f"there may be {things} things on the table; at most {MOST_SLOTS}: ask for fewer "
                "mixes, distractors or agents"
            )
        pool_of(self.pool_key)
        return self

    @property
    def pool_key(self) -> PoolKey:
        """The settings that determine the tasks."""
        return PoolKey(*(getattr(self, name) for name in PoolKey._fields))

    @property
    def book(self) -> RecipeBook:
        """The recipe book."""
        return self.pool_key.book

    @property
    def allowed_mixes(self) -> int:
        """How many pairs an agent may combine: never fewer than a task takes."""
        return max(self.mixes or self.depth, self.depth)

    @property
    def usual_steps(self) -> int:
        """How many steps all mixes take and, with trade, the gifts before them."""
        return 2 * self.allowed_mixes + (self.depth + 1 if self.trade else 0)

    @property
    def feature_length(self) -> int:
        """How many numbers stand for a thing."""
        lengths = {"index": 1, "embeddings": EMBEDDED, "random": self.feature_size}
        return lengths.get(self.features, len(self.book.entities))

    def sizes(self) -> WordCraftEnvelope:
        """Return this config's own sizes."""
        most = max(map(len, self.book.pairs.values()))
        return WordCraftEnvelope(
            agents=self.agents,
            given=self.depth + 1 + self.distractors,
            made=min(self.allowed_mixes * most, MOST_SLOTS),
            features=self.feature_length,
            trade=int(self.trade),
        )
