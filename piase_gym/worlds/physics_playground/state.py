"""What PhysicsPlayground's state is made of: plain, typed, JSON-able records.

The part that Bullet holds (poses, velocities, contacts) is not here: see `bullet`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from enum import StrEnum
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from piase_gym.core.digest import canonical_json

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
Status = Literal["none", "playing", "won", "lost", "ended"]
STATUSES: tuple[Status, ...] = ("none", "playing", "won", "lost", "ended")
Shape = Literal["rover", "sphere", "box", "ball", "cylinder", "crate", "wall", "ramp"]


class EndReason(StrEnum):
    """Why an episode ended for an agent (``info["reason"]``, only at the end)."""

    TASK_DONE = "task_done"
    OUTPLAYED = "outplayed"  # keep_away: the others won
    TIME_OUT = "time_out"
    EXPLODED = "simulation_exploded"  # the numbers are no longer places and speeds


@dataclass(config=STRICT)
class Body:
    """One body of the scene, as it is built.

    Attributes:
        name: A name such as ``red box``.
        shape: What it is; an agent is a rover or a sphere.
        half: Half extents in metres; for a ball, the radius repeated three times.
        mass: Kilograms; a body of mass 0 never moves.
        friction: Coulomb coefficient on the floor; that of the floor is 1.
        restitution: How much it bounces off the floor, from 0 to 1.
        position: Its centre at the start.
        yaw: Its heading at the start, radians from east to north.
    """

    name: str
    shape: Shape
    half: list[float]
    mass: float
    friction: float
    restitution: float
    position: list[float]
    yaw: float


@dataclass(config=STRICT)
class Hold:
    """What an agent grips, and how the two are joined.

    Attributes:
        object: Number of the object.
        towed: Whether it is dragged by a rod; otherwise it is held in front.
        parent: The joint in the agent's frame.
        child: The joint in the object's frame when it was gripped.
        turn: Quaternion of the joint in the object's frame.
        since: Steps since it was gripped.
    """

    object: int
    towed: bool
    parent: list[float]
    child: list[float]
    turn: list[float]
    since: int


@dataclass(config=STRICT)
class PlayState:
    """Everything except what Bullet holds; lists have one entry per agent or object.

    Attributes:
        t: Steps done.
        order: The order in which agents act, where it matters.
        status: Whether each agent is in play, or how it has ended.
        statics: Walls and ramps, in the order in which they are built.
        objects: The objects that can be moved.
        agents: The bodies of the agents that take part.
        gravity: m/s2, after randomisation.
        targets: The target of each agent in task reach, otherwise empty.
        zone: Middle of the zone, or an empty list.
        holds: What each agent grips.
        togo: How far each agent's task was from its end in the last step, in metres.
        placed: How many objects were in the zone or in the tower.
        milestones: The milestones that were already announced.
        reason: Why the episode ended, or an empty string.
        away: Numbers of the objects that are not there, in order.
    """

    t: int
    order: list[int]
    status: list[Status]
    statics: list[Body]
    objects: list[Body]
    agents: list[Body]
    gravity: float
    targets: list[list[float]]
    zone: list[float]
    holds: list[Hold | None]
    togo: list[float]
    placed: int
    milestones: list[str]
    reason: str
    away: list[int] = field(default_factory=list)

    @property
    def there(self) -> list[int]:
        """Numbers of the objects that are there."""
        return [number for number in range(len(self.objects)) if number not in self.away]

    def value(self) -> dict[str, Any]:
        """Return the state as JSON; ``away`` is left out if nothing is away."""
        found = asdict(self)
        return found if self.away else {k: v for k, v in found.items() if k != "away"}


_STATE = TypeAdapter(PlayState)


def read_state(value: Mapping[str, Any]) -> PlayState:
    """Read what `PlayState.value` has written.

    Raises:
        ValueError: If it is damaged.
    """
    return _STATE.validate_json(canonical_json(value))
