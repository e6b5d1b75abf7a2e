"""What can be set about a PointProbe."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from piase_gym.core.config import WorldConfig

MAX_SPEED = 2.0
MAX_AGENTS = 4


class PointProbeConfig(WorldConfig):
    """Everything about a PointProbe that can be set."""

    world: ClassVar[str] = "PointProbe"

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="how many agents take part")
    dt: float = Field(0.1, gt=0.0, le=1.0, description="seconds a step")
    mass: float = Field(1.0, gt=0.0, description="mass of every point")
    friction: float = Field(0.5, ge=0.0, le=1.0, description="share of the speed lost a second")
    noise: float = Field(0.0, ge=0.0, le=1.0, description="standard deviation of the force's noise")
    arrival: float = Field(0.1, gt=0.0, le=2.0, description="distance at which a goal is reached")
    bonus: float = Field(10.0, description="reward for arriving")
