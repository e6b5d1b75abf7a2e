"""Where everything is at the start of an episode, and what it is like; a function of the seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from piase_gym.core.rng import Stream, StreamId
from piase_gym.errors import GenerationError
from piase_gym.worlds.physics_playground.config import AGENT_RADIUS, PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.bodies import MASSES, ROVER, SPHERE, THRUST
from piase_gym.worlds.physics_playground.levels.items import (
    CRATE,
    Point,
    Ramp,
    Spread,
    Thing,
    Wall,
    gap,
)
from piase_gym.worlds.physics_playground.state import Body, PlayState, Shape

TOO_HEAVY = 1.45
"""The crate resists with this many times the thrust of one agent."""
TRIES = 2000
CLEAR = 0.1
"""Metres between what is placed at random and everything else."""


def new_state(config: PhysicsPlaygroundConfig, slots: int, seed: int) -> PlayState:
    """Return the state at the start of the episode with this seed.

    Raises:
        GenerationError: If there is no room.
    """
    dice = Stream(seed, StreamId.LAYOUT)
    gravity = config.gravity * draw(config.randomise.gravity, dice)
    plan = _Plan(config, dice)
    zone: list[float] = []
    if config.row.zone:
        zone = list(config.goal_pos or plan.inside(config.zone + 0.1))
        plan.taken.append(((zone[0], zone[1]), config.zone))
    later = Stream(seed, StreamId.DYNAMICS)  # so that absent objects do not change the rest
    objects = [
        _object(
            config, later if thing.absent else dice, i, thing, plan.object_place(thing), gravity
        )
        for i, thing in enumerate(config.things)
    ]
    agents = [_agent(config, dice, i, plan.agent_place(i)) for i in range(config.agents)]
    targets: list[list[float]] = []
    if config.task == "reach":
        targets = [list(plan.target(body.position)) for body in agents]
    return PlayState(
        t=0,
        order=list(range(slots)),
        status=["playing" if i < config.agents else "none" for i in range(slots)],
        statics=statics(config),
        objects=objects,
        agents=agents,
        gravity=gravity,
        targets=targets,
        zone=zone,
        holds=[None] * config.agents,
        togo=[0.0] * config.agents,
        placed=0,
        milestones=[],
        reason="",
        away=[i for i, thing in enumerate(config.things) if thing.absent],
    )


def draw(spread: Spread, dice: Stream) -> float:
    """Draw a factor."""
    return spread.low + (spread.high - spread.low) * dice.uniform()


@dataclass
class _Plan:
    """Finds free places.

    Attributes:
        taken: Circles that are taken, as middle and radius.
        targets: Targets that were given to agents.
    """

    config: PhysicsPlaygroundConfig
    dice: Stream
    taken: list[tuple[Point, float]] = field(default_factory=list)
    targets: list[Point] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Reserve the places that the config assigns."""
        self.taken += [(place, radius) for _, place, radius in self.config.circles()]

    def inside(self, margin: float) -> Point:
        """Return a random place at least `margin` from the edges of the floor."""
        x, y = (max(0.0, side / 2.0 - margin) for side in self.config.size)
        return x * (2.0 * self.dice.uniform() - 1.0), y * (2.0 * self.dice.uniform() - 1.0)

    def free(self, radius: float, margin: float, what: str) -> Point:
        """Return a place with room for a circle.

        Raises:
            GenerationError: If none is found.
        """
        for _ in range(TRIES):
            place = self.inside(margin)
            if self._fits(place, radius):
                return place
        raise GenerationError(
            f"PhysicsPlayground: no room for {what} on a floor of "
            f"{self.config.size[0]:g} by {self.config.size[1]:g}; make it larger, or put less there"
        )

    def _fits(self, place: Point, radius: float) -> bool:
        """Return whether a circle is clear of everything."""
        near = any(math.dist(place, other) < radius + r + CLEAR for other, r in self.taken)
        parts = self.config.fixtures
        return not near and all(gap(place, part) > radius + CLEAR for part in parts)

    def object_place(self, thing: Thing) -> Point:
        """Return where an object is put, with room to get behind it."""
        if thing.position is not None:
            return thing.position
        if thing.absent:
            return 0.0, 0.0
        room = {"push": 3.0 * AGENT_RADIUS, "carry": 3.0 * AGENT_RADIUS}
        margin = thing.reach + room.get(self.config.task, 2.2 * AGENT_RADIUS)
        place = self.free(thing.reach, margin, f"a {thing.kind}")
        self.taken.append((place, thing.reach))
        return place

    def agent_place(self, number: int) -> Point:
        """Return where an agent starts."""
        if number < len(self.config.start_pos):
            return self.config.start_pos[number]
        place = self.free(AGENT_RADIUS, AGENT_RADIUS, "an agent")
        self.taken.append((place, AGENT_RADIUS))
        return place

    def target(self, start: Sequence[float]) -> Point:
        """Return the target of an agent, away from where it is and apart from other targets."""
        if self.config.goal_pos is not None:
            return self.config.goal_pos
        for _ in range(TRIES):
            place = self.inside(AGENT_RADIUS)
            apart = all(math.dist(place, other) > 2.0 * AGENT_RADIUS for other in self.targets)
            parts = self.config.fixtures
            clear = all(gap(place, part) > AGENT_RADIUS for part in parts)
            if apart and clear and math.dist(place, start[:2]) > 2.0 * self.config.tolerance:
                self.targets.append(place)
                return place
        raise GenerationError(
            f"PhysicsPlayground: no room for a target farther than twice the tolerance "
            f"{self.config.tolerance:g} on a floor of {self.config.size[0]:g} by "
            f"{self.config.size[1]:g}"
        )


