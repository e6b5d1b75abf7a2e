"""What the configs of text worlds share: messages, and what steps and slips cost."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from piase_gym.worlds.channel.config import MessageConfig


class TextRewards(BaseModel):
    """The part of a reward table that text worlds share."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    step: float = Field(0.0, description="every step")
    illegal: float = Field(0.0, description="a command that cannot be carried out or read")


class TextConfig(MessageConfig):
    """The fields that text worlds share."""

    message_delay: int = Field(1, ge=0, le=1000, description="steps until a message is heard")
