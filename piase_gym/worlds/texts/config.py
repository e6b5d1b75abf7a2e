"""What the configs of text worlds share: messages, and the costs of steps and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from piase_gym.core.config import Envelope
from piase_gym.core.limits import Reward
from piase_gym.errors import ConfigError
from piase_gym.worlds.channel.config import MAX_HISTORY, MessageConfig, history_field


class TextRewards(BaseModel):
    """The part of a reward table that text worlds share."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    step: Reward = Field(0.0, description="every step")
    illegal: Reward = Field(0.0, description="a command that cannot be carried out or read")


class TextConfig(MessageConfig):
    """The fields that text worlds share."""

    later: ClassVar[tuple[str, ...]] = (*MessageConfig.later, "message_history")

    levels: ClassVar[Mapping[int, Mapping[str, Any]]] = {}
    """The fields that each ``difficulty`` stands for, in worlds that have this key."""

    message_delay: int = Field(1, ge=0, le=1000, description="steps until a message is heard")
    message_history: int = history_field()

    @classmethod
    def meaning(cls, name: str, value: Any) -> dict[str, Any]:
        """Read ``difficulty`` as the fields of one of the `levels`, if there are any."""
        if name != "difficulty" or not cls.levels:
            return super().meaning(name, value)
        if isinstance(value, bool) or value not in tuple(cls.levels):
            known = ", ".join(map(str, cls.levels))
            raise ConfigError(f"{cls.world}: difficulty is one of {known}, not {value!r:.60}")
        return dict(cls.levels[value])

    @property
    def hears_again(self) -> bool:
        """Whether there is room in views for what agents have heard before."""
        return max(self.message_history, getattr(self.envelope, "message_history", 0)) > 0


class TextEnvelope(Envelope):
    """The size that text worlds share."""

    later: ClassVar[tuple[str, ...]] = ("message_history",)

    message_history: int = Field(0, ge=0, le=MAX_HISTORY, description="most messages kept")