def _object(
    config: PhysicsPlaygroundConfig,
    dice: Stream,
    number: int,
    thing: Thing,
    place: Point,
    gravity: float,
) -> Body:
    """Make an object, with its own random mass, friction and bounce."""
    mass = thing.mass * draw(config.randomise.mass, dice)
    friction = config.friction * draw(config.randomise.friction, dice)
    bounce = min(1.0, config.restitution * draw(config.randomise.restitution, dice))
    half = list(CRATE) if thing.kind == "crate" else [thing.radius] * 3
    if thing.kind == "crate":
        grip = friction * gravity
        mass = TOO_HEAVY * THRUST[config.body] / grip if grip > 0.5 else 50.0
    yaw = math.pi * (2.0 * dice.uniform() - 1.0)
    name = config.thing_names[number]
    place3 = [place[0], place[1], half[2]]
    return Body(name, thing.kind, half, mass, friction, bounce, place3, yaw)


def _agent(config: PhysicsPlaygroundConfig, dice: Stream, number: int, place: Point) -> Body:
    """Make an agent; forces stand in for its wheels or shell, so it slides without friction."""
    half = list(ROVER) if config.body == "rover" else [SPHERE] * 3
    yaw = math.pi * (2.0 * dice.uniform() - 1.0)
    mass = MASSES[config.body]
    place3 = [place[0], place[1], half[2]]
    return Body(config.names()[number], config.body, half, mass, 0.0, 0.1, place3, yaw)


def plain_bodies(config: PhysicsPlaygroundConfig) -> list[Body]:
    """Return the objects and agents of a config; what is drawn for each episode is an example."""
    dice, middle = Stream(0), (0.0, 0.0)
    things = enumerate(config.things)
    objects = [_object(config, dice, i, thing, middle, config.gravity) for i, thing in things]
    return objects + [_agent(config, dice, i, middle) for i in range(config.agents)]


def statics(config: PhysicsPlaygroundConfig) -> list[Body]:
    """Return the walls and ramps within the floor; Bullet multiplies the bounce of two bodies."""
    kinds: list[tuple[Shape, float, Wall | Ramp]] = [("wall", 0.5, part) for part in config.walls]
    kinds += [("ramp", 0.8, part) for part in config.ramps]
    return [
        Body(
            kind,
            kind,
            [*part.half, part.height / 2.0],
            0.0,
            friction,
            1.0,
            [*part.position, part.height / 2.0],
            math.radians(part.angle),
        )
        for kind, friction, part in kinds
    ]
