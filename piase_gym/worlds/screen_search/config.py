"""ScreenSearch's config: which window, keys and describer, and what there is to find."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from piase_gym.core.config import WorldConfig
from piase_gym.core.limits import MOST_STEPS, Reward
from piase_gym.worlds.describing import LONGEST_NAME
from piase_gym.worlds.screen_search.actions import MOVEMENTS

MAX_AGENTS = 8
MAX_MESSAGE = 200
"""The length of the longest message between agents, in characters."""
MOST_FOUND = 64
"""The most different objects that are remembered as found."""
Name = Annotated[str, Field(pattern=r"^[a-z0-9'-]+( [a-z0-9'-]+)*$", max_length=LONGEST_NAME)]
Side = Annotated[int, Field(ge=1, le=100_000)]
Corner = Annotated[int, Field(ge=-100_000, le=100_000)]


class Rewards(BaseModel):
    """ScreenSearch's reward table."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    found: Reward = Field(1.0, description="an object that nobody had found, for who found it")
    message: Reward = Field(-0.02, description="a message")
    step: Reward = Field(-0.01, description="every step")
    illegal: Reward = Field(-0.1, description="a command that cannot be carried out or read")


class ScreenSearchConfig(WorldConfig):
    """Everything about a ScreenSearch that can be set; see `ScreenSearch` for what it means."""

    world: ClassVar[str] = "ScreenSearch"

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="how many agents take part")
    max_steps: int = Field(100, ge=1, le=MOST_STEPS, description="steps until truncation")
    windows: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        (),
        max_length=MAX_AGENTS,
        description="a part of the title of each agent's window, or one for all; `window` is short "
        "for one",
    )
    regions: tuple[tuple[Corner, Corner, Side, Side], ...] = Field(
        (),
        max_length=MAX_AGENTS,
        description="instead of windows: left, top, width and height of a part of the screen; "
        "`region` is short for one",
    )
    keys: dict[str, Annotated[str, Field(min_length=1, max_length=60)]] = Field(
        {name: key for name, (key, _) in MOVEMENTS.items()},
        description="the key of each movement, such as w or shift+left; those not given stay",
    )
    hold: float = Field(0.05, ge=0.0, le=10.0, description="seconds that a key is held down")
    settle: float = Field(
        0.2, ge=0.0, le=60.0, description="seconds from the keys to the next picture"
    )
    describer: str = Field(
        "colours", min_length=1, max_length=100, description="who describes what is seen, by name"
    )
    objects: tuple[Name, ...] = Field(
        (), max_length=MOST_FOUND, description="what is to be found; nobody wins without"
    )
    message_delay: int = Field(1, ge=0, le=1000, description="steps until a message is heard")
    message_loss: float = Field(0.0, ge=0.0, le=1.0, description="share of messages that get lost")
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")

    @classmethod
    def meaning(cls, name: str, value: Any) -> dict[str, Any]:
        """Read ``window`` and ``region`` as the only entry of `windows` and `regions`."""
        if name in ("window", "region"):
            return {f"{name}s": (value,)}
        return super().meaning(name, value)

    @field_validator("keys")
    @classmethod
    def _check_keys(cls, keys: dict[str, str]) -> dict[str, str]:
        strange = [name for name in keys if name not in MOVEMENTS]
        if strange:
            raise ValueError(f"{strange[0]!r} is no movement; allowed: {', '.join(MOVEMENTS)}")
        return {name: keys.get(name, key) for name, (key, _) in MOVEMENTS.items()}

    @model_validator(mode="after")
    def _check_targets(self) -> Self:
        if self.windows and self.regions:
            raise ValueError("windows and regions are both given; give one of them")
        count = len(self.windows or self.regions)
        if count > 1 and count != self.agents:
            raise ValueError(f"{count} windows for agents={self.agents}; give one for all, or each")
        if len(set(self.objects)) < len(self.objects):
            raise ValueError("objects differ from each other")
        return self

    @property
    def targets(self) -> list[tuple[str | None, tuple[int, int, int, int] | None]]:
        """The title or the region of each window; a shared window is listed once."""
        return [(title, None) for title in self.windows] or [(None, row) for row in self.regions]
