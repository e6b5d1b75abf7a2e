"""PhysicsPlayground's config: everything that a task can set, checked once.

Lengths are metres, masses kilograms, times seconds, angles degrees. The floor is centred at
(0, 0); x goes east and y north.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from piase_gym.core.config import RecallConfig
from piase_gym.core.limits import MOST_STEPS, Reward
from piase_gym.worlds.channel.config import ChannelEnvelope, SymbolConfig
from piase_gym.worlds.physics_playground.levels.items import (
    COLOURS,
    MAX_OBJECTS,
    MAX_SIDE,
    Kind,
    Part,
    Point,
    Ramp,
    Randomise,
    Thing,
    Wall,
    gap,
)
from piase_gym.worlds.physics_playground.levels.tasks import TASKS
from piase_gym.worlds.physics_playground.levels.tasks import Task as TaskRow

HERTZ = 128
"""Bullet's substeps per second. A power of two makes every sum of substeps exact in binary, which
Bullet's clock needs in order to do the same number of them in every step."""
MAX_AGENTS = 8
AGENT_RADIUS = 0.25
"""Radius of the circle on the floor that any agent needs."""
Task = Literal["reach", "push", "stack", "gather", "keep_away", "carry"]


class Rewards(Part):
    """PhysicsPlayground's reward table."""

    done: Reward = Field(10.0, description="the task is done: to everybody who shares in it")
    progress: Reward = Field(1.0, description="a metre that the task has come nearer to its end")
    placed: Reward = Field(2.0, description="another object in the zone, or in the tower")
    taken: Reward = Field(-2.0, description="one object fewer there")
    step: Reward = Field(-0.01, description="every step")
    kept: Reward = Field(0.02, description="keep_away: every step to keepers; minus it to chasers")
    lost: Reward = Field(-10.0, description="keep_away: to those who lose")
    illegal: Reward = Field(-0.1, description="an illegal or unreadable command")


class PhysicsEnvelope(ChannelEnvelope):
    """The sizes that fix PhysicsPlayground's spaces."""

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="most agents")
    objects: int = Field(0, ge=0, le=MAX_OBJECTS, description="most objects")
    nearest: int = Field(0, ge=0, le=MAX_OBJECTS, description="most objects that are seen")
    rays: int = Field(0, ge=0, le=64, description="most lidar rays")
    messages: int = Field(0, ge=0, le=1, description="1 leaves room for messages")


