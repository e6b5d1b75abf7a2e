"""PhysicsPlayground's config: everything that a task can set, checked once.

Lengths are metres, masses kilograms, times seconds, angles degrees. The floor is centred at
(0, 0); x goes east and y north.
"""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from piase_gym.config import Envelope, WorldConfig

HERTZ = 128
"""Bullet's substeps a second. A power of two makes every sum of substeps exact in binary, which
Bullet's clock needs to do the same number of them in every step."""
MAX_AGENTS = 8
MAX_SIDE = 20.0
COLOURS = (
    *("red", "blue", "green", "yellow", "purple", "orange", "white", "black"),
    *("pink", "brown", "grey", "cyan", "olive", "navy", "teal", "maroon"),
)
MAX_OBJECTS = len(COLOURS)
"""Every object has a colour of its own, so that its name is its alone."""
KINDS = ("box", "ball", "cylinder", "crate")
TASKS = ("reach", "push", "stack", "gather", "keep_away", "carry")
AGENT_RADIUS = 0.25
"""Radius of the circle on the floor that any agent needs."""
CRATE = (0.5, 0.2, 0.15)
"""Half extents of the crate of task carry."""

Task = Literal["reach", "push", "stack", "gather", "keep_away", "carry"]
Point = tuple[float, float]
TEAMS = {"keep_away": 2, "carry": 2}
"""Tasks that need more than one agent, and how many."""
OBJECTS: dict[str, tuple[str, ...]] = {
    "reach": (),
    "push": ("box",),
    "stack": ("box", "box"),
    "gather": ("ball", "box", "cylinder", "box"),
    "keep_away": ("ball",),
    "carry": ("crate",),
}
"""The objects of each task, unless the config says otherwise."""
LIFTS = {"stack": 0.32, "gather": 0.03, "push": 0.03}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Thing(_Part):
    """An object that can be moved.

    Boxes are cubes, cylinders stand and are as high as wide; a crate is long, and so heavy that
    one agent cannot move it.
    """

    kind: Literal["box", "ball", "cylinder", "crate"] = Field("box", description="its shape")
    position: Point | None = Field(None, description="(x, y) of its centre; default at random")
    radius: float = Field(0.12, ge=0.05, le=0.5, description="half its width (not of a crate)")
    mass: float = Field(0.4, ge=0.05, le=50.0, description="kilograms (not of a crate)")

    @property
    def reach(self) -> float:
        """Radius of the circle on the floor that it needs."""
        if self.kind == "crate":
            return math.hypot(CRATE[0], CRATE[1])
        return self.radius * (math.sqrt(2.0) if self.kind == "box" else 1.0)


class Wall(_Part):
    """A wall that stands on the floor and never moves."""

    position: Point = Field(description="(x, y) of its middle")
    length: float = Field(1.0, gt=0.0, le=MAX_SIDE, description="metres")
    angle: float = Field(0.0, ge=-180.0, le=180.0, description="degrees from east to north")
    height: float = Field(0.5, ge=0.05, le=2.0, description="metres")

    @property
    def half(self) -> Point:
        """Half its length and half its thickness."""
        return self.length / 2.0, 0.05


class Ramp(_Part):
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


class Spread(_Part):
    """Domain randomisation: the range of a factor that is drawn anew for every episode."""

    low: float = Field(1.0, gt=0.0, le=10.0, description="least factor")
    high: float = Field(1.0, gt=0.0, le=10.0, description="greatest factor")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low {self.low:g} is above high {self.high:g}")
        return self


class Randomise(_Part):
    """What differs from episode to episode; every factor is 1 by default."""

    mass: Spread = Field(default_factory=lambda: Spread(), description="of each object")
    friction: Spread = Field(default_factory=lambda: Spread(), description="of each object")
    restitution: Spread = Field(default_factory=lambda: Spread(), description="of each object")
    gravity: Spread = Field(default_factory=lambda: Spread(), description="of the world")


class Rewards(_Part):
    """PhysicsPlayground's reward table."""

    done: float = Field(10.0, description="the task is done: to everybody who shares in it")
    progress: float = Field(1.0, description="a metre that the task has come nearer to its end")
    placed: float = Field(2.0, description="another object in the zone, or in the tower")
    taken: float = Field(-2.0, description="one object fewer there")
    step: float = Field(-0.01, description="every step")
    kept: float = Field(0.02, description="keep_away: every step to keepers; minus it to chasers")
    lost: float = Field(-10.0, description="keep_away: to those who lose")
    illegal: float = Field(-0.1, description="an illegal or unreadable command")


