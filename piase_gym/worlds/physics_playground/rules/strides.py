"""Strides: commands that last until they are done, blocked, or have taken `stride` steps.

``forward 1.0``, ``turn left 45``, ``face red box`` and ``go to 1.2 0.5`` are strides; ``forward``
and ``turn left`` alone last one step. A stride is steered in each step from where the agent is,
slows down towards its end, and ends at rest. It goes straight, and around nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from piase_gym.core.commands import Command, Verb, check_command
from piase_gym.core.digest import canonical_json
from piase_gym.core.last_step import LastStep
from piase_gym.worlds.physics_playground.actions import GRAMMAR, WALK, Drive
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.bodies import TOP_SPEED, TOP_SPIN, Pose
from piase_gym.worlds.physics_playground.levels.items import Point
from piase_gym.worlds.physics_playground.state import STRICT
from piase_gym.worlds.texts.wording import counted

NEAR, FACING = 0.02, math.radians(1.0)
"""Metres and radians within which a stride is done."""
ARRIVED = 0.05
"""Metres within which `go to` has arrived at a place."""
SLOWEST = 0.25
"""The slowest speed at which an agent still pushes a thing, in metres a second."""
AT_REST, CALM = 0.05, 0.06
"""Metres and radians a second below which an agent counts as standing still."""
CREEP = 0.002
"""Metres or radians per step that are as good as no motion."""
PATIENCE = 0.5
"""Seconds without motion after which a stride is blocked."""
End = Literal["", "done", "blocked", "time"]


@dataclass(config=STRICT)
class Stride:
    """A command that lasts, and how far it has come.

    Attributes:
        verb: Its verb.
        parameters: Its parameters.
        start: Where the agent was when it began.
        ahead: Unit vector of where the agent faced then.
        turned: Radians by which the agent has turned to the left since then.
        faced: Where the agent faced in the last step, in radians.
        steps: Steps done.
        still: Steps in a row without motion.
        reward: Rewards so far.
        milestones: Milestones reached.
        end: Why it is over; empty while it is under way.
        left: Metres, radians or seconds that were left of it after the last step.
    """

    verb: str
    parameters: dict[str, str | int | float]
    start: list[float]
    ahead: list[float]
    turned: float
    faced: float
    steps: int
    still: int
    reward: float
    milestones: list[str]
    end: End
    left: float

    @property
    def command(self) -> Command:
        """The command."""
        return Command(self.verb, self.parameters)

    def added_up(self, last: LastStep) -> LastStep:
        """Return the last step with the totals of all steps of the stride so far."""
        return replace(last, reward=self.reward, milestones=tuple(self.milestones))


_STRIDES = TypeAdapter(list[Stride | None])


def read_strides(value: Any, agents: int, grammar: Sequence[Verb] = GRAMMAR) -> list[Stride | None]:
    """Read the strides of a snapshot.

    Raises:
        ValueError: If they are damaged.
    """
    found = _STRIDES.validate_json(canonical_json(value))
    if len(found) != agents:
        raise ValueError(f"it has not one stride for each of {agents} agents")
    for stride in (stride for stride in found if stride is not None):
        command = check_command(stride.command, grammar)
        whole = isinstance(command, Command) and lasts(command) and stride.steps >= 0
        if not whole or (len(stride.start), len(stride.ahead)) != (2, 2):
            raise ValueError(f"a stride cannot be like that: {stride!r:.200}")
    return found


def lasts(command: Command) -> bool:
    """Return whether a command is a stride: whether it has an amount, or names a target."""
    return not _LASTING.isdisjoint(command.parameters)


_LASTING = frozenset(("metres", "degrees", "seconds", "what"))


def begin(command: Command, pose: Pose) -> Stride:
    """Return a stride that begins here."""
    x, y, _ = pose.position
    face = math.atan2(pose.ahead[1], pose.ahead[0])
    values = dict(command.parameters)
    return Stride(command.verb, values, [x, y], list(pose.ahead), 0.0, face, 0, 0, 0.0, [], "", 0.0)


class Driver:
    """Drives strides under one config.

    Args:
        config: For what the body can do, and how long a step is.
    """

    def __init__(self, config: PhysicsPlaygroundConfig) -> None:
        self.seconds, self.limit = config.seconds, config.stride
        self.top, self.drifts = TOP_SPEED[config.body], config.body == "sphere"

    def drive(self, stride: Stride, pose: Pose, target: tuple[Point, float] | None) -> Drive:
        """Return what the body should do in this step.

        Args:
            stride: What is under way.
            pose: Where the agent is.
            target: Where the agent wants to be or to face, and how near it has to come.
        """
        match stride.verb:
            case "turn":
                return Drive(turn=self._spin(_to_turn(stride)))
            case "forward" | "back" | "push":
                most = 1.0 if stride.verb == "push" else WALK
                left = max(0.0, _to_go(stride, pose))
                ahead = self._speed(left, most, pose, -1.0 if stride.verb == "back" else 1.0)
                return Drive(ahead, self._spin(-stride.turned))  # it goes on facing as at first
            case "face" if target is not None:
                return Drive(turn=self._spin(heading_to(pose, target[0])[1]))
            case "go to" if target is not None:
                return self._approach(pose, *target)
        return Drive()

    def _spin(self, left: float) -> float:
        """Return the spin that turns by `left` radians and stops there."""
        return _clip(left * min(6.0, 0.45 / self.seconds) / TOP_SPIN)

    def _speed(self, left: float, most: float, pose: Pose, way: float = 1.0) -> float:
        """Return the drive that goes `left` metres and stops there, fast enough to push things."""
        pace = min(min(4.0, 0.25 / self.seconds) * left, math.sqrt(1.2 * left))
        pace = min(max(pace, min(SLOWEST, NEAR / self.seconds)), most * self.top)
        wanted = way * pace if left > NEAR else 0.0
        vx, vy, _ = pose.velocity
        lack = wanted - (vx * pose.ahead[0] + vy * pose.ahead[1]) if self.drifts else 0.0
        return _clip((wanted + lack) / self.top, most)

    def _approach(self, pose: Pose, place: Point, reach: float) -> Drive:
        """Return the drive that turns to a place, and goes there once it faces it."""
        away, bearing = heading_to(pose, place)
        facing = max(0.0, 1.0 - abs(bearing) / 0.3)
        ahead = self._speed(max(0.0, away - reach), WALK, pose)
        return Drive(ahead * facing, self._spin(bearing) if away > reach else 0.0)

    def look(self, stride: Stride, pose: Pose, target: tuple[Point, float] | None) -> None:
        """Note how far a stride has come in a step, and whether it has ended."""
        face = math.atan2(pose.ahead[1], pose.ahead[0])
        stride.turned += math.remainder(face - stride.faced, math.tau)
        stride.faced = face
        stride.steps += 1
        before, (stride.left, near) = stride.left, self._left(stride, pose, target)
        rests = math.hypot(*pose.velocity[:2]) < AT_REST and abs(pose.spin[2]) < CALM
        stays = rests and abs(before - stride.left) < CREEP
        stride.still = stride.still + 1 if stays else 0
        if stride.left <= near and (rests or stride.verb == "wait"):
            stride.end = "done"
        elif stride.still * self.seconds >= PATIENCE and stride.verb != "wait":
            stride.end = "blocked"
        elif stride.steps >= self.limit:
            stride.end = "time"

    def _left(
        self, stride: Stride, pose: Pose, target: tuple[Point, float] | None
    ) -> tuple[float, float]:
        """Return how much of a stride is left, and how little is as good as nothing."""
        if stride.verb == "wait":
            return float(stride.parameters["seconds"]) - stride.steps * self.seconds, 1e-9
        if stride.verb == "turn":
            return abs(_to_turn(stride)), FACING
        if target is None:
            return max(0.0, _to_go(stride, pose)), NEAR
        away, bearing = heading_to(pose, target[0])
        if stride.verb == "face":
            return abs(bearing), FACING
        return max(0.0, away - target[1]), NEAR


def _clip(value: float, most: float = 1.0) -> float:
    return max(-most, min(most, value))


def _to_turn(stride: Stride) -> float:
    """Return how many radians a stride still has to turn to the left."""
    sign = 1.0 if stride.parameters["direction"] == "left" else -1.0
    return sign * math.radians(float(stride.parameters["degrees"])) - stride.turned


def _to_go(stride: Stride, pose: Pose) -> float:
    """Return how many metres a stride still has to go, ahead or back."""
    x, y, _ = pose.position
    done = (x - stride.start[0]) * stride.ahead[0] + (y - stride.start[1]) * stride.ahead[1]
    sign = -1.0 if stride.verb == "back" else 1.0
    return float(stride.parameters["metres"]) - sign * done


def heading_to(pose: Pose, place: Sequence[float]) -> tuple[float, float]:
    """Return the distance to a place, and its bearing to the left in radians."""
    dx, dy = place[0] - pose.position[0], place[1] - pose.position[1]
    ahead, left = dx * pose.ahead[0] + dy * pose.ahead[1], dy * pose.ahead[0] - dx * pose.ahead[1]
    return math.hypot(dx, dy), math.atan2(left, ahead)


def progress(stride: Stride, seconds: float, steps_left: int | None) -> str:
    """Say how a stride has ended, or how far it has come.

    Args:
        stride: The stride.
        seconds: How long a step is.
        steps_left: How many steps are left of the episode; ``None`` if it is over.
    """
    took = f"{counted(stride.steps, 'step')} ({stride.steps * seconds:.1f} s)"
    if stride.verb in ("turn", "face"):
        left = round(math.degrees(max(0.0, stride.left)))
        rest = f"{counted(left, 'degree')} {'was' if left == 1 else 'were'} left"
    else:
        unit = "seconds" if stride.verb == "wait" else "metres"
        rest = f"{max(0.0, stride.left):.2f} {unit} were left"
    if steps_left is None:
        return f"The episode was over after {took}."
    how: dict[Any, str] = {
        "done": f"Done in {took}.",
        "blocked": f"Stopped after {took}; {rest}.",
        "time": f"Stopped after {took}, the most for one command; {rest}.",
        "": f"Under way for {took}; {rest}. Repeat the command to go on.",
    }
    return f"{how[stride.end]} {counted(steps_left, 'step')} left."