class PhysicsPlaygroundConfig(RecallConfig, SymbolConfig):
    """Everything about a PhysicsPlayground that can be set; see `PhysicsPlayground`."""

    world: ClassVar[str] = "PhysicsPlayground"
    has_places: ClassVar[bool] = True
    length_unit: ClassVar[str] = "m"
    later: ClassVar[tuple[str, ...]] = (*SymbolConfig.later, "sight")

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
    hold_steps: int = Field(
        150, ge=1, le=MOST_STEPS, description="keep_away: how long keepers must hold out"
    )
    gripper: bool | None = Field(
        None, description="whether agents can grip; default: in stack, gather and carry"
    )
    lift: float | None = Field(
        None,
        ge=0.0,
        le=1.0,
        description="how high things are held; default 0.03, in stack over a tower",
    )
    nearest: int = Field(4, ge=0, le=MAX_OBJECTS, description="how many objects are seen")
    rays: int = Field(8, ge=0, le=64, description="lidar rays, evenly around")
    range: float = Field(4.0, ge=0.5, le=30.0, description="how far lidar reaches")
    speech: bool = Field(
        False, description="whether agents can say things to each other in words; or `messages`"
    )
    message_delay: int = Field(
        1, ge=0, le=100, description="steps until a message is heard; or `delay`"
    )
    sight: float | None = Field(
        None, ge=0.5, le=60.0, description="how far other agents are seen; default: everywhere"
    )
    stride: int = Field(
        128, ge=1, le=10_000, description="most steps of a command with an amount or a target"
    )
    indices: Literal["steps", "strides"] = Field(
        "steps",
        description="what discrete actions do: one step each, or strides of 0.5 m and 30 degrees",
    )
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
    picture: int = Field(512, ge=16, le=1024, description="side of pictures in pixels")
    max_steps: int = Field(200, ge=1, le=MOST_STEPS, description="steps until truncation")
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")
    envelope: PhysicsEnvelope | None = Field(None, description="largest sizes")

    @classmethod
    def meaning(cls, name: str, value: Any) -> dict[str, Any]:
        """Also accept the original names of two keys of the channel."""
        original = {"messages": "speech", "delay": "message_delay"}
        return super().meaning(original.get(name, name), value)

    def reaches(self, one: Any, other: Any) -> bool:
        """Return whether two places are within `message_range`, as the crow flies."""
        return self.message_range is None or math.dist(one, other) <= self.message_range

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, fields: Any) -> Any:
        """Fill in how many agents the task needs, if the fields do not give a number."""
        task = fields.get("task") if isinstance(fields, Mapping) else None
        if isinstance(task, str) and task in TASKS and "agents" not in fields:
            return {**fields, "agents": TASKS[task].agents}
        return fields

    @model_validator(mode="after")
    def _check(self) -> Self:
        need = self.row.agents
        if self.agents < need:
            raise ValueError(f"task {self.task!r} needs at least {need} agents, not {self.agents}")
        if len(self.start_pos) > self.agents:
            raise ValueError(
                f"start_pos has {len(self.start_pos)} places, but agents={self.agents}"
            )
        if {"wall", "ramp", "goal", "zone", "hint"} & {name.lower() for name in self.names()}:
            raise ValueError(
                "agent_ids cannot be wall, ramp, goal, zone or hint, which are other things here"
            )
        self._check_kinds()
        self._check_places()
        return self

    def _check_kinds(self) -> None:
        """Check that the objects that the task is about exist."""
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
    def needs(self) -> dict[Kind, int]:
        """How many objects of a kind the task needs; empty if it is not about one kind."""
        kind = self.row.about
        return {} if kind is None else {kind: self.tower if self.task == "stack" else 1}

    @property
    def row(self) -> TaskRow:
        """The row of the task in the table of tasks."""
        return TASKS[self.task]

    def _check_places(self) -> None:
        """Check that everything with a given place is on the floor and in a place of its own."""
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
        for number, part in enumerate(self.fixtures):
            solid = number < len(self.walls)
            label = f"walls.{number}" if solid else f"ramps.{number - len(self.walls)}"
            if not self._on_floor(part.position):
                raise ValueError(f"{label} at {part.position} is not on the floor")
            for name, place, radius in circles:
                if solid and gap(place, part) < radius:
                    raise ValueError(f"{name} at {place} is inside {label}")
        if self.goal_pos is not None and not self._on_floor(self.goal_pos):
            raise ValueError(f"goal_pos {self.goal_pos} is not on the floor")

    def _on_floor(self, place: Point) -> bool:
        """Return whether a place is on the floor."""
        return all(abs(v) <= side / 2.0 for v, side in zip(place, self.size, strict=True))

    def circles(self) -> list[tuple[str, Point, float]]:
        """Return name, place and radius of all agents and objects that were given a place."""
        found = [(f"start_pos.{i}", place, AGENT_RADIUS) for i, place in enumerate(self.start_pos)]
        return found + [
            (f"objects.{i}", thing.position, thing.reach)
            for i, thing in enumerate(self.things)
            if thing.position is not None and not thing.absent
        ]

    @property
    def fixtures(self) -> tuple[Wall | Ramp, ...]:
        """The walls and ramps within the floor, which never move."""
        return (*self.walls, *self.ramps)

    @property
    def things(self) -> tuple[Thing, ...]:
        """The objects: those that were given, or those that the task needs."""
        if self.objects is not None:
            return self.objects
        if self.task == "stack":
            return (Thing(kind="box"),) * self.tower
        return tuple(Thing(kind=kind) for kind in self.row.objects)

    @property
    def thing_names(self) -> tuple[str, ...]:
        """The names of the objects; each has a colour of its own."""
        named = zip(COLOURS, self.things, strict=False)
        return tuple(f"{colour} {thing.kind}" for colour, thing in named)

    @property
    def can_grip(self) -> bool:
        """Whether agents have a gripper."""
        return self.row.gripper if self.gripper is None else self.gripper

    @property
    def raised(self) -> float:
        """How many metres above where it stood a gripped object is held."""
        if self.lift is not None:
            return self.lift
        return 0.08 + 0.24 * (self.tower - 1) if self.task == "stack" else 0.03

    @property
    def seconds(self) -> float:
        """The length of a step in seconds."""
        return self.substeps / HERTZ

    def sizes(self) -> PhysicsEnvelope:
        """Return this config's own sizes, as an envelope."""
        return PhysicsEnvelope(
            agents=self.agents,
            objects=len(self.things),
            nearest=min(self.nearest, len(self.things)),
            rays=self.rays,
            messages=int(self.speech),
            **self.channel_sizes(),
        )