class PhysicsEnvelope(Envelope):
    """The sizes that fix PhysicsPlayground's spaces."""

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="most agents")
    objects: int = Field(0, ge=0, le=MAX_OBJECTS, description="most objects")
    nearest: int = Field(0, ge=0, le=MAX_OBJECTS, description="most objects that are seen")
    rays: int = Field(0, ge=0, le=64, description="most lidar rays")
    messages: int = Field(0, ge=0, le=1, description="1 leaves room for messages")


Rays = Annotated[int, Field(ge=0, le=64)]


class PhysicsPlaygroundConfig(WorldConfig):
    """Everything about a PhysicsPlayground that can be set; see `PhysicsPlayground`."""

    world: ClassVar[str] = "PhysicsPlayground"

    task: Task = Field("reach", description="what is to be done")
    agents: int = Field(
        1, ge=1, le=MAX_AGENTS, description="how many agents take part; keep_away and carry need 2"
    )
    body: Literal["rover", "sphere"] = Field("rover", description="what agents are")
    size: tuple[
        Annotated[float, Field(ge=2.0, le=MAX_SIDE)], Annotated[float, Field(ge=2.0, le=MAX_SIDE)]
    ] = Field((6.0, 6.0), description="the floor, from west to east and from south to north")
    objects: tuple[Thing, ...] | None = Field(
        None, max_length=MAX_OBJECTS, description="what can be moved; default: what the task needs"
    )
    walls: tuple[Wall, ...] = Field((), max_length=64, description="walls within the floor")
    ramps: tuple[Ramp, ...] = Field((), max_length=16, description="ramps")
    start_pos: tuple[Point, ...] = Field((), description="where agents start; others at random")
    goal_pos: Point | None = Field(
        None, description="the target or the middle of the zone; default at random"
    )
    tolerance: float = Field(0.3, gt=0.0, le=5.0, description="reach: how near is there")
    zone: float = Field(0.7, gt=0.1, le=5.0, description="radius of the zone")
    tower: int = Field(2, ge=2, le=4, description="stack: boxes on each other")
    hold_steps: int = Field(150, ge=1, description="keep_away: how long keepers must hold out")
    gripper: bool | None = Field(
        None, description="whether agents can grip; default: in stack, gather and carry"
    )
    lift: float | None = Field(
        None, ge=0.0, le=1.0, description="how high a thing is held; default 0.32 in stack, else 0.03"
    )
    nearest: int = Field(4, ge=0, le=MAX_OBJECTS, description="how many objects are seen")
    rays: Rays = Field(8, description="lidar rays, evenly around")
    range: float = Field(4.0, ge=0.5, le=30.0, description="how far lidar reaches")
    messages: bool = Field(False, description="whether agents can say things to each other")
    delay: int = Field(1, ge=0, le=100, description="steps until a message is heard")
    substeps: int = Field(8, ge=1, le=128, description="physics steps in a step, 1/128 s each")
    gravity: float = Field(9.81, ge=0.0, le=30.0, description="m/s2")
    friction: float = Field(0.6, ge=0.0, le=2.0, description="of objects on the floor")
    restitution: float = Field(0.1, ge=0.0, le=1.0, description="how much objects bounce")
    randomise: Randomise = Field(
        default_factory=lambda: Randomise(), description="domain randomisation"
    )
    camera: Literal["overhead", "egocentric"] = Field(
        "overhead", description="where pictures are taken from"
    )
    picture: int = Field(256, ge=16, le=1024, description="side of pictures in pixels")
    max_steps: int = Field(200, ge=1, le=2**31 - 1, description="steps until truncation")
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")
    envelope: PhysicsEnvelope | None = Field(None, description="largest sizes")

    @classmethod
    def plain(cls, fields: Any) -> dict[str, Any]:
        """Also fill in how many agents the task needs, if nothing is said about it."""
        plain = super().plain(fields)
        task = plain.get("task")
        if isinstance(task, str) and task in TEAMS:
            plain.setdefault("agents", TEAMS[task])
        return plain

    @model_validator(mode="after")
    def _check(self) -> Self:
        need = TEAMS.get(self.task, 1)
        if self.agents < need:
            raise ValueError(f"task {self.task!r} needs at least {need} agents, not {self.agents}")
        if len(self.start_pos) > self.agents:
            raise ValueError(
                f"start_pos has {len(self.start_pos)} places, but agents={self.agents}"
            )
        self._check_kinds()
        self._check_places()
        return self

    def _check_kinds(self) -> None:
        """Check that there is what the task is about."""
        kinds = [thing.kind for thing in self.things]
        for kind, count in self.needs.items():
            if kinds.count(kind) < count:
                shown = ", ".join(kinds) or "none"
                raise ValueError(
                    f"task {self.task!r} needs {count} of kind {kind!r}; objects are {shown}"
                )
        if self.task in ("push", "gather") and not kinds:
            raise ValueError(f"task {self.task!r} needs objects, but there are none")

    @property
    def needs(self) -> dict[str, int]:
        """How many objects of which kind the task is about."""
        return {
            "stack": {"box": self.tower},
            "keep_away": {"ball": 1},
            "carry": {"crate": 1},
        }.get(self.task, {})

    def _check_places(self) -> None:
        """Check that what has a place is on the floor, and in nobody else's place."""
        circles = self.circles()
        for name, (x, y), radius in circles:
            if abs(x) + radius > self.size[0] / 2.0 or abs(y) + radius > self.size[1] / 2.0:
                raise ValueError(
                    f"{name} at ({x:g}, {y:g}) is not on the floor, which reaches from "
                    f"({-self.size[0] / 2:g}, {-self.size[1] / 2:g}) to "
                    f"({self.size[0] / 2:g}, {self.size[1] / 2:g}); it needs {radius:.2f} around it"
                )
        for (name, a, r), (other, b, s) in itertools.combinations(circles, 2):
            if math.dist(a, b) < r + s:
                raise ValueError(
                    f"{name} at ({a[0]:g}, {a[1]:g}) and {other} at ({b[0]:g}, {b[1]:g}) are in "
                    f"one place; they need {r + s:.2f} between them"
                )
        for kind, parts in (("walls", self.walls), ("ramps", self.ramps)):
            for number, part in enumerate(parts):
                if any(abs(v) > side / 2.0 for v, side in zip(part.position, self.size, strict=True)):
                    raise ValueError(f"{kind}.{number} at {part.position} is not on the floor")
                for name, place, radius in circles:
                    if kind == "walls" and gap(place, part) < radius:
                        raise ValueError(f"{name} at {place} is inside {kind}.{number}")
        if self.goal_pos is not None and any(
            abs(v) > side / 2.0 for v, side in zip(self.goal_pos, self.size, strict=True)
        ):
            raise ValueError(f"goal_pos {self.goal_pos} is not on the floor")

    def circles(self) -> list[tuple[str, Point, float]]:
        """Return name, place and radius of everything that was given a place."""
        found = [
            (f"start_pos.{i}", place, AGENT_RADIUS) for i, place in enumerate(self.start_pos)
        ]
        return found + [
            (f"objects.{i}", thing.position, thing.reach)
            for i, thing in enumerate(self.things)
            if thing.position is not None
        ]

    @property
    def things(self) -> tuple[Thing, ...]:
        """The objects: those that were given, or those that the task needs."""
        if self.objects is not None:
            return self.objects
        kinds = OBJECTS[self.task]
        if self.task == "stack":
            kinds = ("box",) * self.tower
        return tuple(Thing(kind=kind) for kind in kinds)  # type: ignore[arg-type]

    @property
    def can_grip(self) -> bool:
        """Whether agents have a gripper."""
        if self.gripper is not None:
            return self.gripper
        return self.task in ("stack", "gather", "carry")

    @property
    def raised(self) -> float:
        """How high what is gripped is held above where it stood."""
        return LIFTS.get(self.task, 0.03) if self.lift is None else self.lift

    @property
    def seconds(self) -> float:
        """The length of a step."""
        return self.substeps / HERTZ

    def sizes(self) -> PhysicsEnvelope:
        """Return this config's own sizes, as an envelope."""
        return PhysicsEnvelope(
            agents=self.agents,
            objects=len(self.things),
            nearest=min(self.nearest, len(self.things)),
            rays=self.rays,
            messages=int(self.messages),
        )

    def fixed_sizes(self) -> PhysicsEnvelope:
        """Return the envelope that fixes the spaces, with its own type."""
        envelope = self.fixed_envelope()
        assert isinstance(envelope, PhysicsEnvelope)
        return envelope


def gap(place: Point, part: Wall | Ramp) -> float:
    """Return how far a point is from a wall's or ramp's footprint (0 inside)."""
    angle = math.radians(part.angle)
    dx, dy = place[0] - part.position[0], place[1] - part.position[1]
    along = dx * math.cos(angle) + dy * math.sin(angle)
    across = dy * math.cos(angle) - dx * math.sin(angle)
    return math.hypot(max(0.0, abs(along) - part.half[0]), max(0.0, abs(across) - part.half[1]))
