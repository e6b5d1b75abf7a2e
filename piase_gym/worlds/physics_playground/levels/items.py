"""What there can be in a PhysicsPlayground, and what is drawn for every episode."""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_SIDE = 20.0
COLOURS = (
    *("red", "blue", "green", "yellow", "purple", "orange", "white", "black"),
    *("pink", "brown", "grey", "cyan", "olive", "navy", "teal", "maroon"),
)
MAX_OBJECTS = len(COLOURS)
"""Every object has a colour of its own, so that its name is unique."""
KINDS = ("box", "ball", "cylinder", "crate")
CRATE = (0.5, 0.2, 0.15)
"""Half extents of the crate of task carry."""

Kind = Literal["box", "ball", "cylinder", "crate"]
Point = tuple[float, float]


class Part(BaseModel):
    """Something in a config: frozen, and checked when it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Thing(Part):
    """An object that can be moved.

    Boxes are cubes; cylinders stand upright and are as high as they are wide; a crate is long, and
    so heavy that one agent cannot move it.
    """

    kind: Kind = Field("box", description="its shape")
    position: Point | None = Field(None, description="(x, y) of its centre; default at random")
    radius: float = Field(0.12, ge=0.05, le=0.5, description="half its width (not of a crate)")
    mass: float = Field(0.4, ge=0.05, le=50.0, description="kilograms (not of a crate)")
    absent: bool = Field(
        False, description="whether it is not there at the start, until a script lets it appear"
    )

    @property
    def reach(self) -> float:
        """Radius of the circle on the floor that the object needs."""
        if self.kind == "crate":
            return math.hypot(CRATE[0], CRATE[1])
        return self.radius * (math.sqrt(2.0) if self.kind == "box" else 1.0)


class Wall(Part):
    """A wall that stands on the floor and never moves."""

    position: Point = Field(description="(x, y) of its middle")
    length: float = Field(1.0, gt=0.0, le=MAX_SIDE, description="metres")
    angle: float = Field(0.0, ge=-180.0, le=180.0, description="degrees from east to north")
    height: float = Field(0.5, ge=0.05, le=2.0, description="metres")

    @property
    def half(self) -> Point:
        """Half its length and half its thickness."""
        return self.length / 2.0, 0.05


class Ramp(Part):
    """A wedge on the floor; it rises along its angle."""

    position: Point = Field(description="(x, y) of its middle")
    length: float = Field(1.0, ge=0.2, le=MAX_SIDE, description="metres on the floor")
    width: float = Field(0.8, ge=0.2, le=MAX_SIDE, description="metres")
    height: float = Field(0.2, ge=0.02, le=2.0, description="metres at its high end")
    angle: float = Field(0.0, ge=-180.0, le=180.0, description="degrees from east to north")

    @property
    def half(self) -> Point:
        """Half its length and half its width."""
        return self.length / 2.0, self.width / 2.0


class Spread(Part):
    """Domain randomisation: the range of a factor that is drawn for every episode."""

    low: float = Field(1.0, gt=0.0, le=10.0, description="least factor")
    high: float = Field(1.0, gt=0.0, le=10.0, description="greatest factor")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low {self.low:g} is above high {self.high:g}")
        return self


class Randomise(Part):
    """What differs from episode to episode; every factor is 1 by default."""

    mass: Spread = Field(default_factory=lambda: Spread(), description="of each object")
    friction: Spread = Field(default_factory=lambda: Spread(), description="of each object")
    restitution: Spread = Field(default_factory=lambda: Spread(), description="of each object")
    gravity: Spread = Field(default_factory=lambda: Spread(), description="of the world")


def gap(place: Point, part: Wall | Ramp) -> float:
    """Return how far a point is from a wall's or ramp's footprint (0 inside)."""
    angle = math.radians(part.angle)
    dx, dy = place[0] - part.position[0], place[1] - part.position[1]
    along = dx * math.cos(angle) + dy * math.sin(angle)
    across = dy * math.cos(angle) - dx * math.sin(angle)
    return math.hypot(max(0.0, abs(along) - part.half[0]), max(0.0, abs(across) - part.half[1]))
